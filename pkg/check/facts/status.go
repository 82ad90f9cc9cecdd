// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Deleting reports whether an object is being deleted.
func Deleting(o v1alpha1.Object) bool { return o.GetDeletionTimestamp() != nil }

// Parsed returns a time of a status; zero without one.
func Parsed(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// Time returns a time as text, as in a status.
func Time(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// ConditionOf returns the condition of a type; zero if it is not found.
func ConditionOf(all []v1alpha1.Condition, kind string) v1alpha1.Condition {
	if i := slices.IndexFunc(all, func(c v1alpha1.Condition) bool { return c.Type == kind }); i >= 0 {
		return all[i]
	}
	return v1alpha1.Condition{}
}

// ConditionsOf returns the conditions of an object of Fleet.
func ConditionsOf(o v1alpha1.Object) []v1alpha1.Condition {
	switch o := o.(type) {
	case *v1alpha1.BundleDeployment:
		return o.Status.Conditions
	case *v1alpha1.Cluster:
		return o.Status.Conditions
	}
	if s := StatusOf(o); s != nil {
		return s.Conditions
	}
	return nil
}

// StatusOf returns the status of a Bundle, GitRepo, HelmOp or ClusterGroup; nil for other kinds.
func StatusOf(o v1alpha1.Object) *v1alpha1.Status {
	switch o := o.(type) {
	case *v1alpha1.Bundle:
		return &o.Status
	case *v1alpha1.GitRepo:
		return &o.Status.Status
	case *v1alpha1.HelmOp:
		return &o.Status
	case *v1alpha1.ClusterGroup:
		return &o.Status.Status
	}
	return nil
}

// Observed reports whether the controller has computed the targets of the present spec.
func Observed(b *v1alpha1.Bundle) bool {
	return b.Status.ObservedGeneration > 0 && b.Status.ObservedGeneration >= b.Generation
}

// summaryMessage begins the message of the condition Ready of a Bundle that was processed (docs/fleet-behavior.md,
// 5.5).
var summaryMessage = regexp.MustCompile(`^[A-Za-z]+\(\d+\) \[`)

// BundleError returns the message of the condition Ready of a Bundle that the controller could not process; ok is false
// without an error. The reason Error alone does not prove one: it may be left over. The message may quote values.
func BundleError(b *v1alpha1.Bundle) (message string, ok bool) {
	for _, c := range b.Status.Conditions {
		notReady := c.Type == "Ready" && c.Status != "True"
		failed := c.Reason == "Error" && !summaryMessage.MatchString(c.Message)
		if notReady && (failed || strings.Contains(c.Message, "targeting error")) {
			return c.Message, true
		}
	}
	return "", false
}

// Failed reports whether the controller could not process a Bundle.
func Failed(b *v1alpha1.Bundle) bool {
	_, failed := BundleError(b)
	return failed
}

// Contents reports whether the contents that are staged in a BundleDeployment are those of its Bundle; true if that is
// not known.
func Contents(b *v1alpha1.Bundle, bd *v1alpha1.BundleDeployment) bool {
	sum := b.Status.ResourcesSHA256Sum
	staged, _, _ := strings.Cut(bd.Spec.StagedDeploymentID, ":")
	if sum == "" || !Observed(b) || !strings.HasPrefix(staged, "s-") {
		return true
	}
	if bd.Spec.OCIContents || len(bd.Spec.HelmChartOptions) > 0 {
		return true
	}
	return staged == fleet.ManifestID(sum)
}

// Applied reports whether the agent has applied the current deployment id, and is at work on the bundle deployment.
func Applied(d *evaluate.BundleDeployment) bool {
	if d.BD == nil || d.FromFiles() || Deleting(d.BD) {
		return false
	}
	spec := &d.BD.Spec
	return !spec.Paused && !spec.OffSchedule && spec.DeploymentID == d.BD.Status.AppliedDeploymentID
}

// Corrects returns the correction of a bundle deployment that its agent should make now; nil if it should make none.
func Corrects(d *evaluate.BundleDeployment) *v1alpha1.CorrectDrift {
	if !Applied(d) || d.BD.Spec.CorrectDrift == nil || !d.BD.Spec.CorrectDrift.Enabled {
		return nil
	}
	if ConditionOf(d.BD.Status.Conditions, "Installed").Status == "False" {
		return nil
	}
	return d.BD.Spec.CorrectDrift
}

// RepoOf returns the GitRepo or HelmOp of a Bundle. If it has the labels of both, it is of the GitRepo.
func RepoOf(b *v1alpha1.Bundle) (repo object.Ref, ok bool) {
	if name := b.Labels[fleet.RepoLabel]; name != "" {
		return Ref(state.GitRepo, b.Namespace, name), true
	}
	name := b.Labels[fleet.HelmOpLabel]
	return Ref(state.HelmOp, b.Namespace, name), name != ""
}

// Alike reports whether counts of objects are the same. Orphaned objects are not compared: Fleet compares with the
// previous revision only.
func Alike(x, y v1alpha1.ResourceCounts) bool {
	compared := func(c v1alpha1.ResourceCounts) [5]int {
		return [5]int{c.DesiredReady, c.Ready, c.Missing, c.Modified, c.NotReady}
	}
	return compared(x) == compared(y)
}
