// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

func TestIsOrphan(t *testing.T) {
	ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "dropped"}
	own := ownership.Desired("default-guestbook", "guestbook", "web")
	earlier := map[desired.KindName]bool{{Kind: "ConfigMap", Name: "dropped"}: true}
	for _, tc := range []struct {
		name   string
		change func(*desired.BundleDeployment, *Undesired)
		want   bool
	}{
		{"in the earlier revision", func(*desired.BundleDeployment, *Undesired) {}, true},
		{"in no revision", func(d *desired.BundleDeployment, _ *Undesired) { d.Earlier = nil }, false},
		{"with the policy not to prune", func(_ *desired.BundleDeployment, m *Undesired) { m.NoPrune = true }, false},
		{"a hook", func(d *desired.BundleDeployment, _ *Undesired) { d.Hooks = earlier }, false},
		{"of a deployment that could not be read", func(d *desired.BundleDeployment, _ *Undesired) {
			d.Problem = directory.NoReleaseRecord
		}, false},
		{"the earlier revision pruned, with Helm's annotations", func(d *desired.BundleDeployment, _ *Undesired) {
			d.Earlier, d.EarlierKnown = nil, false
		}, true},
		{"the earlier revision pruned, of another release", func(d *desired.BundleDeployment, m *Undesired) {
			d.Earlier, d.EarlierKnown, m.Metadata.ReleaseName = nil, false, "other"
		}, false},
		{"the earlier revision pruned, a child", func(d *desired.BundleDeployment, m *Undesired) {
			d.Earlier, d.EarlierKnown, m.Controlled = nil, false, true
		}, false},
		{"the earlier revision pruned, without Helm's annotations", func(d *desired.BundleDeployment, m *Undesired) {
			d.Earlier, d.EarlierKnown, m.Metadata = nil, false, ownership.Metadata{Hash: own.Hash}
		}, false},
	} {
		d := &desired.BundleDeployment{Deployment: directory.Deployment{Release: release.Name{Namespace: "web",
			Name: "guestbook", Revision: 1}},
			Earlier: earlier, EarlierKnown: true}
		m := Undesired{Ref: ref, Metadata: own}
		tc.change(d, &m)
		if got := IsOrphan(d, m); got != tc.want {
			t.Errorf("%s: orphan %v, want %v", tc.name, got, tc.want)
		}
	}
}
