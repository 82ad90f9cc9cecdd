// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// The bounds of the lookups in templates. A chart is not trusted, and a template can look up names in a loop. A lookup
// above a bound is a gap.
const (
	// maxLookups is the number of different lookups of a bundle. Charts have a few: one for each password, certificate
	// or definition that they reuse.
	maxLookups = 100
	// maxLookupBytes is the size of all objects that a bundle looks up, as JSON. The worker decodes them in its 512
	// MiB of memory, and a decoded object takes about ten times its size.
	maxLookupBytes = 16 << 20
	// maxLookupTime is the time for all lookups of a bundle: a third of the time after which its worker is ended.
	maxLookupTime = 20 * time.Second
	// maxAnswers is the size of all objects that are looked up on a cluster, as JSON. They are kept until the end of
	// the audit.
	maxAnswers = 256 << 20
)

// lookups answers the lookups of the templates of one bundle. It implements render.Cluster. The renderer calls it from
// one goroutine.
type lookups struct {
	reader  *Reader
	answers map[render.Lookup]render.Found
	size    int
	time    time.Duration
}

// Lookup implements render.Cluster. It answers as Helm's function does: an object that does not exist is an empty
// answer, and a kind that the cluster does not serve is an error.
func (x *lookups) Lookup(ctx context.Context, l render.Lookup) render.Found {
	if known, ok := x.answers[l]; ok {
		return known
	}
	if len(x.answers) == maxLookups {
		return notRead(fmt.Sprintf("the bundle looks up more than %d objects", maxLookups))
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, maxLookupTime-x.time)
	defer cancel()
	out := x.answer(ctx, l)
	x.time += time.Since(begun)
	if x.size += len(out.Object); x.size > maxLookupBytes {
		out = tooLarge
	}
	if x.answers == nil {
		x.answers = map[render.Lookup]render.Found{}
	}
	x.answers[l] = out
	return out
}

// answer returns the answer that all bundles share.
func (x *lookups) answer(ctx context.Context, l render.Lookup) render.Found {
	a := &x.reader.answered
	a.mu.Lock()
	if a.read == nil {
		a.read = map[render.Lookup]func() render.Found{}
	}
	read, known := a.read[l]
	if !known {
		read = sync.OnceValue(func() render.Found { return a.keep(x.lookup(ctx, l)) })
		a.read[l] = read
	}
	a.mu.Unlock()
	out := read()
	if ctx.Err() != nil { // the time of this bundle is over, not that of the others
		a.mu.Lock()
		delete(a.read, l)
		a.mu.Unlock()
	}
	return out
}

// keep counts the size of an answer.
func (a *answers) keep(f render.Found) render.Found {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.size+len(f.Object) > maxAnswers {
		return notRead("together with it, the objects that bundles look up exceed 256 MiB")
	}
	a.size += len(f.Object)
	return f
}

func notRead(why string) render.Found {
	return render.Found{Unknown: ", which was not read: " + why}
}

var (
	tooLarge    = notRead("the objects that the bundle looks up exceed 16 MiB")
	errTooLarge = errors.New("too large")
)

// lookup reads the objects of a lookup.
func (x *lookups) lookup(ctx context.Context, l render.Lookup) render.Found {
	gvk := schema.FromAPIVersionAndKind(l.APIVersion, l.Kind)
	kind, f, served := x.reader.Kinds.Lookup(gvk)
	if !served {
		return x.notServed(l, gvk, f)
	}
	if !kind.Namespaced {
		l.Namespace = ""
	}
	if invalid := invalidPath(l); invalid != "" {
		return render.Found{Refused: invalid}
	}
	if !addressable(l, kind) {
		return render.Found{}
	}
	q := source.Query{Kind: gvk}
	if l.Namespace != "" {
		q.Namespaces = []string{l.Namespace}
	}
	if l.Name != "" {
		q.FieldSelector = fields.OneTermEqualSelector("metadata.name", l.Name).String()
	}
	got := contents{items: []object.Content{}} // not nil: an empty list has items
	cover, err := x.reader.Source.List(ctx, q, func(o source.Object) error { return got.add(gvk, o) })
	switch {
	case errors.Is(err, errTooLarge):
		return tooLarge
	case ctx.Err() != nil:
		return notRead(fmt.Sprintf("the lookups of the bundle take more than %s", maxLookupTime))
	case err != nil:
		return notRead("it could not be decoded")
	}
	return x.found(l, kind, got, cover)
}

// invalidPath returns why Helm refuses a lookup before it sends a request: a name must not lead to another address of
// the API server.
func invalidPath(l render.Lookup) string {
	if wrong := content.IsPathSegmentName(l.Namespace); len(wrong) > 0 {
		return fmt.Sprintf("invalid namespace %q: %v", l.Namespace, wrong)
	}
	if wrong := content.IsPathSegmentName(l.Name); len(wrong) > 0 {
		return fmt.Sprintf("invalid resource name %q: %v", l.Name, wrong)
	}
	return ""
}

// addressable reports whether an object can have this address. The API server answers other addresses with NotFound.
func addressable(l render.Lookup, kind source.Kind) bool {
	if max(len(l.Namespace), len(l.Name)) > validation.DNS1123SubdomainMaxLength {
		return false
	}
	return !kind.Namespaced || l.Namespace != "" || l.Name == ""
}

// notServed is the answer for a kind that the source does not have.
func (x *lookups) notServed(l render.Lookup, gvk schema.GroupVersionKind, f source.Failure) render.Found {
	if f.Reason != source.KindNotServed {
		return unread(l, f, gvk.Kind)
	}
	served := slices.ContainsFunc(x.reader.Kinds.Every(), func(k source.Kind) bool {
		return k.GroupVersion() == gvk.GroupVersion()
	})
	switch {
	case !served:
		return render.Found{Refused: fmt.Sprintf("unable to get apiresource from unstructured: %s: the cluster does "+
			"not serve %s",
			gvk, gvk.GroupVersion())}
	case l.Name != "":
		return render.Found{}
	}
	return encode(object.Content{"items": []any{}}) // Helm gets an answer without items, which describes the group
}

// contents are the objects that a lookup found.
type contents struct {
	items []object.Content
	size  int
	// versions are other versions in which objects were captured.
	versions []string
	// partial is true if not all fields of an object were captured.
	partial bool
}

func (c *contents) add(gvk schema.GroupVersionKind, o source.Object) error {
	if c.size += len(o.Raw) + len(o.ManagedFields); c.size > maxLookupBytes {
		return errTooLarge
	}
	if o.Kind != gvk {
		c.versions = append(c.versions, o.Kind.Version)
		return nil
	}
	if o.Partial {
		c.partial = true
		return nil
	}
	decoded, managedFields, err := o.Decode()
	if err != nil {
		return err
	}
	decoded["apiVersion"], decoded["kind"] = gvk.GroupVersion().String(), gvk.Kind
	if meta, ok := decoded["metadata"].(object.Content); ok && len(managedFields) > 0 {
		meta["managedFields"] = json.RawMessage(bytes.Clone(managedFields))
	}
	c.items = append(c.items, decoded)
	return nil
}

// found returns the answer of a list.
func (x *lookups) found(l render.Lookup, kind source.Kind, got contents, cover source.Coverage) render.Found {
	if len(got.versions) > 0 {
		return render.Found{Unknown: fmt.Sprintf(", which was captured in version %s: read the cluster instead",
			got.versions[0])}
	}
	if got.partial {
		return unread(l, source.NotCaptured, kind.Resource)
	}
	f, all := cover.Of(l.Namespace)
	if kind.Namespaced && l.Namespace == "" {
		f, all = whole(cover)
	}
	if !all && (l.Name == "" || len(got.items) == 0) {
		return unread(l, f, kind.Resource)
	}
	x.learn(got.items)
	var out render.Found
	switch {
	case l.Name == "":
		slices.SortFunc(got.items, func(a, b object.Content) int {
			return cmp.Compare(address(a), address(b))
		}) // as the API server does
		out = encode(object.Content{"apiVersion": l.APIVersion, "kind": l.Kind + "List", "metadata": object.Content{},
			"items": got.items})
	case len(got.items) > 0:
		out = encode(got.items[0])
	}
	if out.Unknown == "" && slices.ContainsFunc(got.items, x.masked) {
		out.Unknown = ", of which values are masked in the snapshot: read the cluster instead"
	}
	return out
}

// whole reports whether a list yielded the objects of all namespaces. Otherwise the failure is the first reason.
func whole(cover source.Coverage) (source.Failure, bool) {
	failures := cover.Failures()
	for _, namespace := range slices.Sorted(maps.Keys(failures)) {
		return failures[namespace], false
	}
	return source.Failure{Reason: source.NotInSnapshot}, cover.Whole()
}

// address is the name of an object with its namespace.
func address(c object.Content) string {
	meta, _ := c["metadata"].(object.Content)
	namespace, _ := meta["namespace"].(string)
	name, _ := meta["name"].(string)
	return namespace + "/" + name
}

// learn adds the values of Secrets that were looked up to those that must not be shown: a template can write them, or
// one field of them, into any object.
func (x *lookups) learn(items []object.Content) {
	for _, c := range items {
		if !isSecret(c) {
			continue
		}
		x.reader.Secrets.AddSecret(c)
		data, _ := c["data"].(object.Content)
		for _, v := range data {
			text, _ := v.(string)
			if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
				x.reader.Secrets.AddText(decoded)
			}
		}
	}
}

func isSecret(c object.Content) bool {
	return c["kind"] == secretKind.Kind && c["apiVersion"] == secretKind.Version
}

// masked reports whether values of an object are masked in the snapshot.
func (x *lookups) masked(c object.Content) bool {
	switch {
	case x.reader.Description.Origin == source.OriginCluster:
		return false
	case isSecret(c) && x.reader.Description.Unmasked != nil:
		return c["data"] != nil
	case x.reader.Description.Unmasked != nil:
		masked := false
		secret.Leaves(c, func(text string) { masked = masked || strings.Contains(text, secret.MaskPrefix) })
		return masked
	}
	return isSecret(c) && secret.MaskedSecret(c)
}

func encode(c object.Content) render.Found {
	raw, err := json.Marshal(c)
	if err != nil {
		return notRead("it could not be encoded")
	}
	return render.Found{Object: raw}
}

// unread is the answer for objects that could not be read, with what the user can do.
func unread(l render.Lookup, f source.Failure, resource string) render.Found {
	why := strings.TrimSuffix(string(f.Reason)+": "+f.Detail, ": ")
	remedy := ""
	switch f.Reason {
	case source.Forbidden:
		remedy = "; reading it needs the right to list " + resource
		if l.Namespace != "" {
			remedy += " in namespace " + l.Namespace
		}
	case source.NotInSnapshot:
		remedy = "; read the cluster instead, or a snapshot that has this kind"
	}
	return render.Found{Unknown: ", which could not be read (" + why + ")" + remedy}
}
