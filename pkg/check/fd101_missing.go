// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

func (in *Input) missing(out *found, d *evaluate.BundleDeployment, o *evaluate.Object) {
	if in.expired(d, o) {
		return // FD111 reports it
	}
	f := about(d, o.Ref, "%s is not on the cluster", o.Key())
	f.Evidence = []string{desiredBy(d)}
	if why := in.notDeployed(d, o); why != "" {
		f.say("%s", why)
		out.report(f, in.Steps.Commands.Predict(&d.Deployment))
		return
	}
	if _, ok := removedByHand(d); ok {
		f.Follows = originsAt(&d.Deployment, codes.ReleaseRecord)
		out.report(f, in.Steps.Commands.ShowCauses(&d.Deployment))
		return
	}
	if o.Dependent != "" {
		f.say("its manifest has an ownerReference to %s: Kubernetes deletes an object whose owner does not exist",
			o.Dependent)
		out.report(f, remedy.Advise("remove metadata.ownerReferences from the manifest, if that owner does not exist: "+
			"a deploy creates the object, and Kubernetes deletes it again"))
		return
	}
	remedies := in.Steps.Restore(d, o)
	if len(remedies) == 0 {
		remedies = in.Steps.Redeploy(d)
	}
	if o.GroupVersionKind().GroupKind() == jobKind {
		accept := in.Steps.Commands.Rules(&d.Deployment,
			"prints the rule with which Fleet ignores a Job that is deleted when it has finished; a Job that is "+
				"restored or deployed runs again")
		remedies = append([]remedy.Remedy{accept}, remedies...)
	}
	out.report(f, remedies...)
}

// jobKind is the kind whose objects can be deleted by themselves when they have finished.
var jobKind = schema.GroupKind{Group: "batch", Kind: "Job"}

// desiredBy describes the source that desires an object.
func desiredBy(d *evaluate.BundleDeployment) string {
	switch d.From {
	case desired.FromBundle:
		return "it is in the bundle"
	case desired.FromFiles:
		return "it is in the files"
	}
	return fmt.Sprintf("it is in the manifest of release %s", d.Release)
}

// expired reports whether Kubernetes may have deleted a missing Job because of its age. A Job that was deployed less
// than that time ago, or never, did not expire.
func (in *Input) expired(d *evaluate.BundleDeployment, o *evaluate.Object) bool {
	if o.TTLAfterFinished == nil || in.notDeployed(d, o) != "" {
		return false
	}
	ttl := time.Duration(min(*o.TTLAfterFinished, math.MaxInt32)) * time.Second // an int32 in the API
	return d.Deployed.IsZero() || in.Result.Now().IsZero() || !d.Deployed.Add(ttl).After(in.Result.Now())
}

// notDeployed returns why Fleet may never have deployed an object, "" if it has. Such an object is not lost: a deploy
// creates it.
func (in *Input) notDeployed(d *evaluate.BundleDeployment, o *evaluate.Object) string {
	_, recorded := d.Recorded[o.Key()]
	switch {
	case d.From == desired.FromRelease:
	case d.Release.Revision == 0 && d.BD == nil && !in.Result.Desired.Cluster(d.ClusterID).SetsKnownIn(o.Namespace):
		return "it is not known whether the bundle was deployed here: not every release record could be read"
	case d.Release.Revision == 0:
		return "the bundle was never deployed here: its first deploy creates the object; preflight predicts problems"
	case d.From == desired.FromFiles && !recorded:
		return fmt.Sprintf("release %s does not have it yet: a deploy of the files creates it; preflight predicts "+
			"problems", d.Release)
	}
	return ""
}
