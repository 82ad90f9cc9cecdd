// SPDX-License-Identifier: Apache-2.0

package query

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// evaluator evaluates the releases of one cluster.
type evaluator struct {
	affected *state.Affected
	deleted  map[object.DeploymentID]bool
	// uninstalls are the releases that are removed with the deleted bundle deployments.
	uninstalls map[object.DeploymentID][]*desired.Uninstall
	// affects are the other bundle deployments that lose objects with a deleted object.
	affects map[object.Key][]string
	// definitions are the deleted CustomResourceDefinitions by the kind that they define, namespaces the deleted
	// Namespaces.
	definitions map[schema.GroupKind]string
	namespaces  map[string]bool
	// claims are the live PersistentVolumeClaims by namespace. seen are the objects that were reported as removed.
	claims map[string][]state.VolumeClaim
	seen   map[object.Key]bool
}

// cascades finds the deleted objects whose deletion deletes others, of all releases of the cluster.
func (e *evaluator) cascades(deployments []*desired.BundleDeployment) {
	e.definitions, e.namespaces, e.claims = map[schema.GroupKind]string{}, map[string]bool{},
		map[string][]state.VolumeClaim{}
	for _, d := range deployments {
		for _, x := range e.uninstalls[d.ID()] {
			for name, gk := range x.CustomKinds {
				e.definitions[gk] = name
			}
			for _, ref := range x.Deletes {
				if isCore(ref, "Namespace") && !e.affected.Absent(ref) {
					e.namespaces[ref.Name] = true
				}
			}
		}
	}
	if e.affected != nil {
		for _, c := range e.affected.Claims {
			e.claims[c.Namespace] = append(e.claims[c.Namespace], c)
		}
	}
}

func isCore(ref object.Ref, kind string) bool {
	return ref.Kind == kind && object.Group(ref.APIVersion) == ""
}

func (e *evaluator) release(d *desired.BundleDeployment, x *desired.Uninstall) report.ReleaseImpact {
	out := report.ReleaseImpact{Release: x.Record.String()}
	switch {
	case x.Problem != "":
		out.Result, out.Reason, out.Message = report.ImpactUnknown, string(x.Problem),
			"it is not known what is removed: "+x.Detail
		return out
	case x.Spared != "":
		out.Result, out.Reason, out.Message = spared(x)
		e.kept(&out, x)
		return out
	}
	out.When = "GarbageCollection"
	if x.First {
		out.When = "AtOnce"
	}
	e.manifest(&out, x)
	e.statefulSets(&out, x)
	e.inNamespaces(&out, x)
	e.copies(&out, d, x)
	if ns := x.Record.Namespace; !e.namespaces[ns] {
		out.Kept = append(out.Kept, report.KeptObject{Ref: object.Ref{APIVersion: "v1", Kind: "Namespace", Name: ns},
			Reason: report.KeptNamespace})
	}
	out.Hooks = hooks(x)
	if n := x.Record.CRDFiles; n > 0 {
		out.Notes = append(out.Notes,
			fmt.Sprintf("Helm never deletes the CustomResourceDefinitions of the files in crds/ of the chart (%d)", n))
	}
	out.Result, out.Message = report.ImpactRemoves, "the uninstall deletes "+report.Plural(len(out.Removed), "object")
	if len(out.Removed) == 0 {
		out.Result, out.Message = report.ImpactKeeps, "the uninstall deletes no object"
	}
	return out
}

// spared describes a release of which no object is removed.
func spared(x *desired.Uninstall) (report.ImpactResult, string, string) {
	message := map[desired.Spared]string{
		desired.SparedByOption: "the release was deployed with keepResources: its objects stay, and the agent " +
			"deletes only its records",
		desired.SparedAgent:   "the agent never uninstalls itself: it deletes only the records of the release",
		desired.SparedUnseen:  "the agent does not find the release: its objects and its records stay",
		desired.SparedAlready: "Helm has uninstalled the release before",
	}[x.Spared]
	if x.RecordsStay {
		message += "; it does not find these either, because the release has another name than the BundleDeployment"
	}
	result := report.ImpactKeeps
	if x.Spared == desired.SparedAlready {
		result = report.ImpactNothing
	}
	return result, string(x.Spared), message
}

// manifest adds the objects of the manifest.
func (e *evaluator) manifest(out *report.ReleaseImpact, x *desired.Uninstall) {
	desiredBy := map[object.Key][]string{}
	for _, o := range x.Shared {
		if !e.deleted[o.Deployment] {
			desiredBy[o.Key()] = append(desiredBy[o.Key()], o.Deployment.String())
		}
	}
	for _, ref := range x.Deletes {
		if e.affected.Absent(ref) {
			out.Absent = append(out.Absent, ref)
			continue
		}
		removed := report.RemovedObject{Ref: ref, Cause: report.CauseManifest, DesiredBy: desiredBy[ref.Key()]}
		if e.affected != nil {
			if owner := e.affected.Live[ref.Key()]; owner != "" && owner != x.Record.Release() {
				removed.OwnedBy = owner
			}
		}
		if gk, defines := x.CustomKinds[ref.Name]; defines && ref.Kind == desired.CRDKind && e.affected != nil {
			if n, counted := e.affected.CustomResources[gk]; counted {
				removed.CustomResources = &n
			}
		}
		removed.Affects = e.affects[ref.Key()]
		e.remove(out, removed)
	}
	e.kept(out, x)
}

// kept adds the objects that Helm leaves.
func (e *evaluator) kept(out *report.ReleaseImpact, x *desired.Uninstall) {
	for _, k := range x.Kept {
		if e.affected.Absent(k.Ref) {
			out.Absent = append(out.Absent, k.Ref)
			continue
		}
		if by, cause := e.cascade(k.Ref); cause != "" {
			e.remove(out, report.RemovedObject{Ref: k.Ref, Cause: cause, By: by})
			continue
		}
		out.Kept = append(out.Kept, report.KeptObject{Ref: k.Ref, Reason: string(k.Reason)})
	}
}

// findAffected finds the other bundle deployments of the cluster that lose objects.
func (e *evaluator) findAffected(all []*desired.BundleDeployment, deployment *desired.BundleDeployment) {
	e.affects = map[object.Key][]string{}
	if len(e.definitions)+len(e.namespaces) == 0 {
		return
	}
	for _, d := range all {
		if !d.IsOn(deployment.ClusterID) || e.deleted[d.ID()] {
			continue
		}
		keys := map[object.Key]bool{}
		for _, o := range d.Desired {
			switch by, why := e.cascade(o.Ref); why {
			case report.CauseDefinition:
				keys[object.Key{Group: "apiextensions.k8s.io", Kind: desired.CRDKind, Name: by}] = true
			case report.CauseNamespace:
				keys[object.Key{Kind: "Namespace", Name: by}] = true
			}
		}
		for key := range keys {
			e.affects[key] = append(e.affects[key], d.Key())
		}
	}
}

// cascade returns the object whose deletion deletes an object that Helm leaves.
func (e *evaluator) cascade(ref object.Ref) (by string, cause report.RemovalCause) {
	if name := e.definitions[ref.Key().GroupKind()]; name != "" {
		return name, report.CauseDefinition
	}
	if ref.Namespace != "" && e.namespaces[ref.Namespace] {
		return ref.Namespace, report.CauseNamespace
	}
	return "", ""
}

// remove adds an object, once for the cluster.
func (e *evaluator) remove(out *report.ReleaseImpact, o report.RemovedObject) {
	if e.seen[o.Key()] {
		return
	}
	e.seen[o.Key()] = true
	if isCore(o.Ref, "PersistentVolumeClaim") {
		o.Volume = e.volume(o.Ref)
	}
	out.Removed = append(out.Removed, o)
}

// volume returns the volume of a claim; nil if the claim was not read.
func (e *evaluator) volume(ref object.Ref) *report.RemovedVolume {
	for _, c := range e.claims[ref.Namespace] {
		if c.Name == ref.Name {
			return &report.RemovedVolume{Name: c.Volume, ReclaimPolicy: e.affected.ReclaimPolicies[c.Volume]}
		}
	}
	return nil
}

func claimRef(c state.VolumeClaim) object.Ref {
	return object.Ref{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name}
}

// statefulSets adds the claims that were made from volumeClaimTemplates.
func (e *evaluator) statefulSets(out *report.ReleaseImpact, x *desired.Uninstall) {
	for _, set := range x.StatefulSets {
		if !e.claimsRead(set.Namespace) {
			out.Notes = append(out.Notes,
				fmt.Sprintf("StatefulSet %s/%s has volumeClaimTemplates, and its claims could not be read: they %s",
					set.Namespace, set.Name, map[bool]string{true: "are deleted with it",
						false: "stay"}[set.DeletesClaims || e.namespaces[set.Namespace]]))
			continue
		}
		for _, c := range e.claims[set.Namespace] {
			if !slices.ContainsFunc(set.Templates, func(t string) bool {
				return c.OfTemplate(t, set.Name)
			}) || e.seen[claimRef(c).Key()] {
				continue
			}
			switch {
			case e.namespaces[c.Namespace]:
				e.remove(out, report.RemovedObject{Ref: claimRef(c), Cause: report.CauseNamespace, By: c.Namespace})
			case set.DeletesClaims:
				e.remove(out, report.RemovedObject{Ref: claimRef(c), Cause: report.CauseOwner, By: set.Name})
			default:
				out.Kept = append(out.Kept, report.KeptObject{Ref: claimRef(c), Reason: "ClaimTemplate"})
			}
		}
	}
}

func (e *evaluator) claimsRead(namespace string) bool {
	if e.affected == nil {
		return false
	}
	_, read := e.affected.ClaimsCoverage.Of(namespace)
	return read
}

// inNamespaces adds the claims in deleted Namespaces. Everything else in them is deleted too, but is not listed.
func (e *evaluator) inNamespaces(out *report.ReleaseImpact, x *desired.Uninstall) {
	for _, ref := range x.Deletes {
		if !isCore(ref, "Namespace") || !e.namespaces[ref.Name] {
			continue
		}
		out.Notes = append(out.Notes,
			"everything in Namespace "+ref.Name+" is deleted with it, also objects that are not listed here")
		if !e.claimsRead(ref.Name) {
			out.Notes = append(out.Notes, "the PersistentVolumeClaims in Namespace "+ref.Name+" could not be read")
		}
		for _, c := range e.claims[ref.Name] {
			e.remove(out, report.RemovedObject{Ref: claimRef(c), Cause: report.CauseNamespace, By: ref.Name})
		}
	}
}

// copies adds the copies of downstreamResources.
func (e *evaluator) copies(out *report.ReleaseImpact, d *desired.BundleDeployment, x *desired.Uninstall) {
	for _, ref := range Copies(d, x) {
		if !e.affected.Absent(ref) {
			e.remove(out, report.RemovedObject{Ref: ref, Cause: report.CauseCopies})
		}
	}
}

// Copies are the copies of downstreamResources of a bundle deployment that the agent deletes with a release.
func Copies(d *desired.BundleDeployment, x *desired.Uninstall) []object.Ref {
	if x.Spared != "" || x.Problem != "" {
		return nil
	}
	var out []object.Ref
	for _, r := range d.Options().DownstreamResources {
		for _, kind := range []string{"Secret", "ConfigMap"} {
			if strings.EqualFold(r.Kind, kind) {
				out = append(out, object.Ref{APIVersion: "v1", Kind: kind, Namespace: x.Record.Namespace, Name: r.Name})
			}
		}
	}
	return out
}

// hooks are the hooks that run during the uninstall, and those whose objects stay.
func hooks(x *desired.Uninstall) []report.HookImpact {
	var out []report.HookImpact
	for _, h := range x.Hooks {
		hook := report.HookImpact{Kind: h.Kind, Name: h.Name, Stays: !h.DeletePolicies.Succeeded ||
			h.Kind == desired.CRDKind}
		if h.Events.PreDelete {
			hook.Runs = append(hook.Runs, "pre-delete")
		}
		if h.Events.PostDelete {
			hook.Runs = append(hook.Runs, "post-delete")
		}
		if len(hook.Runs) > 0 || hook.Stays {
			out = append(out, hook)
		}
	}
	return out
}
