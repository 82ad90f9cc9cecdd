// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// IsOrphan reports whether an object that has the set of a bundle deployment was in an earlier revision. Fleet compares
// only with the previous revision, by kind and name. Where that revision is no longer recorded, Helm's own annotations
// prove that the object came with the release: a controller's child copies labels, it does not have the annotations of
// the release without an owner.
func IsOrphan(d *desired.BundleDeployment, u Undesired) bool {
	k := desired.KindName{Kind: u.Kind, Name: u.Name}
	if u.NoPrune || d.Problem != "" || d.Hooks[k] {
		return false
	}
	if d.Earlier[k] || d.EarlierKnown || u.Controlled {
		return d.Earlier[k]
	}
	return u.Metadata.ReleaseName != "" && u.Metadata.Release() == d.Release.Release()
}

// stateOf returns the actual state of a bundle deployment. It uses Fleet's order of precedence (docs/fleet-behavior.md,
// 4.3).
func stateOf(d *BundleDeployment) State {
	if d.BD != nil && d.BD.Spec.DeploymentID != d.BD.Status.AppliedDeploymentID &&
		d.Problem != directory.ClusterNotRead {
		if slices.ContainsFunc(d.BD.Status.Conditions, func(c v1alpha1.Condition) bool {
			return c.Type == "Deployed" && c.Status == "False"
		}) {
			return ErrApplied
		}
		return WaitApplied
	}
	if d.Problem != "" {
		return Unknown
	}
	if slices.ContainsFunc(d.Objects, func(o Object) bool { return o.NotReady }) {
		return NotReady
	}
	c := d.Counts
	switch {
	case d.BD != nil && d.BD.Spec.DeploymentID != d.BD.Spec.StagedDeploymentID:
		return OutOfSync
	case c.Missing+c.Unowned+c.Modified+c.Orphaned > 0:
		return Modified
	case c.Unknown > 0:
		return Unknown
	}
	return Ready
}

// applyServerSide is the apply method in the record of a release that Helm applies server-side.
const applyServerSide = "ssa"

// helm4 is the first minor version of Fleet with Helm 4, which installs server-side.
const helm4 = 15

// serverSide reports whether Helm applies the next deploy server-side. Then a field that another manager owns is a
// conflict. An upgrade uses the method of the last deploy. An installation is server-side with Helm 4. Neither is
// server-side if an option makes Helm force or take over (docs/fleet-behavior.md, 1.6 and 1.7). If not all records
// could be read, it returns false.
func serverSide(d *desired.BundleDeployment, on *state.Cluster) bool {
	options := d.Options()
	if forces(options) {
		return false
	}
	_, recordsRead := on.Coverage.Records.Of(d.Ownership.ReleaseNamespace)
	switch last := on.Latest[d.Ownership.Release()]; {
	case last != nil:
		return last.ApplyMethod == applyServerSide && last.Status != release.StatusUninstalling
	case !recordsRead, options.Helm != nil && options.Helm.TakeOwnership:
		return false
	}
	agent, known := fleet.ParseVersion(d.AgentVersion)
	return !known || !agent.Before(helm4, 0)
}

// forces reports whether an option makes Helm force a deploy.
func forces(o *v1alpha1.Options) bool {
	if o.Helm != nil && o.Helm.Force {
		return true
	}
	return o.CorrectDrift != nil && o.CorrectDrift.Force
}
