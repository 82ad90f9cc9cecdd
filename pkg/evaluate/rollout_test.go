// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"crypto/sha256"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// TestUpgraded checks which results remain after a second read of the release record.
func TestUpgraded(t *testing.T) {
	ref := func(name string) object.Ref {
		return object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: name}
	}
	next := map[object.Key][sha256.Size]byte{ref("kept").Key(): sha256.Sum256([]byte("kept")),
		ref("changed").Key(): sha256.Sum256([]byte("other")),
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
		{"an unchanged newer revision", &Rollout{Next: next}, []string{"kept", "changed"}, []string{"kept"},
			[]string{"left"}, 1, 1},
		{"a newer revision that could not be read", &Rollout{}, nil, nil, nil, 3, 0},
	} {
		for _, before := range []State{Missing, Modified} {
			x := observed(all, before)
			for _, name := range []string{"created", "left"} {
				x.ReplaceUndesired(ref(name).Key(), &Undesired{Ref: ref(name), Metadata: ownership.Metadata{Hash: "h"}})
			}
			want := map[State][]string{Ready: {"ready"}, before: tt.missing}
			if before == Modified {
				want[before] = tt.modified
			}
			id := x.scope[0].ID()
			if tt.rollout != nil {
				x.Upgraded(map[object.DeploymentID]Rollout{id: *tt.rollout})
			}
			d := x.Deployments()[0]
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
			for _, u := range x.Undesired() {
				undesired = append(undesired, u.Name)
			}
			if diff := cmp.Diff(tt.undesired, undesired); diff != "" || len(d.Orphans) != tt.orphans {
				t.Errorf("%s: %d orphans; undesired (-want +got):\n%s", tt.name, len(d.Orphans), diff)
			}
			if tt.rollout != nil && (d.Counts.Desired != len(all) || d.Counts.Ready != 1 ||
				d.Counts.Orphaned != tt.orphans || before == Missing && d.Counts.Unknown != tt.unknown) {
				t.Errorf("%s, %s: counts %+v", tt.name, before, d.Counts)
			}
		}
	}
}

// observed is the evaluation of a bundle deployment with ConfigMaps, of which the first is Ready and the others have a
// state. Objects named created and left were in an earlier revision.
func observed(names []string, others State) *Evaluation {
	on := &directory.Cluster{State: &state.Cluster{}}
	d := &desired.BundleDeployment{Deployment: directory.Deployment{Name: "a", Placed: true,
		Ownership: ownership.Metadata{Hash: "h"}},
		Earlier: map[desired.KindName]bool{{Kind: "ConfigMap", Name: "created"}: true,
			{Kind: "ConfigMap", Name: "left"}: true}}
	for i, name := range names {
		ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: name}
		d.Desired = append(d.Desired, &desired.Object{Ref: ref, Deployment: d.ID(), Raw: []byte(name), Index: i})
	}
	all := []*desired.BundleDeployment{d}
	desired := desired.IndexState(&directory.Directory{Clusters: []*directory.Cluster{on}}, all)
	x := New(desired.On(on.ID), all, Options{}).Evaluate(Observed{})
	for i, o := range d.Desired {
		out := newObject(o)
		if out.State = others; i == 0 {
			out.State = Ready
		}
		x.Replace(out)
	}
	return x
}
