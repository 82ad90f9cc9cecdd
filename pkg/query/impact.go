// SPDX-License-Identifier: Apache-2.0

package query

import (
	"cmp"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// ImpactInput is the data of EvaluateImpact.
type ImpactInput struct {
	Desired *desired.State
	Target  *Deleted
	// Uninstalls are the releases that are removed with the bundle deployments of the target.
	Uninstalls map[object.DeploymentID][]*desired.Uninstall
	// Targeting evaluates the targets of Bundles.
	Targeting *targeting.Fleet
	// Affected are the live objects of each cluster. A cluster without them has only what its release records say.
	Affected map[object.ClusterID]*state.Affected
	// Reported is what the status of a bundle deployment lists, by its key.
	Reported map[string]*state.Reported
}

// EvaluateImpact computes what the deletion of the target removes.
func EvaluateImpact(in ImpactInput) report.Deletion {
	t := in.Target
	out := report.Deletion{Kind: t.Kind, Namespace: t.Namespace, Name: t.Name}
	out.Summary.Bundles = len(t.Bundles)
	deleted := map[object.DeploymentID]bool{}
	for _, d := range t.Deployments {
		deleted[d.ID()] = true
	}
	namespace, message := in.deletedNamespace()
	var local *evaluator
	var here report.ClusterImpact // on the management cluster
	for _, group := range clusters(t.Deployments) {
		e := &evaluator{uninstalls: in.Uninstalls, deleted: deleted, seen: map[object.Key]bool{}}
		if group[0].Placed {
			e.affected = in.Affected[group[0].ClusterID]
		}
		e.cascades(group)
		if in.isLocal(group[0]) {
			local = e
			if t.Kind != state.ClusterKind && namespace != "" {
				e.namespaces[namespace] = true
			}
		}
		e.findAffected(in.Desired.Deployments, group[0])
		impact := report.ClusterImpact{Cluster: clusterName(group[0])}
		for _, d := range group {
			impact.BundleDeployments = append(impact.BundleDeployments, in.deployment(e, d))
		}
		out.Clusters = append(out.Clusters, impact)
		if e == local {
			here = impact
		}
	}
	if local == nil && len(in.Desired.Clusters) > 0 {
		local = &evaluator{affected: in.Affected[in.Desired.Clusters[0].ID], seen: map[object.Key]bool{}}
		local.cascades(nil)
	}
	if namespace != "" && local != nil {
		out.Namespaces = []report.DeletedNamespace{in.namespace(local, namespace, message, deleted)}
	}
	out.Notes = in.notes(here)
	return out
}

// isLocal reports whether a bundle deployment is on the management cluster.
func (in *ImpactInput) isLocal(d *desired.BundleDeployment) bool {
	return in.Desired.IndexOf(&d.Deployment) == 0
}

// clusters groups bundle deployments by their cluster, ordered by its name.
func clusters(all []*desired.BundleDeployment) [][]*desired.BundleDeployment {
	type place struct {
		cluster object.ClusterID
		placed  bool
		name    string
	}
	positions := map[place]int{}
	var out [][]*desired.BundleDeployment
	for _, d := range all {
		p := place{d.ClusterID, d.Placed, clusterName(d)}
		i, known := positions[p]
		if !known {
			i = len(out)
			positions[p], out = i, append(out, nil)
		}
		out[i] = append(out[i], d)
	}
	slices.SortStableFunc(out, func(x, y []*desired.BundleDeployment) int {
		return cmp.Compare(clusterName(x[0]), clusterName(y[0]))
	})
	return out
}

// clusterName is "namespace/name" of the Cluster of a bundle deployment, or the namespace of its BundleDeployments if
// the Cluster is not known.
func clusterName(d *desired.BundleDeployment) string { return cmp.Or(d.Cluster, d.Namespace) }

func (in *ImpactInput) deployment(e *evaluator, d *desired.BundleDeployment) report.DeploymentImpact {
	out := report.DeploymentImpact{Namespace: d.Namespace, Name: d.Name, Bundle: d.Bundle}
	for _, x := range in.Uninstalls[d.ID()] {
		r := e.release(d, x)
		if r.Result == report.ImpactRemoves && in.Target.Kind == state.ClusterKind {
			r.Result = report.ImpactMayRemove
		}
		out.Releases = append(out.Releases, r)
	}
	out.Notes = in.deploymentNotes(d)
	if len(out.Releases) > 0 {
		worst := slices.MaxFunc(out.Releases, func(a, b report.ReleaseImpact) int {
			return severity(a.Result) - severity(b.Result)
		})
		out.Result, out.Reason, out.Message = worst.Result, worst.Reason, worst.Message
	} else if problem, detail := in.Desired.UninstallUnknown(d); problem != "" {
		out.Result, out.Reason, out.Message = report.ImpactUnknown, string(problem),
			"it is not known what is removed: "+detail
		if problem == directory.ClusterNotRead {
			out.Message = "it is not known what is removed, because its cluster is not read"
		}
	} else {
		out.Result, out.Message = report.ImpactNothing, "no release of it is installed"
	}
	if out.Result == report.ImpactUnknown {
		out.Reported = in.reported(d)
	}
	return out
}

// severity orders results: the worst one describes a bundle deployment.
func severity(r report.ImpactResult) int {
	return slices.Index([]report.ImpactResult{report.ImpactNothing, report.ImpactKeeps, report.ImpactRemoves,
		report.ImpactMayRemove, report.ImpactUnknown}, r)
}

func (in *ImpactInput) reported(d *desired.BundleDeployment) *report.ReportedObjects {
	if d.BD == nil {
		return nil
	}
	out := &report.ReportedObjects{Truncated: d.BD.Status.IncompleteState}
	if c := d.BD.Status.ResourceCounts; c != nil {
		out.Desired = &c.DesiredReady
	}
	if r := in.Reported[d.Key()]; r != nil {
		out.Objects, out.Truncated = r.Objects, r.Truncated
		for _, k := range r.Listed {
			out.Listed = append(out.Listed, object.Ref{APIVersion: k.APIVersion, Kind: k.Kind, Namespace: k.Namespace,
				Name: k.Name})
		}
	}
	return out
}

func (in *ImpactInput) deploymentNotes(d *desired.BundleDeployment) []string {
	if d.BD == nil {
		return nil
	}
	for _, x := range in.Uninstalls[d.ID()] {
		if x.Problem != "" || fleet.IsAgentBundle(d.Name) {
			continue
		}
		switch stated := d.BD.Spec.Options.KeepResources; {
		case stated && x.Spared == "":
			return []string{"its options state keepResources, but the release was deployed without it: the objects " +
				"are deleted unless the agent deploys the options first"}
		case !stated && x.Spared == desired.SparedByOption:
			return []string{"its options no longer state keepResources, but the release was deployed with it: the " +
				"objects stay unless the agent deploys the options first"}
		}
	}
	return nil
}

// namespace describes a Namespace that is deleted on the management cluster, with the claims in it that no release of
// the target has.
func (in *ImpactInput) namespace(e *evaluator, name, message string,
	deleted map[object.DeploymentID]bool) report.DeletedNamespace {
	out := report.DeletedNamespace{Name: name, Message: message}
	if in.Target.Kind == state.ClusterKind {
		return out
	}
	if e.affected.Absent(object.Ref{APIVersion: "v1", Kind: "Namespace", Name: name}) {
		out.Absent = true
		out.Message = "deleteNamespace is set, but the Namespace does not exist on the management cluster: Fleet " +
			"then cannot finish the deletion, and its finalizer stays"
		return out
	}
	for _, c := range e.claims[name] {
		removed := report.ReleaseImpact{}
		e.remove(&removed, report.RemovedObject{Ref: claimRef(c), Cause: report.CauseNamespace, By: name})
		out.PersistentVolumeClaims = append(out.PersistentVolumeClaims, removed.Removed...)
	}
	for _, d := range in.Desired.Deployments {
		if in.isLocal(d) && !deleted[d.ID()] && slices.ContainsFunc(d.Desired, func(o *desired.Object) bool {
			return o.Namespace == name
		}) {
			out.BundleDeployments = append(out.BundleDeployments, d.Key())
		}
	}
	return out
}

// DeletedNamespace is the Namespace with workloads that is deleted on the management cluster; empty if none is deleted.
func DeletedNamespace(desired *desired.State, t *Deleted) string {
	if t.Kind == state.ClusterKind {
		return ""
	}
	in := ImpactInput{Desired: desired, Target: t}
	name, _ := in.deletedNamespace()
	return name
}

func (in *ImpactInput) deletedNamespace() (name, message string) {
	const stated = "it is deleted with everything in it, because deleteNamespace is set; a Namespace of this name on " +
		"another cluster stays"
	key := in.Target.Key()
	switch in.Target.Kind {
	case state.GitRepo:
		for _, r := range in.Desired.GitRepos {
			if r.Namespace+"/"+r.Name == key {
				return r.Spec.Deletes(), stated
			}
		}
	case state.HelmOp: // the first of its Bundles decides
		for _, b := range in.Desired.Bundles {
			if len(in.Target.Bundles) > 0 && b.Namespace+"/"+b.Name == in.Target.Bundles[0] {
				return v1alpha1.RepoDeletion(b.Spec.BundleDeletion).Deletes(), stated
			}
		}
	case state.ClusterKind:
		for _, c := range in.Desired.Fleet.Clusters {
			if c.Namespace+"/"+c.Name == key {
				return c.Status.Namespace, "it is deleted; it contains the BundleDeployments of the Cluster and the " +
					"credentials of the agent"
			}
		}
	}
	return "", ""
}

// notes describe what else the deletion does.
func (in *ImpactInput) notes(here report.ClusterImpact) []string {
	t := in.Target
	switch t.Kind {
	case state.ClusterKind:
		return []string{"the agent uninstalls the releases only if it sees the deletion of their BundleDeployments " +
			"before it loses its credentials; otherwise all objects stay",
			"the agent itself stays on the cluster"}
	case state.Bundle:
		for _, b := range in.Desired.Bundles {
			switch {
			case b.Namespace+"/"+b.Name != t.Key():
			case b.Labels[fleet.RepoLabel] != "":
				writer := object.Ref{Kind: state.GitRepo, Namespace: b.Namespace, Name: b.Labels[fleet.RepoLabel]}
				return []string{in.writtenAgain(here, writer, "with its next Job, unless its path is removed from the "+
					"repository")}
			case b.Labels[fleet.HelmOpLabel] != "":
				writer := object.Ref{Kind: state.HelmOp, Namespace: b.Namespace, Name: b.Labels[fleet.HelmOpLabel]}
				return []string{in.writtenAgain(here, writer, "when the HelmOp changes")}
			}
		}
	case state.BundleDeployment:
		var out []string
		for _, d := range t.Deployments {
			out = append(out, in.createdAgain(d)...)
		}
		return out
	}
	return nil
}

// writtenAgain tells whether a GitRepo or HelmOp creates a deleted Bundle again, and when.
func (in *ImpactInput) writtenAgain(here report.ClusterImpact, by object.Ref, when string) string {
	const nothing = ", so that nothing creates the Bundle again"
	name := by.Kind + " " + by.Namespace + "/" + by.Name
	switch {
	case removes(here, by):
		return name + " is an object of the Bundle and is deleted with it" + nothing
	case in.exists(by):
	case in.Desired.Read(by.Kind, by.Namespace):
		return name + " does not exist" + nothing
	default:
		name += ", if it exists,"
	}
	return name + " creates the Bundle again " + when
}

func isNamed(o object.Ref, namespace, name string) bool {
	return o.Namespace == namespace && o.Name == name
}

func (in *ImpactInput) exists(o object.Ref) bool {
	isIt := func(x v1alpha1.Object) bool { return isNamed(o, x.GetNamespace(), x.GetName()) }
	if o.Kind == state.HelmOp {
		return slices.ContainsFunc(in.Desired.HelmOps, func(h *v1alpha1.HelmOp) bool { return isIt(h) })
	}
	return slices.ContainsFunc(in.Desired.GitRepos, func(g *v1alpha1.GitRepo) bool { return isIt(g) })
}

// removes reports whether the deletion removes an object of Fleet from a cluster.
func removes(from report.ClusterImpact, o object.Ref) bool {
	isIt := func(x report.RemovedObject) bool {
		isFleets := object.Group(x.APIVersion) == v1alpha1.GroupVersion.Group
		return isFleets && x.Kind == o.Kind && isNamed(o, x.Namespace, x.Name)
	}
	return slices.ContainsFunc(from.BundleDeployments, func(d report.DeploymentImpact) bool {
		return slices.ContainsFunc(d.Releases, func(r report.ReleaseImpact) bool {
			return slices.ContainsFunc(r.Removed, isIt)
		})
	})
}

// createdAgain tells whether the controller creates a deleted BundleDeployment again.
func (in *ImpactInput) createdAgain(d *desired.BundleDeployment) []string {
	if d.BD == nil {
		return nil
	}
	for _, b := range in.Desired.Bundles {
		if b.Namespace+"/"+b.Name != d.Bundle {
			continue
		}
		for r := range in.Targeting.Bundle(b).Results() {
			switch {
			case r.Cluster.Status.Namespace != d.Namespace:
			case r.Outcome == targeting.Expected:
				return []string{"a target of bundle " + d.Bundle +
					" still selects the cluster, so Fleet creates the BundleDeployment again, and the agent installs " +
					"the release again: " +
					"the objects come back without their data"}
			case r.Outcome == targeting.Excluded:
				return []string{"no target of bundle " + d.Bundle +
					" selects the cluster: the BundleDeployment does not come back"}
			}
		}
	}
	return []string{"it is not known whether a target of its bundle still selects the cluster; if so, Fleet creates " +
		"the BundleDeployment again"}
}
