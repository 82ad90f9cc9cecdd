// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"
	"strings"

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
	out.report(f, in.assign(d, o))
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
func (in *Input) assign(d *evaluate.BundleDeployment, o *evaluate.Object) remedy.Remedy {
	if len(in.Result.Desired.On(d.ClusterID).Confirmed(o.Key())) > 1 {
		return remedy.Advise("decide which bundle should own it, and remove it from the others")
	}
	if refused := d.AdoptUncertain(); len(refused) > 0 {
		return remedy.Advise("adopt would refuse it now: %s", strings.Join(refused, "; "))
	}
	out := in.Steps.On(d.ClusterID).Assign(&d.Deployment)
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
	on := in.Result.Desired.On(d.ClusterID)
	desired := on.Confirmed(o.Key())
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
		r := on.Owners(&d.Deployment, o.Key(), o.Metadata)
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
		on := in.Result.Desired.On(m.Cluster)
		d := on.OwnerOf(m.Metadata)
		if d == nil || !in.Result.InScope(d.ID()) || m.NoPrune {
			continue
		}
		if !slices.Contains(on.MayHave(m.Metadata.Hash, m.Key(), m.Metadata), d) {
			continue
		}
		if followsService(m.Ref) || slices.ContainsFunc(on.BySet(m.Metadata.Hash), explains(m)) {
			continue
		}
		f := Finding{Object: m.Ref, Cluster: d.Cluster, BundleDeployment: d.Key(),
			Message: fmt.Sprintf("%s has the hash label of %s, but was in none of its revisions", m.Key(), d.Key())}
		f.sayIf(m.Controller != "", "it is controlled by "+m.Controller)
		out.report(f, remedy.Advise("nothing to repair: Fleet ignores the object"))
	}
}

// followsService reports whether Kubernetes creates the object for a Service, with the labels of the Service.
func followsService(r object.Ref) bool {
	gk := r.GroupVersionKind().GroupKind()
	return gk == schema.GroupKind{Kind: "Endpoints"} ||
		gk == schema.GroupKind{Group: "discovery.k8s.io", Kind: "EndpointSlice"}
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
