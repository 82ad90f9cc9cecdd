// SPDX-License-Identifier: Apache-2.0

package state

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// TestOfTemplate recognizes the claims of a StatefulSet by their names.
func TestOfTemplate(t *testing.T) {
	for name, want := range map[string]bool{"data-db-0": true, "data-db-12": true, "data-db-": false, "data-db": false,
		"data-db-a": false, "data-db-1a": false,
		"data-db-backup-0": false, "log-db-0": false, "my-data-db-0": false, "": false} {
		if c := (&VolumeClaim{Name: name}); c.OfTemplate("data", "db") != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// TestAbsent checks that an object is absent only if it was looked for.
func TestAbsent(t *testing.T) {
	ref := func(kind, namespace string) object.Ref {
		return object.Ref{APIVersion: "v1", Kind: kind, Namespace: namespace, Name: "a"}
	}
	a := &Affected{Live: map[object.Key]string{ref("ConfigMap", "web").Key(): ""},
		LiveCoverage: map[schema.GroupKind]source.Coverage{
			{Kind: "ConfigMap"}: source.CoveredIn([]string{"web", "apps"}, source.Failure{Reason: source.Forbidden})}}
	for r, want := range map[object.Ref]bool{ref("ConfigMap", "web"): false, ref("ConfigMap", "apps"): true,
		ref("ConfigMap", "other"): false, ref("Secret", "web"): false} {
		if a.Absent(r) != want {
			t.Errorf("%+v: absent %v", r, !want)
		}
	}
	if (*Affected)(nil).Absent(ref("ConfigMap", "apps")) {
		t.Error("absent without live objects")
	}
}
