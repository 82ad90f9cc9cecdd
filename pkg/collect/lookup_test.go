// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// lookupSource is a source with ConfigMaps and Secrets. Listing Services is forbidden, except in the namespace open.
type lookupSource struct {
	objects []string
	lists   int
	reads   chan struct{} // if it is set, a list ends with its context
}

func (s *lookupSource) Describe(context.Context) (source.Description, error) {
	return source.Description{Origin: source.OriginCluster}, nil
}

func (s *lookupSource) Kinds(context.Context) (*source.Kinds, error) {
	k := &source.Kinds{}
	for _, kind := range []string{"ConfigMap", "Secret", "Service"} {
		k.Add(source.Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: kind},
			Resource: strings.ToLower(kind) + "s", Namespaced: true})
	}
	k.MissingMeans(source.Failure{Reason: source.KindNotServed})
	k.Break(schema.GroupVersion{Group: "broken.example.com", Version: "v1"}, source.Failure{Reason: source.ReadFailed,
		Detail: "timeout"})
	return k, nil
}

func (s *lookupSource) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage,
	error) {
	s.lists++
	if s.reads != nil {
		<-ctx.Done()
		return source.Coverage{}, ctx.Err()
	}
	if q.Kind.Kind == "Service" {
		return source.CoveredIn([]string{"open"}, source.Failure{Reason: source.Forbidden,
			Detail: "services is forbidden"}), nil
	}
	for _, raw := range s.objects {
		m, err := object.ReadMeta([]byte(raw))
		if err != nil {
			return source.Coverage{}, err
		}
		if m.Kind != q.Kind.Kind || len(q.Namespaces) > 0 && q.Namespaces[0] != m.Metadata.Namespace ||
			q.FieldSelector != "" && q.FieldSelector != "metadata.name="+m.Metadata.Name {
			continue
		}
		if err := yield(source.Object{Item: object.Item{Raw: []byte(raw)}, Kind: q.Kind}); err != nil {
			return source.Coverage{}, err
		}
	}
	return source.Covered(), nil
}

func openLookups(t *testing.T, s *lookupSource) (*Reader, *lookups) {
	t.Helper()
	r, err := Open(t.Context(), s, &secret.Values{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r, &lookups{reader: r}
}

const plantedPassword = "planted-Passw0rd"

var plantedSecret = `{"apiVersion":"v1","data":{"auth.yaml":"` +
	base64.StdEncoding.EncodeToString([]byte("user: app\npassword: "+plantedPassword+"\n")) +
	`"},"kind":"Secret","metadata":{"name":"db","namespace":"web"}}`

// TestLookup checks the answers to lookups: what exists, what does not, and what is not known. Each is read once for
// all bundles.
func TestLookup(t *testing.T) {
	s := &lookupSource{objects: []string{plantedSecret,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","namespace":"web"}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"web-2"}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"web"}}`}}
	r, first := openLookups(t, s)
	const forbidden = ", which could not be read (Forbidden: services is forbidden); reading it needs the right to " +
		"list services"
	for _, tc := range []struct {
		render.Lookup
		object, unknown, refused string
	}{
		{Lookup: render.Lookup{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "a"},
			object: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"web"}}`},
		{Lookup: render.Lookup{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "c"}},
		{Lookup: render.Lookup{APIVersion: "v1", Kind: "ConfigMap", Name: "a"}},
		{Lookup: render.Lookup{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: strings.Repeat("a", 300)}},
		{Lookup: render.Lookup{APIVersion: "v1", Kind: "ConfigMap"}, object: `{"apiVersion":"v1","items":[` +
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"web-2"}},` +
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"web"}},` +
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","namespace":"web"}}],` +
			`"kind":"ConfigMapList","metadata":{}}`},
		{Lookup: render.Lookup{APIVersion: "v1", Kind: "ConfigMap", Namespace: "empty"},
			object: `{"apiVersion":"v1","items":[],"kind":"ConfigMapList","metadata":{}}`},
		{Lookup: render.Lookup{APIVersion: "v1", Kind: "Secret", Namespace: "web", Name: "db"}, object: plantedSecret},
		{Lookup: render.Lookup{APIVersion: "v1", Kind: "Service", Namespace: "open", Name: "a"}},
		{Lookup: render.Lookup{APIVersion: "v1", Kind: "Service", Namespace: "web", Name: "a"}, unknown: forbidden +
			" in namespace web"},
		{Lookup: render.Lookup{APIVersion: "v1", Kind: "Service"}, unknown: forbidden},
		{Lookup: render.Lookup{APIVersion: "v1", Kind: "Nothing", Name: "a"}},
		{Lookup: render.Lookup{APIVersion: "v1", Kind: "Nothing"}, object: `{"items":[]}`},
		{Lookup: render.Lookup{APIVersion: "broken.example.com/v1", Kind: "Thing", Name: "a"},
			unknown: ", which could not be read (ReadFailed: timeout)"},
		{Lookup: render.Lookup{APIVersion: "example.com/v1", Kind: "Thing", Name: "a"},
			refused: "unable to get apiresource from unstructured: example.com/v1, Kind=Thing: the cluster does not " +
				"serve example.com/v1"},
		{Lookup: render.Lookup{APIVersion: "v1", Kind: "Secret", Namespace: "web/secrets/..", Name: "a"},
			refused: `invalid namespace "web/secrets/..": [may not contain '/']`},
		{Lookup: render.Lookup{APIVersion: "v1", Kind: "Secret", Namespace: "web", Name: ".."},
			refused: `invalid resource name "..": [may not be '..']`},
	} {
		got := first.Lookup(t.Context(), tc.Lookup)
		if string(got.Object) != tc.object || got.Unknown != tc.unknown || got.Refused != tc.refused {
			t.Errorf("%s: %s%s%s", tc.Lookup, got.Object, got.Unknown, got.Refused)
		}
		lists := s.lists
		second := &lookups{reader: r}
		if again := second.Lookup(t.Context(), tc.Lookup); string(again.Object) != string(got.Object) ||
			s.lists != lists {
			t.Errorf("%s: it is read again for another bundle", tc.Lookup)
		}
	}
	hide := r.Secrets.Redactor(texts{plantedPassword})
	if got := hide("postgres://app:" + plantedPassword + "@db"); got != "postgres://app:***@db" {
		t.Errorf("the value of a Secret that was looked up is shown: %s", got)
	}
}

// TestLookupBounds checks the bounds of the lookups of a bundle. They do not count for another bundle.
func TestLookupBounds(t *testing.T) {
	secret := func(name string, size int) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":%q,"namespace":"web"},`+
			`"data":{"a":%q}}`, name, strings.Repeat("A", size))
	}
	s := &lookupSource{objects: []string{secret("small", 10<<20), secret("other", 10<<20), secret("large", 20<<20)}}
	r, x := openLookups(t, s)
	of := func(name string) render.Lookup {
		return render.Lookup{APIVersion: "v1", Kind: "Secret", Namespace: "web", Name: name}
	}
	const exceeded = ", which was not read: the objects that the bundle looks up exceed 16 MiB"
	for range 2 { // the second rendering of the bundle has the same answers
		for name, want := range map[string]string{"small": "", "other": "", "large": exceeded} {
			if got := (&lookups{reader: r}).Lookup(t.Context(), of(name)).Unknown; got != want {
				t.Errorf("%s alone: %q, want %q", name, got, want)
			}
		}
		if one, two := x.Lookup(t.Context(), of("small")), x.Lookup(t.Context(), of("other")); one.Unknown != "" ||
			two.Unknown != exceeded || two.Object != nil {
			t.Errorf("two objects: %q, %q", one.Unknown, two.Unknown)
		}
	}

	_, x = openLookups(t, &lookupSource{})
	for i := range maxLookups {
		if got := x.Lookup(t.Context(), of(fmt.Sprint(i))); got.Unknown != "" {
			t.Fatalf("lookup %d: %s", i, got.Unknown)
		}
	}
	if got := x.Lookup(t.Context(),
		of("one-more")); got.Unknown != ", which was not read: the bundle looks up more than 100 objects" {
		t.Errorf("one more lookup: %q", got.Unknown)
	}
	if got := x.Lookup(t.Context(), of("0")); got.Unknown != "" {
		t.Errorf("the first lookup again: %q", got.Unknown)
	}

	slow := &lookupSource{reads: make(chan struct{})}
	r, x = openLookups(t, slow)
	x.time = maxLookupTime
	if got := x.Lookup(t.Context(),
		of("a")); got.Unknown != ", which was not read: the lookups of the bundle take more than 20s" {
		t.Errorf("a slow lookup: %q", got.Unknown)
	}
	slow.reads = nil
	if got := (&lookups{reader: r}).Lookup(t.Context(), of("a")); got.Unknown != "" {
		t.Errorf("the same lookup of another bundle: %q", got.Unknown)
	}
}

// texts is a document.
type texts []string

func (t texts) Texts(f func(...string))   { f(t...) }
func (texts) Names(func(...string))       {}
func (texts) Published(*secret.Published) {}
