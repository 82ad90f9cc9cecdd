// SPDX-License-Identifier: Apache-2.0

package remedy

import (
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Restore writes what is missing of a bundle, or what differs, as it is in its release record. It returns nothing if
// the bundle is being removed, or if the record is not confirmed: who wrote it may have written anything.
func (m *Maker) Restore(d *evaluate.BundleDeployment, o *evaluate.Object) []Remedy {
	generated := strings.HasSuffix(o.Name, "-") // it has no name
	uncertain := d.From != desired.FromRelease || !d.Evidence.Confirmed()
	if uncertain || generated || m.removing(d) {
		return nil
	}
	isJob := o.Kind == "Job" && object.Group(o.APIVersion) == "batch"
	switch {
	case o.State == evaluate.Missing && isJob:
		return []Remedy{Make(Step{Kind: StepRecreate, Object: o.Ref},
			"creates the Job again, from the release record; it runs again")}
	case o.State == evaluate.Missing:
		return []Remedy{Make(Step{Kind: StepCreate, Object: o.Ref},
			"creates what is missing of the bundle, from the release record")}
	case o.Live != nil && len(o.Live.Fixed) > 0:
		return []Remedy{Make(Step{Kind: StepRecreate, Object: o.Ref},
			"deletes the object and creates it again, from the release record: fields differ that cannot be changed")}
	}
	return []Remedy{Make(Step{Kind: StepRestore, Object: o.Ref},
		"gives the fields that differ their desired values, from the release record")}
}

// removing reports whether a bundle deployment is being removed from its cluster, or should be.
func (m *Maker) removing(d *evaluate.BundleDeployment) bool {
	if left, _ := m.Facts.LeftOver(d); left {
		return true
	}
	uninstalls := func(p directory.RecordProblem) bool { return p.Status == release.StatusUninstalling }
	deleted := d.BD != nil && facts.Deleting(d.BD)
	return deleted || slices.ContainsFunc(d.RecordProblems, uninstalls)
}

// RestoreOrAccept returns the ways to proceed with a modified object of a bundle.
func (m *Maker) RestoreOrAccept(d *evaluate.BundleDeployment, o *evaluate.Object) []Remedy {
	show := m.Commands.ShowDifferences(&d.Deployment)
	if d.FromFiles() {
		return []Remedy{show, m.Commands.Predict(&d.Deployment)}
	}
	options := optionsOf(d)
	revert := Advise("set correctDrift.enabled in %s: Fleet then reverts every change of the bundle's objects "+
		"on all of its clusters", options)
	switch {
	case o.Custom() && dropped(o):
		revert = Advise("apply the definition of the kind that the bundle needs, if the present one does not have " +
			"these fields: an API server drops them from a custom resource")
	case o.Custom():
		revert = replaces(d)
	case facts.Corrects(d) != nil:
		revert = Advise("undo the change where it was made: correctDrift is enabled, and has not reverted it")
	case correctsLater(d):
		revert = Advise("make the deploy succeed: correctDrift is enabled, and reverts the change then")
	}
	accept := m.Commands.Rules(&d.Deployment,
		"to accept, commit the live values, or add the rules that this prints to %s: Fleet then ignores these fields",
		options)
	if o.ChangedOnWrite() {
		return []Remedy{show, accept}
	}
	if helmOverwrites(o) {
		return []Remedy{Advise("remove the label %s from the manifest, or set it to %s: Helm writes it at each deploy",
			fleet.ManagedByLabel, fleet.ManagedByHelm), accept}
	}
	restore := m.Restore(d, o)
	if len(restore) == 0 {
		restore = []Remedy{show}
	}
	return append(restore, revert, accept)
}

// dropped reports whether all fields that differ are missing, and no manager is recorded for them.
func dropped(o *evaluate.Object) bool {
	isThere := func(x evaluate.Difference) bool { return !x.Live.IsZero() || x.Manager != "" }
	return len(o.Differences) > 0 && !slices.ContainsFunc(o.Differences, isThere)
}

// correctsLater reports whether correctDrift is enabled, for a deployment that is not applied now.
func correctsLater(d *evaluate.BundleDeployment) bool {
	return d.BD != nil && d.BD.Spec.CorrectDrift != nil && d.BD.Spec.CorrectDrift.Enabled
}

// optionsOf is what has the options of a bundle.
func optionsOf(d *evaluate.BundleDeployment) string {
	if d.HelmOp != "" {
		return "the HelmOp"
	}
	return "fleet.yaml"
}

// replaces reverts the change of a custom resource. A rollback of Helm leaves it (docs/fleet-behavior.md, 3.6).
func replaces(d *evaluate.BundleDeployment) Remedy {
	if slices.ContainsFunc(d.Desired, func(o *desired.Object) bool { return o.Kind == "PersistentVolumeClaim" }) {
		return Advise("restore it by hand, or move it to a bundle without a PersistentVolumeClaim, and set " +
			"helm.force there: correctDrift does not revert a custom resource, and helm.force cannot replace a bound " +
			"claim")
	}
	return Advise("set helm.force in %s: each deploy then replaces the objects of the bundle; correctDrift does not "+
		"revert a custom resource, because Helm patches it only where its manifest changes", optionsOf(d))
}

// Correct returns the ways to revert a modified object that correctDrift has not reverted.
func (m *Maker) Correct(d *evaluate.BundleDeployment, o *evaluate.Object) []Remedy {
	if o.Custom() {
		return append(m.Restore(d, o), replaces(d))
	}
	return m.Redeploy(d)
}

// helmOverwrites reports whether an object differs only in the label that Helm itself writes at each deploy: neither a
// restored object nor a corrected one stays.
func helmOverwrites(o *evaluate.Object) bool {
	return len(o.Differences) == 1 && o.Differences[0].HelmWrites()
}
