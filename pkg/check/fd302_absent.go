// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"regexp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

func (in *Input) absent(out *found) {
	for _, b := range in.Facts.Candidates() {
		if in.rolloutPending(b) {
			continue
		}
		for r := range in.Facts.Targets(b).Results() {
			if r.Outcome == targeting.Expected && in.Facts.DeploymentInScope(b, r.Cluster.Key()) &&
				in.lacks(b, r.Cluster.Cluster) {
				out.report(in.absentDeployment(b, r))
			}
		}
	}
}

// rolloutPending reports whether the controller may still have to create BundleDeployments of a bundle.
func (in *Input) rolloutPending(b *v1alpha1.Bundle) bool {
	return in.Facts.Young(b) || pending(b) != ""
}

// Pending returns why the controller may still have to create the BundleDeployment of a bundle for a cluster, as a
// sentence; empty if nothing shows that.
func Pending(b *v1alpha1.Bundle, c *v1alpha1.Cluster) string {
	switch why := pending(b); {
	case why != "":
		return why
	case facts.Deleting(c):
		return "the cluster is being deleted"
	case offSchedule(c):
		return "the cluster is off schedule"
	}
	return ""
}

func pending(b *v1alpha1.Bundle) string {
	switch s := b.Status.Summary; {
	case facts.Failed(b):
		return "an error of the bundle stops it"
	case !facts.Observed(b):
		return "Fleet has not processed the spec of the bundle yet"
	case unresolvedChart(b):
		return "its chart version is not an exact version yet"
	// Fleet can leave an old number of pending targets in the status. It then counts more targets than there are
	// (docs/fleet-behavior.md, 5.5).
	case s.Pending > 0 && s.Sum() <= s.DesiredReady:
		return "its rollout has not reached " + facts.Count(s.Pending, "target")
	}
	return ""
}

// exactVersion is a chart version that the controller deploys. It refuses constraints.
var exactVersion = regexp.MustCompile(`^v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)([-+][0-9A-Za-z.+-]*)?$`)

// unresolvedChart reports whether the chart version of the Bundle of a HelmOp is not an exact version: Fleet does not
// deploy it then.
func unresolvedChart(b *v1alpha1.Bundle) bool {
	if len(b.Spec.HelmOpOptions) == 0 || b.Spec.Helm == nil {
		return false
	}
	version := b.Spec.Helm.Version
	return version != "" && !exactVersion.MatchString(version)
}

func offSchedule(c *v1alpha1.Cluster) bool { return c.Status.Scheduled && !c.Status.ActiveSchedule }

// lacks reports whether it is certain that a bundle has no BundleDeployment for a cluster that should have one.
func (in *Input) lacks(b *v1alpha1.Bundle, c *v1alpha1.Cluster) bool {
	namespace := c.Status.Namespace
	if facts.Deleting(c) || in.Facts.NewerThan(c, joining) || offSchedule(c) {
		return false
	}
	known := in.Facts.ClusterIn(namespace) != nil && in.Facts.Read(state.BundleDeployment, namespace)
	return known && in.Facts.BundleDeployment(namespace+"/"+b.Name) == nil
}

func (in *Input) absentDeployment(b *v1alpha1.Bundle, r targeting.Result) Finding {
	f := Finding{
		Code: codes.Absent, Object: facts.RefTo(b), Cluster: r.Cluster.Key(), AsOf: b.Reported().AsOf,
		Message: fmt.Sprintf("bundle %s targets cluster %s, and has no BundleDeployment in %s", facts.Key(b),
			r.Cluster.Key(), r.Cluster.Status.Namespace),
		Settle: in.Facts.Unchanged(append(related(b, r.Cluster.Cluster),
			facts.Ref(state.BundleDeployment, r.Cluster.Status.Namespace, b.Name))...),
	}
	f.Evidence = []string{r.Target.Title() + " matches the cluster"}
	n := b.Status.Summary.DesiredReady
	f.sayIf(n > 0, "the status of the bundle counts "+facts.Count(n, "target"))
	f.sayIf(b.Spec.Paused, "the bundle is paused, which does not prevent the creation of a BundleDeployment")
	f.Remedies = append(f.Remedies, in.Steps.Commands.ExplainTargets(b))
	return f
}
