// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"crypto/sha256"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

// TestUpgraded checks which results remain after a second read of the release record.
func TestUpgraded(t *testing.T) {
	ref := func(name string) object.Ref {
		return object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: name}
	}
	next := map[object.Key][sha256.Size]byte{ref("kept").Key(): sha256.Sum256([]byte("kept")), ref("changed").Key(): sha256.Sum256([]byte("other")),
		ref("created").Key(): sha256.Sum256([]byte("created"))}
	all := []string{"ready", "removed", "kept", "changed"}
	for _, tt := range []struct {
		name             string
		rollout          *Rollout
		missing          []string // of the objects that were missing before
		modified         []string
		undesired        []string
		unknown, orphans int
	}{
		{"confirmed", nil, all[1:], all[1:], []string{"created", "left"}, 0, 2},
		{"changed", &Rollout{Changed: true}, nil, nil, nil, 3, 0},
		{"an unchanged newer revision", &Rollout{Next: next}, []string{"kept", "changed"}, []string{"kept"}, []string{"left"}, 1, 1},
		{"a newer revision that could not be read", &Rollout{}, nil, nil, nil, 3, 0},
	} {
		for _, before := range []State{Missing, Modified} {
			resolved := &resolve.BundleDeployment{Deployment: directory.Deployment{Ownership: ownership.Metadata{Hash: "h"}}}
			d := &BundleDeployment{BundleDeployment: resolved}
			for i, name := range all {
				o := Object{Object: &resolve.Object{Ref: ref(name), Raw: []byte(name)}, State: before}
				if i == 0 {
					o.State = Ready
				}
				d.Objects = append(d.Objects, o)
			}
			d.Orphans = []Undesired{{Ref: ref("created")}, {Ref: ref("left")}}
			e := Evaluated{Deployments: []*BundleDeployment{d}}
			for _, name := range []string{"created", "left"} {
				e.Undesired = append(e.Undesired, Undesired{Ref: ref(name), Metadata: resolved.Ownership})
			}
			rollouts := map[object.DeploymentID]Rollout{}
			want := map[State][]string{Ready: {"ready"}, before: tt.missing}
			if before == Modified {
				want[before] = tt.modified
			}
			if tt.rollout != nil {
				rollouts[resolved.ID()] = *tt.rollout
			}
			e.Upgraded(rollouts)
			got := map[State][]string{before: nil}
			for _, o := range d.Objects {
				if o.State != Unknown {
					got[o.State] = append(got[o.State], o.Name)
				} else if o.Reason != ReleaseChanged {
					t.Errorf("%s: %s is Unknown because of %q", tt.name, o.Name, o.Reason)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", tt.name, before, diff)
			}
			var undesired []string
			for _, u := range e.Undesired {
				undesired = append(undesired, u.Name)
			}
			if diff := cmp.Diff(tt.undesired, undesired); diff != "" || len(d.Orphans) != tt.orphans {
				t.Errorf("%s: %d orphans; undesired (-want +got):\n%s", tt.name, len(d.Orphans), diff)
			}
			if tt.rollout != nil && (d.Counts.Desired != len(all) || d.Counts.Ready != 1 || d.Counts.Orphaned != tt.orphans || before == Missing && d.Counts.Unknown != tt.unknown) {
				t.Errorf("%s, %s: counts %+v", tt.name, before, d.Counts)
			}
		}
	}
}
