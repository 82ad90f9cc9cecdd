// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

func (in *Input) unowned(out *found, d *evaluate.BundleDeployment, o *evaluate.Object) {
	owners := in.Result.Desired.On(d.ClusterID).Owners(&d.Deployment, o.Key(), o.Metadata)
	f := about(d, o.Ref, "%s exists, but %s", o.Key(), whyUnowned(d, owners))
	if len(o.Differences) > 0 {
		f.Message += "; it also differs in " + facts.List(paths(o))
	}
	f.Evidence = append(differs(o, true), requiredChanges(owners.Patch())...)
	out.report(f, in.assign(d, o, owners))
}

func whyUnowned(d *evaluate.BundleDeployment, r ownership.Result) string {
	switch r.Class {
	case ownership.Unmarked:
		return "has no ownership labels or annotations"
	case ownership.HelmOnly:
		return "has only Helm's label and annotations of release " + r.Have.Release()
	case ownership.HashStripped:
		return "has lost the hash label of its set " + d.Ownership.SetID
	case ownership.Inconsistent:
		return "has the id of its set with the hash of another set"
	}
	if d.ReleaseOwnership.Hash != "" && r.Have.Hash == d.ReleaseOwnership.Hash {
		return fmt.Sprintf("has set %q, with which its release was made; the agent uses set %q",
			d.ReleaseOwnership.SetID, d.Ownership.SetID)
	}
	if len(r.Owners) == 0 { // the namespace of a release without its name
		return "has ownership metadata that names no owner"
	}
	return r.Owners[0].Describe()
}

// requiredChanges lists the ownership metadata to change so that the bundle owns the object, with the present values.
func requiredChanges(changes []ownership.Change) []string {
	var out []string
	for _, c := range changes {
		switch {
		case c.New == nil: // the name of the release is not known yet
		case c.Old == nil:
			out = append(out, fmt.Sprintf("%s %s=%s is desired and not set", c.Field(), c.Name, *c.New))
		default:
			out = append(out, fmt.Sprintf("%s %s=%s is desired, it is %q", c.Field(), c.Name, *c.New, *c.Old))
		}
	}
	return out
}

// assign plans to assign the object, and the others of its bundle, to the bundle.
func (in *Input) assign(d *evaluate.BundleDeployment, o *evaluate.Object, owners ownership.Result) remedy.Remedy {
	if len(in.Result.Desired.On(d.ClusterID).Confirmed(o.Key())) > 1 {
		return remedy.Advise("decide which bundle should own it, and remove it from the others")
	}
	if refused := d.AdoptUncertain(); len(refused) > 0 {
		return remedy.Advise("adopt would refuse it now: %s", strings.Join(refused, "; "))
	}
	out := in.Steps.On(d.ClusterID).Assign(&d.Deployment, owners.OnlyFrom())
	out.Step.Object = o.Ref
	return out
}

func (in *Input) modified(out *found, d *evaluate.BundleDeployment, o *evaluate.Object) {
	f := about(d, o.Ref, "%s differs in %s", o.Key(), facts.List(paths(o)))
	for _, diff := range o.Differences {
		f.AsOf = max(f.AsOf, diff.Time)
	}
	f.Evidence = differs(o, len(o.Differences) > 1)
	f.sayIf(o.ChangedOnWrite(), "its release states another value than the agent wrote: an admission webhook may have "+
		"changed it, which is not proven, and may change it again after each write")
	out.report(f, in.Steps.RestoreOrAccept(d, o)...)
}

// paths are the fields in which an object differs.
func paths(o *evaluate.Object) []string {
	var out []string
	for _, diff := range o.Differences {
		out = append(out, diff.Path)
	}
	return out
}

// differs describes who wrote the fields in which an object differs, and what qualifies the differences. With names,
// each sentence names its field.
func differs(o *evaluate.Object, names bool) []string {
	var out []string
	for _, diff := range o.Differences {
		who := diff.Who()
		if names {
			who = diff.Path + ": " + who
		}
		out = append(out, who)
	}
	if o.Message != "" {
		out = append(out, o.Message)
	}
	return out
}

func (in *Input) idMismatch(out *found, d *evaluate.BundleDeployment, o *evaluate.Object) {
	if !o.IDMismatch {
		return
	}
	is := "is not set"
	if o.Metadata.SetID != "" {
		is = fmt.Sprintf("is %q", o.Metadata.SetID)
	}
	f := about(d, o.Ref, "%s: annotation %s should be %q and %s", o.Key(), fleet.IDAnnotation,
		d.Ownership.SetID, is)
	out.report(f, remedy.Make(remedy.Step{Kind: remedy.StepAdopt, Object: o.Ref},
		"sets this annotation, and changes nothing else"))
}

// contested reports each object once, even if several bundles in scope desire it.
func (in *Input) contested(out *found, c *directory.Cluster) {
	type desired struct {
		by *evaluate.BundleDeployment
		o  *evaluate.Object
	}
	last := map[object.Key]desired{}
	for d, o := range in.Facts.ObjectsOn(c) {
		several := in.Result.Desired.Contested(object.ID{Cluster: c.ID, Key: o.Key()})
		if !several || o.Reason == evaluate.Unconfirmed {
			continue
		}
		if len(in.Result.Desired.On(c.ID).Confirmed(o.Key())) > 1 {
			last[o.Key()] = desired{d, o}
		}
	}
	for _, x := range last {
		out.report(in.contestedObject(x.by, x.o), remedy.Advise("remove it from all bundles but one"))
	}
}

func (in *Input) contestedObject(d *evaluate.BundleDeployment, o *evaluate.Object) Finding {
	cluster := in.Result.Desired.On(d.ClusterID)
	desired := cluster.Confirmed(o.Key())
	names := make([]string, len(desired))
	for i, other := range desired {
		names[i] = other.Deployment.String()
	}
	owned := "it has no owner now"
	switch o.State {
	case evaluate.Unknown:
		owned = "its present owner could not be read"
	case evaluate.Missing:
	case evaluate.Unowned:
		r := cluster.Owners(&d.Deployment, o.Key(), o.Metadata)
		if i := slices.IndexFunc(r.Owners, func(owner ownership.Owner) bool {
			return owner.Situation != ownership.Contested && (owner.Exists() || r.Class == ownership.ForeignOwner)
		}); i >= 0 {
			owned = "it " + r.Owners[i].Describe()
		}
	default:
		owned = d.Key() + " owns it now"
	}
	return Finding{
		Object: o.Ref, Cluster: d.Cluster,
		Follows: []Origin{{Code: codes.Unowned, Cluster: d.Cluster, Object: o.Ref}},
		Message: fmt.Sprintf("%s is desired by %s; %s", o.Key(), strings.Join(names, " and "), owned),
	}
}

func (in *Input) copiedHash(out *found) {
	for _, m := range in.Result.Undesired {
		cluster := in.Result.Desired.On(m.Cluster)
		d := cluster.OwnerOf(m.Metadata)
		if d == nil || !in.Result.InScope(d.ID()) || m.NoPrune {
			continue
		}
		if !slices.Contains(cluster.MayHave(m.Metadata.Hash, m.Key(), m.Metadata), d) {
			continue
		}
		gk := m.GroupVersionKind().GroupKind()
		// Kubernetes creates these for a Service, with the labels of the Service.
		follows := gk == schema.GroupKind{Kind: "Endpoints"} ||
			gk == schema.GroupKind{Group: "discovery.k8s.io", Kind: "EndpointSlice"}
		if follows || slices.ContainsFunc(cluster.BySet(m.Metadata.Hash), explains(m)) {
			continue
		}
		f := Finding{Object: m.Ref, Cluster: d.Cluster, BundleDeployment: d.Key(),
			Message: fmt.Sprintf("%s has the hash label of %s, but was in none of its revisions", m.Key(), d.Key())}
		f.sayIf(m.Controller != "", "it is controlled by "+m.Controller)
		out.report(f, remedy.Advise("nothing to repair: Fleet ignores the object"))
	}
}

// explains reports whether a deployment of the set is another reason for the hash label: it had the object, or may have
// had it; the hooks of a release have the label since Helm 4; and the installation of the agent applies objects of the
// agent's own set outside any release.
func explains(m evaluate.Undesired) func(*desired.BundleDeployment) bool {
	return func(d *desired.BundleDeployment) bool {
		if d.Problem != "" || fleet.IsFleetsOwnSet(d.Ownership.SetID) {
			return true
		}
		return evaluate.IsOrphan(d, m) || d.Hooks[desired.KindName{Kind: m.Kind, Name: m.Name}]
	}
}

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
	release, commands := d.Release.Release(), in.Steps.On(d.ClusterID)
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
	f.Remedies = []remedy.Remedy{commands.Show(m.Ref,
		"shows it, so that you can decide whether anything still uses it")}
	switch {
	case unknown > 0:
	case remedy.NeverDeleted(m.Ref) != "":
		f.Remedies = append(f.Remedies, remedy.Run(commands.For(m.Ref)+" delete "+remedy.KubectlName(m.Ref), effect))
	default:
		f.Remedies = append(f.Remedies, remedy.Make(remedy.Step{Kind: remedy.StepRemove, Object: m.Ref,
			Downstream: true}, effect))
	}
	out.report(f)
}

func (in *Input) abandoned(out *found) {
	for _, m := range in.Result.Undesired {
		// A set that could not be read may still have a release.
		cluster := in.Result.Desired.On(m.Cluster)
		known := in.Result.Whole && cluster.SetsKnown(m.Key())
		if !known || hasRelease(cluster, m, m.Metadata.Hash) || !abandonedByAgent(cluster, m) {
			continue
		}
		none, unconfirmed := "no release", cluster.BySet(m.Metadata.Hash)
		if len(unconfirmed) > 0 {
			none = "no confirmed release"
		}
		f := Finding{Object: m.Ref, Cluster: in.Facts.ClusterName(cluster.Cluster),
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
func hasRelease(cluster desired.OnCluster, m evaluate.Undesired, hash string) bool {
	return len(cluster.MayHave(hash, m.Key(), m.Metadata)) > 0
}

func abandonedByAgent(cluster desired.OnCluster, m evaluate.Undesired) bool {
	switch {
	case m.Metadata.SetHasOwner || fleet.IsFleetsOwnSet(m.Metadata.SetID):
		return false
	case m.Metadata.SetID == "": // the set id is lost; only Helm's annotations can name the release
		return !m.Controlled && m.Metadata.ReleaseName != "" && !cluster.State.Releases[m.Metadata.Release()]
	}
	return fleet.IsBundleSet(m.Metadata.SetID) && !hasRelease(cluster, m, fleet.Hash(m.Metadata.SetID))
}
