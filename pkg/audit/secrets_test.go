// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
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
