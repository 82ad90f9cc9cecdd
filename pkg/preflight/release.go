// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// release predicts whether the rollout installs or upgrades, and reports another owner of the release.
func (r *rollout) release() {
	d := r.d
	name := d.Ownership.Release()
	last := r.c.Result.Desired.Cluster(d.ClusterID).State.Latest[name]
	r.Action, r.takes = r.action(&d.Deployment)
	if r.Action == "" {
		r.add("RecordsUnread", nil,
			"the release records in namespace %s could not all be read: whether this installs or upgrades is not known",
			d.Ownership.ReleaseNamespace)
	}
	if uninstalling(last) {
		r.add("Uninstalling", nil,
			"release %s is recorded as uninstalling: Fleet uninstalls it first, which deletes its objects", name)
	}
	if last != nil && last.Status == release.StatusUninstalled {
		rule := ruleOf("Uninstalling")
		rule.Severity, rule.Verdict = report.Error, report.VerdictRefused
		r.addAs(rule, nil, "release %s is recorded as uninstalled: Helm refuses to deploy it (\"has no deployed "+
			"releases\") until that record is deleted", name).
			Remedies = []report.Remedy{r.c.DeleteRecord(d, last.Name)}
	}
	if last != nil {
		r.inUse(last)
	}
	if now := d.Release; now.Revision > 0 && now.Release() != name {
		r.add("ReleaseRenamed", nil,
			"it is now deployed as release %s, and would be installed as %s: Fleet's garbage collection then "+
				"uninstalls the first release, and deletes its objects, also those that are in both",
			now.Release(), name)
	}
}

// action returns whether the next deploy of a bundle installs or upgrades its release, and whether Helm then takes over
// existing objects. The action is empty if the release records could not be read.
func (r *rollout) action(d *directory.Deployment) (action string, takes bool) {
	if !d.Placed {
		return "", false
	}
	cluster := r.c.Result.Desired.Cluster(d.ClusterID)
	last := cluster.State.Latest[d.Ownership.Release()]
	_, recordsRead := cluster.State.Coverage.Records.Of(d.Ownership.ReleaseNamespace)
	switch {
	case last != nil && !uninstalling(last):
		return report.RolloutUpgrade, true
	case last != nil, recordsRead:
		helm := d.Options().Helm
		return report.RolloutInstall, helm != nil && helm.TakeOwnership
	}
	return "", false
}

// uninstalling reports whether the last revision of a release says that it is being uninstalled.
func uninstalling(last *state.Record) bool {
	return last != nil && last.Status == release.StatusUninstalling
}

// inUse reports the owner of the release, if it is not the bundle. last is the latest revision.
func (r *rollout) inUse(last *state.Record) {
	d := r.d
	agent := r.c.Result.Desired.Cluster(d.ClusterID).AgentOf(d.Namespace)
	var owner string
	switch {
	case last.Damaged != "":
		r.add("RecordsUnread", nil, "release %s exists already, and its owner is not known: its record is damaged",
			last.Release())
		return
	case d.ByHand(last): // the release is its own
		return
	case last.BundleID == "":
		owner = "is not a release of Fleet"
	case last.BundleID != d.Name:
		owner = "is owned by bundle " + last.BundleID + ", which is no longer deployed on this cluster"
		all := r.c.Result.Desired.Directory.Deployments
		if i := slices.IndexFunc(all, func(o *directory.Deployment) bool {
			return o.Name == last.BundleID && o.IsOn(d.ClusterID)
		}); i >= 0 {
			owner = "is owned by bundle deployment " + all[i].Key()
		}
	case agent != "" && last.AgentNamespace != "" && last.AgentNamespace != agent:
		owner = "is owned by the agent in namespace " + last.AgentNamespace
	default:
		return
	}
	item := r.add("ReleaseInUse", nil,
		"release %s exists already, and %s: Fleet would upgrade it, and delete the objects that are not in the bundle",
		last.Release(), owner)
	if why := d.Rendering.ReplacedUnread; why != "" {
		item.Message += "; which these are is not known: " + why
	}
	item.Owner = "Helm release " + last.Release()
	item.Remedies = append(advise("set another helm.releaseName, or keep it if Fleet should take over the release"),
		r.c.Steps.Commands.History(last.Name))
}

// notBuilt reports the objects of the present release whose kinds are not served any more: Helm reads its manifest
// before it upgrades the release.
func (r *rollout) notBuilt() {
	d := r.d
	if r.Action != report.RolloutUpgrade || d.Release.Release() != d.Ownership.Release() {
		return
	}
	cluster := r.c.Result.Desired.Cluster(d.ClusterID)
	for _, o := range d.Removed {
		desired := slices.ContainsFunc(d.Desired, func(x *desired.Object) bool { return x.Ref == o.Ref })
		if desired || !cluster.State.NotServed(o.GroupVersionKind()) { // a desired object has an item of its own
			continue
		}
		r.add("KindNotServed", &o.Ref, "%s is in release %s in version %s, which the cluster does not serve any more: "+
			"Helm refuses every upgrade (\"unable to build kubernetes objects from current release manifest\")",
			o.Key(), d.Release.Release(), o.APIVersion).
			Remedies = advise("serve that version again until the bundle is deployed without it")
	}
}

// deletions reports the objects of the release that are not in the bundle.
func (r *rollout) deletions() {
	d := r.d
	if d.Release.Release() == d.Ownership.Release() { // otherwise, the garbage collection deletes them
		r.deleted(d.Removed, "no longer")
	}
	r.deleted(d.Replaced, "not")
}

// deleted reports objects of the release, if the bundle does not have them. isIn says how it does not: "not".
func (r *rollout) deleted(objects []*desired.Object, isIn string) {
	d := r.d
	for _, o := range objects {
		wanted := r.c.Result.Desired.On(d.ClusterID).Of(o.Key())
		if slices.ContainsFunc(wanted, func(o *desired.Object) bool {
			return o.Deployment == d.ID()
		}) || o.Kept() {
			continue
		}
		r.Counts.Delete++
		message := o.Key().String() + " is in release " + d.Ownership.Release() + " and " + isIn +
			" in the bundle: the rollout deletes it"
		if len(wanted) == 0 {
			r.add("Deleted", &o.Ref, "%s", message)
			continue
		}
		other := "bundle deployment " + wanted[0].Deployment.String()
		r.add("DeletesWanted", &o.Ref, "%s, although %s desires it", message, other).Owner = other
	}
}
