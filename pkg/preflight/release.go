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

// release decides whether the rollout installs or upgrades, and whether another owner has the release.
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

// inUse reports the owner of the release, if it is not the bundle.
func (r *rollout) inUse() {
	last, d := r.last, r.d
	if last == nil {
		return
	}
	agent := d.On.AgentOf(d.BundleDeployment)
	var owner string
	switch {
	case last.Damaged != "":
		r.add(recordsUnread, nil, "release %s exists already, and its owner is not known: its record is damaged", last.Release())
		return
	case last.BundleID == "":
		owner = "is not a release of Fleet"
	case last.BundleID != d.Name:
		owner = "is owned by bundle " + last.BundleID
		if other := r.deployed(last.BundleID); other == nil {
			owner += ", which is no longer deployed on this cluster"
		} else {
			owner = "is owned by bundle deployment " + other.Key()
		}
	case agent != "" && last.AgentNamespace != "" && last.AgentNamespace != agent:
		owner = "is owned by the agent in namespace " + last.AgentNamespace
	default:
		return
	}
	item := r.add(releaseInUse, nil, "release %s exists already, and %s: Fleet would upgrade it, and delete the objects that are not in the bundle", last.Release(), owner)
	item.Owner = "Helm release " + last.Release()
	item.Remediation = fmt.Sprintf("set another helm.releaseName; %s -n %s history %s shows its revisions", r.c.Commands.Helm,
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

// renamed reports a bundle that is deployed as another release.
func (r *rollout) renamed() {
	current := r.d.Release
	if current.Revision == 0 || current.Release() == r.d.Ownership.Release() {
		return
	}
	r.add(releaseRenamed, nil, "it is now deployed as release %s, and would be installed as %s: Fleet's garbage collection then uninstalls the first release, and deletes the objects that are in both",
		current.Release(), r.d.Ownership.Release())
}

// deletions reports the objects of the release that are no longer in the bundle.
func (r *rollout) deletions() {
	d := r.d
	if d.Release.Release() != d.Ownership.Release() {
		return // the garbage collection deletes them
	}
	desired := map[object.Key]bool{}
	for i := range d.Objects {
		desired[d.Objects[i].Key()] = true
	}
	for _, w := range d.Removed {
		if desired[w.Key()] || w.Kept() {
			continue
		}
		r.Counts.Delete++
		ref := w.Ref
		others := r.desiredBy(w.Key())
		if len(others) == 0 {
			r.add(deleted, &ref, "%s is in release %s and no longer in the bundle: the rollout deletes it", w.Key(), d.Release.Release())
			continue
		}
		item := r.add(deletesDesired, &ref, "%s is in release %s and no longer in the bundle: the rollout deletes it, although bundle deployment %s desires it", w.Key(),
			d.Release.Release(), others[0].Key())
		item.Owner = "bundle deployment " + others[0].Key()
	}
}

// desiredBy returns the other deployments that desire an object.
func (r *rollout) desiredBy(key object.Key) []*resolve.BundleDeployment {
	var out []*resolve.BundleDeployment
	for _, w := range r.d.On.Claims.Of(key) {
		if w.Deployment != r.d.BundleDeployment {
			out = append(out, w.Deployment)
		}
	}
	return out
}

// adoptCommand is the command that assigns the existing objects to the bundle.
func adoptCommand(c *check.Input, d *evaluate.BundleDeployment) string {
	return c.Commands.Adopt + " " + c.Commands.BundleArgs(d.BundleDeployment)
}
