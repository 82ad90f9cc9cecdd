// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// DeployedNowhere returns the finding that no bundle of a GitRepo or HelmOp reaches a cluster. A Bundle that has
// neither stands for itself.
func (in *Input) DeployedNowhere(o v1alpha1.Object) (Finding, bool) {
	ref := facts.RefTo(o)
	bundles := in.Facts.BundlesOf(ref)
	if b, ok := o.(*v1alpha1.Bundle); ok {
		if _, made := facts.RepoOf(b); !made {
			bundles = []*v1alpha1.Bundle{b}
		}
	}
	certain := in.Facts.Read(state.Bundle, ref.Namespace) && !facts.Deleting(o)
	reaches := func(b *v1alpha1.Bundle) bool { return !in.selectsNone(b) || in.Facts.DeploymentsOf(facts.Key(b)) > 0 }
	if !certain || len(bundles) == 0 || slices.ContainsFunc(bundles, reaches) {
		return Finding{}, false
	}
	f := Finding{Code: codes.DeployedNowhere, Object: ref, AsOf: o.Reported().AsOf,
		Remedies: []remedy.Remedy{in.Steps.Commands.ExplainTargets(bundles[0])}}
	clusters := in.clustersIn(ref.Namespace)
	f.Message = fmt.Sprintf("%s %s is deployed nowhere: its targets select none of the clusters in its namespace (%d)",
		ref.Kind, facts.Key(o), clusters)
	for _, b := range bundles {
		for _, group := range in.Facts.Targets(b).AbsentGroups() {
			s := "its targets name ClusterGroup " + group + ", which does not exist"
			f.sayIf(!slices.Contains(f.Evidence, s), s)
		}
	}
	for _, m := range in.Result.Desired.Mappings {
		if m.Namespace == ref.Namespace && m.BundleSelector != nil {
			f.say("BundleNamespaceMapping %s lets Bundles with %s reach clusters of other namespaces", m.Name,
				metav1.FormatLabelSelector(m.BundleSelector))
		}
	}
	f.sayIf(clusters == 0, "the Clusters are in "+facts.List(in.workspaces()))
	return f, true
}

// selectsNone reports whether it is certain that a bundle reaches no cluster, and nothing in it says that it
// should not.
func (in *Input) selectsNone(b *v1alpha1.Bundle) bool {
	if targeting.IsAgentBundle(b) || !facts.Observed(b) || !in.reachesNone(b) {
		return false
	}
	for r := range in.Facts.Targets(b).Results() {
		if r.Reason == targeting.DoNotDeploy {
			return false
		}
	}
	return true
}

// workspaces are the namespaces of Clusters.
func (in *Input) workspaces() []string {
	var out []string
	for _, c := range in.Result.Desired.Fleet.Clusters {
		if s := "namespace " + c.Namespace; !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}
