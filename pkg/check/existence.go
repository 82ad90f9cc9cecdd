// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
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

func (in *Input) expiredJob(out *found, d *evaluate.BundleDeployment, o *evaluate.Object) {
	if !in.expired(d, o) {
		return
	}
	f := about(d, o.Ref, "%s is not on the cluster: Kubernetes deletes it %ds after it has finished "+
		"(ttlSecondsAfterFinished)", o.Key(), *o.TTLAfterFinished)
	f.Evidence = []string{desiredBy(d)}
	out.report(f, remedy.Advise("nothing to repair; if Fleet should not report it as missing, remove "+
		"ttlSecondsAfterFinished from the manifest, or make the Job a Helm hook"),
		in.Steps.Commands.Rules(&d.Deployment, "prints the rule with which Fleet ignores the missing Job"))
}

func (in *Input) orphaned(out *found, d *evaluate.BundleDeployment) {
	for _, m := range d.Orphans {
		in.orphanedObject(out, d, m)
	}
}

func (in *Input) orphanedObject(out *found, d *evaluate.BundleDeployment, m evaluate.Undesired) {
	release, on := d.Release.Release(), in.Steps.On(d.ClusterID)
	f := about(d, m.Ref, "%s is left over from an earlier revision of release %s", m.Key(), release)
	unknown := count(in.Result.Desired.Deployments, func(other *desired.BundleDeployment) bool {
		return other.IsOn(d.ClusterID) && other.Problem != ""
	})
	const effect = "deletes it and what it contains, which no deploy creates again"
	if unknown > 0 {
		f.say("its cluster has %s without a result, which may desire it", facts.Count(unknown, "bundle deployment"))
	}
	if _, still := d.Recorded[m.Key()]; still {
		f.Message = fmt.Sprintf("%s is in release %s and no longer in the bundle: the next deploy deletes it", m.Key(),
			release)
		out.report(f, in.Steps.Commands.Predict(&d.Deployment))
		return
	}
	f.Remedies = []remedy.Remedy{on.Show(m.Ref, "shows it, so that you can decide whether anything still uses it")}
	switch {
	case unknown > 0:
	case remedy.NeverDeleted(m.Ref) != "":
		f.Remedies = append(f.Remedies, remedy.Run(on.For(m.Ref)+" delete "+remedy.KubectlName(m.Ref), effect))
	default:
		f.Remedies = append(f.Remedies, remedy.Make(remedy.Step{Kind: remedy.StepRemove, Object: m.Ref,
			Downstream: true}, effect))
	}
	out.report(f)
}

func (in *Input) abandoned(out *found) {
	for _, m := range in.Result.Undesired {
		// A set that could not be read may still have a release.
		on := in.Result.Desired.On(m.Cluster)
		known := in.Result.Whole && on.SetsKnown(m.Key())
		if !known || hasRelease(on, m, m.Metadata.Hash) || !abandonedByAgent(on, m) {
			continue
		}
		none, unconfirmed := "no release", on.BySet(m.Metadata.Hash)
		if len(unconfirmed) > 0 {
			none = "no confirmed release"
		}
		f := Finding{Object: m.Ref, Cluster: in.Facts.ClusterName(on.Cluster),
			Message: fmt.Sprintf("%s has ownership metadata of set %q, and %s on this cluster has that set",
				m.Key(), m.Metadata.SetID, none)}
		f.say("label %s=%s", fleet.HashLabel, m.Metadata.Hash)
		f.sayIf(m.Metadata.ReleaseName != "", "Helm's annotations name release "+m.Metadata.Release())
		for _, d := range unconfirmed {
			f.say("the record of release %s in another namespace states the set, and nothing confirms that", d.Release)
		}
		out.report(f, in.Steps.On(m.Cluster).Show(m.Ref,
			"shows it, so that you can decide whether anything still uses it"))
	}
}

// hasRelease reports whether a release may have an object with the set of a hash.
func hasRelease(on desired.OnCluster, m evaluate.Undesired, hash string) bool {
	return len(on.MayHave(hash, m.Key(), m.Metadata)) > 0
}

func abandonedByAgent(on desired.OnCluster, m evaluate.Undesired) bool {
	switch {
	case m.Metadata.SetHasOwner || fleet.IsFleetsOwnSet(m.Metadata.SetID):
		return false
	case m.Metadata.SetID == "": // the set id is lost; only Helm's annotations can name the release
		return !m.Controlled && m.Metadata.ReleaseName != "" && !on.State.Releases[m.Metadata.Release()]
	}
	return fleet.IsBundleSet(m.Metadata.SetID) && !hasRelease(on, m, fleet.Hash(m.Metadata.SetID))
}
