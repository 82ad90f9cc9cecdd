// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// TestRedeploy checks that the narrowest step comes first, and that no step is suggested that Fleet ignores or that
// makes things worse.
func TestRedeploy(t *testing.T) {
	const (
		here = "kubectl -n cluster-one patch bundledeployment.fleet.cattle.io/guestbook --subresource=status " +
			`--type=merge -p '{"status":{"appliedDeploymentID":""}}'`
		patch   = "kubectl -n fleet-local patch "
		force   = ` --type=merge -p '{"spec":{"forceSyncGeneration":8}}'`
		all     = patch + "bundle.fleet.cattle.io/guestbook" + force
		repo    = patch + "gitrepo.fleet.cattle.io/apps" + force
		helmOp  = patch + "helmop.fleet.cattle.io/chart" + force
		resume  = patch + `bundle.fleet.cattle.io/guestbook --type=merge -p '{"spec":{"paused":false}}'`
		applied = "s-1:2"
	)
	for _, tc := range []struct {
		name   string
		change func(d *evaluate.BundleDeployment, in *Input)
		want   []string // empty for advice
	}{
		{"one cluster", func(*evaluate.BundleDeployment, *Input) {}, []string{here}},
		{"two clusters", func(d *evaluate.BundleDeployment, in *Input) {
			in.Result.Desired.Directory.Deployments = append(in.Result.Desired.Directory.Deployments,
				&directory.Deployment{Namespace: "cluster-two", Name: "guestbook", Bundle: d.Bundle})
		}, []string{here, all}},
		{"not applied", func(d *evaluate.BundleDeployment, _ *Input) { d.BD.Status.AppliedDeploymentID = "s-0:1" },
			[]string{all}},
		{"a HelmOp", func(d *evaluate.BundleDeployment, _ *Input) {
			d.BD.Status.AppliedDeploymentID, d.GitRepo, d.HelmOp = "", "", "fleet-local/chart"
		}, []string{helmOp}},
		{"an unknown bundle", func(d *evaluate.BundleDeployment, _ *Input) {
			d.BD.Status.AppliedDeploymentID,
				d.Bundle = "", ""
		}, []string{repo}},
		{"a bundle that does not exist", func(d *evaluate.BundleDeployment, in *Input) {
			d.BD.Status.AppliedDeploymentID = ""
			in.Result.Desired.Bundles = nil
			in.Result.Desired.Coverage = map[string]source.Coverage{state.Bundle: source.Covered()}
		}, []string{""}},
		{"a release alone", func(d *evaluate.BundleDeployment, _ *Input) { d.BD = nil }, []string{""}},
		{"paused", func(d *evaluate.BundleDeployment, in *Input) {
			d.BD.Spec.Paused, in.Result.Desired.Bundles[0].Spec.Paused = true, true
		}, []string{resume, here}},
		{"paused by what was not read", func(d *evaluate.BundleDeployment, _ *Input) { d.BD.Spec.Paused = true },
			[]string{"", here}},
		{"off schedule", func(d *evaluate.BundleDeployment, _ *Input) { d.BD.Spec.OffSchedule = true },
			[]string{"", here}},
		{"deleted", func(d *evaluate.BundleDeployment, _ *Input) { d.BD.DeletionTimestamp = &metav1.Time{Time: now} },
			[]string{""}},
		{"left over", func(d *evaluate.BundleDeployment, in *Input) {
			in.Steps.Commands.Targets = "targets"
			other := v1alpha1.ClusterTarget{ClusterName: "two"}
			in.Result.Desired.Bundles[0].Spec.Targets = []v1alpha1.BundleTarget{{ClusterTarget: other}}
			c := &v1alpha1.Cluster{}
			c.Namespace, c.Name, c.Status.Namespace = "fleet-local", "one", d.Namespace
			in.Result.Desired.Fleet.Clusters = []*v1alpha1.Cluster{c}
		}, []string{"targets bundle/guestbook -n fleet-local"}},
		{"modified objects", func(d *evaluate.BundleDeployment, _ *Input) { d.Counts.Modified = 1 },
			[]string{"kubectl fleetdoctor preflight bundle/guestbook -n fleet-local", here}},
		{"modified objects, and nothing deploys it again", func(d *evaluate.BundleDeployment, in *Input) {
			d.Counts.Modified, d.BD.Status.AppliedDeploymentID = 1, ""
			in.Result.Desired.Bundles = nil
			in.Result.Desired.Coverage = map[string]source.Coverage{state.Bundle: source.Covered()}
		}, []string{""}},
		{"lost values", func(d *evaluate.BundleDeployment, in *Input) {
			staged := []byte(`{"key":"value"}`)
			d.BD.Spec.StagedDeploymentID, d.BD.Spec.ValuesHash = applied, values.DeploymentHash(nil, staged)
			emptied := &values.Secret{Type: values.DeploymentType, Hash: d.BD.Spec.ValuesHash, Emptied: true}
			in.Result.Desired.Values = &state.Values{
				Coverage: map[string]source.Coverage{values.DeploymentType: source.Covered()},
				Secrets:  map[state.ValuesKey]*values.Secret{state.DeploymentKey(d.BD): emptied},
			}
		}, []string{all}},
	} {
		d := deployment()
		d.BD.Spec.DeploymentID, d.BD.Status.AppliedDeploymentID, d.BD.Spec.Options.ForceSyncGeneration = applied,
			applied, 7
		in := inputOf(d, evaluate.Ready)
		in.Result.Source.TakenAt = now
		b := &v1alpha1.Bundle{}
		b.Namespace, b.Name = "fleet-local", "guestbook"
		in.Result.Desired.Bundles = []*v1alpha1.Bundle{b}
		tc.change(d, in)
		var got []string
		for _, r := range renew(in).Steps.Redeploy(d) {
			got = append(got, r.Command)
			if r.Text == "" {
				t.Errorf("%s: %q has no effect", tc.name, r.Command)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestNameOfFlag checks that a name that a snapshot has is not a flag of a suggested command.
func TestNameOfFlag(t *testing.T) {
	c := remedy.Commands{Kubectl: "kubectl", Helm: "helm"}
	in := inputOf(deployment(), evaluate.Ready)
	ref := directory.SecretRef(release.Name{})
	ref.Name = "--server=http://registry.example.com"
	for _, command := range []string{c.ShowSecret(ref).Command, c.Describe(ref).Command,
		c.History(release.Name{Name: ref.Name}).Command, in.Steps.Process("a/"+ref.Name, "").Command} {
		before, _, _ := strings.Cut(command, "registry.example.com")
		if !strings.Contains(before, "/--server") && !strings.Contains(before, " -- ") {
			t.Errorf("%s: the name is a flag", command)
		}
	}
}
