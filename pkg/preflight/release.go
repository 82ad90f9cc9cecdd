// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// release predicts whether the rollout installs or upgrades, and reports another owner of the release.
func (r *rollout) release() {
	d := r.d
	name := d.Ownership.Release()
	last := d.On.State.Latest[name]
	uninstalls := last != nil && last.Status == release.StatusUninstalling
	_, recordsRead := d.On.State.Coverage.Records.Of(d.Ownership.ReleaseNamespace)
	switch {
	case last != nil && !uninstalls:
		r.Action, r.takes = report.RolloutUpgrade, true
	case uninstalls || recordsRead:
		helm := d.Options().Helm
		r.Action, r.takes = report.RolloutInstall, helm != nil && helm.TakeOwnership
	default:
		r.add("RecordsUnread", nil,
			"the release records in namespace %s could not all be read: whether this installs or upgrades is not known",
			d.Ownership.ReleaseNamespace)
	}
	if uninstalls {
		r.add("Uninstalling", nil,
			"release %s is recorded as uninstalling: Fleet uninstalls it first, which deletes its objects", name)
	}
	if last != nil {
		r.inUse(last)
	}
	if now := d.Release; now.Revision > 0 && now.Release() != name {
		r.add("ReleaseRenamed", nil,
			"it is now deployed as release %s, and would be installed as %s: Fleet's garbage collection then "+
				"uninstalls the first release, and deletes the objects that are in both",
			now.Release(), name)
	}
}

// inUse reports the owner of the release, if it is not the bundle. last is the latest revision.
func (r *rollout) inUse(last *state.Record) {
	d := r.d
	agent := d.On.AgentOf(d.Namespace)
	var owner string
	switch {
	case last.Damaged != "":
		r.add("RecordsUnread", nil, "release %s exists already, and its owner is not known: its record is damaged",
			last.Release())
		return
	case last.BundleID == "":
		owner = "is not a release of Fleet"
	case last.BundleID != d.Name:
		owner = "is owned by bundle " + last.BundleID + ", which is no longer deployed on this cluster"
		all := r.c.Desired.Directory.Deployments
		if i := slices.IndexFunc(all, func(o *directory.Deployment) bool {
			return o.Name == last.BundleID && o.On == d.On
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
	item.Owner = "Helm release " + last.Release()
	item.Remedies = append(advise("set another helm.releaseName, or keep it if Fleet should take over the release"),
		r.c.Commands.History(last.Name))
}

// deletions reports the objects of the release that are no longer in the bundle.
func (r *rollout) deletions() {
	d := r.d
	if d.Release.Release() != d.Ownership.Release() {
		return // the garbage collection deletes them
	}
	for _, o := range d.Removed {
		desired := r.c.Desired.On(d.On).Of(o.Key())
		if slices.ContainsFunc(desired, func(o *resolve.Object) bool {
			return o.Deployment.ID() == d.ID()
		}) || o.Kept() {
			continue
		}
		r.Counts.Delete++
		if len(desired) == 0 {
			r.add("Deleted", &o.Ref, "%s is in release %s and no longer in the bundle: the rollout deletes it", o.Key(),
				d.Release.Release())
			continue
		}
		other := "bundle deployment " + desired[0].Deployment.Key()
		r.add("DeletesWanted", &o.Ref,
			"%s is in release %s and no longer in the bundle: the rollout deletes it, although %s desires it", o.Key(),
			d.Release.Release(), other).
			Owner = other
	}
}
