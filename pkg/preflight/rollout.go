// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// rollout is the prediction for one bundle.
type rollout struct {
	report.Rollout
	c *check.Input
	d *evaluate.BundleDeployment

	dependencies *facts.Dependencies
	causes       *check.Causes
	// takes reports whether Helm takes over existing objects.
	takes bool
	// notAsked counts the objects about which the API server was not asked, by the reason.
	notAsked map[string]int
	// renamed are the objects that the bundle takes from another one of the same GitRepo.
	renamed map[object.Key]bool
}

// verdicts are the results of rules, in ascending order. The highest one is the result of the rollout.
var verdicts = []report.Verdict{report.VerdictOK, report.VerdictUnknown, report.VerdictContested, report.VerdictRefused}

// add adds an item, and the result of its rule, by its name.
func (r *rollout) add(rule string, o *object.Ref, format string, args ...any) *report.PreflightItem {
	return r.addAs(ruleOf(rule), o, format, args...)
}

// addAs does what add does, for a rule whose severity depends on the rollout.
func (r *rollout) addAs(rule Rule, o *object.Ref, format string, args ...any) *report.PreflightItem {
	decides := rule.Severity == report.Error || rule.Verdict == report.VerdictUnknown
	if decides && slices.Index(verdicts, rule.Verdict) > slices.Index(verdicts, r.Verdict) {
		r.Verdict = rule.Verdict
	}
	item := report.PreflightItem{Rule: rule.Name, Severity: rule.Severity, Object: o,
		Message: fmt.Sprintf(format, args...)}
	if rule.Advice != "" {
		item.Remedies = advise(rule.Advice)
	}
	r.Items = append(r.Items, item)
	return &r.Items[len(r.Items)-1]
}

// failedOn returns the item that the last deploy failed because of an object; nil if it did not, or if the API server
// accepts the object now.
func (r *rollout) failedOn(o *evaluate.Object) *report.PreflightItem {
	i := slices.IndexFunc(r.Items, func(i report.PreflightItem) bool {
		return i.Rule == report.LastDeployFailed && i.Object != nil && i.Object.Key() == o.Key()
	})
	if i < 0 || o.Trial.Accepted {
		return nil
	}
	return &r.Items[i]
}

// advise is a remedy without a command.
func advise(text string) []report.Remedy { return []report.Remedy{{Text: text}} }

// gitRepo returns the GitRepo ("namespace/name") of the bundle, or of the files; empty without one.
func (r *rollout) gitRepo() string {
	files := r.d.Files
	if files == nil || files.Labels[fleet.RepoLabel] == "" {
		return r.d.GitRepo
	}
	return files.Workspace + "/" + files.Labels[fleet.RepoLabel]
}

// held reports that a rollout holds back a newer deployment.
func (r *rollout) held() {
	if r.d.BD == nil {
		return
	}
	present := r.d.Deployment
	present.Files = nil
	steps := r.causes.Blocked(&present)
	if len(steps) == 0 || !steps[0].Holds() {
		return
	}
	s, rule, message := steps[0], ruleOf("RolloutHeld"), steps[0].Message
	if len(s.Clusters) > 0 {
		message += ": " + facts.List(s.Clusters)
	}
	if r.d.FromFiles() {
		rule.Severity, rule.Verdict = report.Warning, report.VerdictUnknown
		message += "; that of these files waits too, unless they change the limits of the rollout"
	}
	item := r.addAs(rule, nil, "%s", message)
	item.Remedies = s.Next
}
