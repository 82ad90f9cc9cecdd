// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

const otherSecrets = "type!=" + release.SecretType

// TestSecretsThatCannotBeListed checks the gap that warns of values of unread Secrets. Only a report that shows values
// has it.
func TestSecretsThatCannotBeListed(t *testing.T) {
	for name, want := range map[string][]string{
		"ready":           nil,
		"missing":         nil,
		"drift-configmap": {"listing Secrets, to hide their values: Forbidden: user reader may not list it"},
	} {
		got, err := auditCase(t, name, faulty{lists: map[string]source.Coverage{"Secret " + otherSecrets: forbidden}})
		if err != nil {
			t.Fatal(err)
		}
		var gaps []string
		for _, g := range got.Gaps {
			if strings.Contains(g.What, "hide") {
				gaps = append(gaps, g.What+": "+g.Why())
			}
		}
		if !slices.Equal(want, gaps) {
			t.Errorf("%s: gaps %q, want %q", name, gaps, want)
		}
	}
}

// counting counts the requests that list Secrets other than release records.
type counting struct {
	source.Source
	lists int
}

func (c *counting) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	if q.Kind.Kind == "Secret" && q.FieldSelector == otherSecrets && len(q.Namespaces) == 0 {
		c.lists++
	}
	return c.Source.List(ctx, q, yield)
}

// TestSecretsAreListedOnDemand checks that an audit lists other Secrets once if it shows values, and not at all if it
// shows none.
func TestSecretsAreListedOnDemand(t *testing.T) {
	for name, want := range map[string]int{"ready": 0, "drift-configmap": 1} {
		src := &counting{Source: readCase(t, casesDir+"/"+name+".yaml").open(t)}
		if _, err := audit.Run(t.Context(), src, audit.Options{}); err != nil || src.lists != want {
			t.Errorf("%s: Secrets were listed %d times, want %d; error %v", name, src.lists, want, err)
		}
	}
}

// remembering is a source with one more Secret. It counts how often the content of that Secret is read.
type remembering struct {
	source.Source
	read int
}

func (r *remembering) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage,
	error) {
	known := q.Remembered != nil && q.Remembered("web", "other", "7")
	if q.Kind.Kind == "Secret" && q.FieldSelector == otherSecrets && !known {
		r.read++
		raw := `{"metadata":{"namespace":"web","name":"other","resourceVersion":"7"},` +
			`"stringData":{"a":"invented-password"}}`
		if err := yield(source.Object{Item: object.Item{Raw: []byte(raw)}, Kind: q.Kind}); err != nil {
			return source.Coverage{}, err
		}
	}
	return r.Source.List(ctx, q, yield)
}

// TestPrepare checks that Secrets are read in advance once, and not before the first result.
func TestPrepare(t *testing.T) {
	src := &remembering{Source: readCase(t, casesDir+"/ready.yaml").open(t)}
	s, err := audit.Start(t.Context(), src, audit.Options{Memory: audit.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Audit(t.Context(), time.Now(), nil)
	if err != nil || src.read != 0 {
		t.Fatalf("the Secret was read %d times before the first result, error %v", src.read, err)
	}
	for range 2 {
		if err := a.Prepare(t.Context()); err != nil || src.read != 1 {
			t.Errorf("the Secret was read %d times, want once; error %v", src.read, err)
		}
	}
}
