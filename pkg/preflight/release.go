// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"al.essio.dev/pkg/shellescape"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

// release finds out whether this installs or upgrades, and whether the release is the bundle's to have (docs/fleet-behavior.md, 1.6, 1.7).
func (r *rollout) release() {
	d := r.d
	r.last = d.On.Latest[d.Ownership.Release()]
	options := d.Options()
	take := options.Helm != nil && options.Helm.TakeOwnership
	switch {
	case r.last != nil && r.last.Status == release.StatusUninstalling:
		r.Action, r.takes = report.RolloutInstall, take
		r.add(uninstalling, nil, "release %s is recorded as uninstalling: Fleet uninstalls it first, which deletes its objects", d.Ownership.Release())
	case r.last != nil:
		r.Action, r.takes = report.RolloutUpgrade, true
	case !recordsRead(d):
		r.add(recordsUnread, nil, "the release records in namespace %s could not all be read: whether this installs or upgrades is not known", d.Ownership.ReleaseNamespace)
	default:
		r.Action, r.takes = report.RolloutInstall, take
	}
	r.inUse()
	r.renamed()
}

// inUse says whose the release is, where it is not the bundle's.
func (r *rollout) inUse() {
	last, d := r.last, r.d
	if last == nil {
		return
	}
	agent := d.On.AgentOf(d.BundleDeployment)
	var whose string
	switch {
	case last.Damaged != "":
		r.add(recordsUnread, nil, "release %s is there already, and whose it is cannot be said: its record is damaged", last.Release())
		return
	case last.BundleID == "":
		whose = "none of Fleet's"
	case last.BundleID != d.Name:
		whose = "that of bundle " + last.BundleID
		if other := r.deployed(last.BundleID); other == nil {
			whose += ", which is not deployed here any more"
		} else {
			whose = "that of bundle deployment " + other.Key()
		}
	case agent != "" && last.AgentNamespace != "" && last.AgentNamespace != agent:
		whose = "that of the agent in namespace " + last.AgentNamespace
	default:
		return
	}
	item := r.add(releaseInUse, nil, "release %s is there already, and is %s: Fleet would upgrade it as its own, and objects that the bundle does not state would go", last.Release(), whose)
	item.Holder = "Helm release " + last.Release()
	item.Remediation = fmt.Sprintf("set another helm.releaseName; %s -n %s history %s shows what is there", r.c.Commands.Helm,
		shellescape.Quote(last.Namespace), shellescape.Quote(last.Name.Name))
}

// deployed finds the deployment of a bundle on this cluster.
func (r *rollout) deployed(bundle string) *resolve.BundleDeployment {
	for _, d := range r.c.Desired.Deployments {
		if d.Name == bundle && d.On == r.d.On {
			return d
		}
	}
	return nil
}

// renamed says what follows if the bundle is deployed as another release already.
func (r *rollout) renamed() {
	was := r.d.Release
	if was.Revision == 0 || was.Release() == r.d.Ownership.Release() {
		return
	}
	r.add(releaseRenamed, nil, "it is deployed as release %s now, and would be installed as %s: Fleet's garbage collection then uninstalls the first, and deletes what both have",
		was.Release(), r.d.Ownership.Release())
}

// deletions are the objects of the release that the bundle states no more.
func (r *rollout) deletions() {
	d := r.d
	if d.Release.Release() != d.Ownership.Release() {
		return // the garbage collection's
	}
	states := map[object.Key]bool{}
	for i := range d.Objects {
		states[d.Objects[i].Key()] = true
	}
	for _, w := range d.Removed {
		if states[w.Key()] || w.Kept() {
			continue
		}
		r.Counts.Delete++
		ref := w.Ref
		others := r.wanted(w.Key())
		if len(others) == 0 {
			r.add(deleted, &ref, "%s is in release %s and no more in the bundle: the rollout deletes it", w.Key(), d.Release.Release())
			continue
		}
		item := r.add(deletesWanted, &ref, "%s is in release %s and no more in the bundle: the rollout deletes it, though bundle deployment %s wants it", w.Key(),
			d.Release.Release(), others[0].Key())
		item.Holder = "bundle deployment " + others[0].Key()
	}
}

// wanted are the other deployments that want an object.
func (r *rollout) wanted(key object.Key) []*resolve.BundleDeployment {
	var out []*resolve.BundleDeployment
	for _, w := range r.d.On.Objects[key] {
		if w.Deployment != r.d.BundleDeployment {
			out = append(out, w.Deployment)
		}
	}
	return out
}

// adopt is the command that would make the bundle's objects its own.
func adopt(c *check.Input, d *evaluate.BundleDeployment) string {
	return c.Commands.Adopt + " " + c.Commands.BundleArgs(d.BundleDeployment)
}
