// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	homepage = "https://github.com/fleetdoctor/kubectl-fleetdoctor"
	// fingerprint is the name of the identity of a finding. GitHub only uses lineHash to recognize a result.
	fingerprint = "fleetdoctorFindingID/v1"
	lineHash    = "primaryLocationLineHash"
)

// WriteSARIF writes the report. A result is a finding, a rule is a check. A finding that follows from another one is a
// note. An ignored finding is a suppressed result. What could not be read is a notification, and the invocation is then
// not successful.
func WriteSARIF(w io.Writer, a *report.Audit) error {
	run := sarif.NewRunWithInformationURI("fleetdoctor", homepage)
	run.Tool.Driver.WithVersion(a.Tool.Version).WithFullName("kubectl fleetdoctor audit")
	index := map[string]int{}
	for i, c := range check.Catalogue() {
		index[c.Code] = i
		run.Tool.Driver.AddRule(rule(c))
	}
	results := make([]markedResult, 0, len(a.Findings)+len(a.Ignored))
	for _, r := range slices.Concat(findings(a), ignored(a)) {
		if i, known := index[*r.RuleID]; known {
			r.WithRuleIndex(i)
		}
		marked := markedResult{Result: r}
		if len(a.Ignored) > 0 {
			marked.Suppressions = append([]*sarif.Suppression{}, r.Suppressions...)
		}
		results = append(results, marked)
	}
	run.AddInvocation(invocation(a))
	properties := sarif.NewPropertyBag().Add("source", a.Source).Add("scope", a.Scope)
	if a.TakenAt != "" {
		properties.Add("takenAt", a.TakenAt)
	}
	run.WithProperties(properties)
	return escape.EncodeJSON(w, sarifDocument{sarif.NewReport(), []markedRun{{run, results}}}, "  ")
}

// The library omits empty lists. SARIF requires a list of suppressions in all results of a run or in none.
type (
	sarifDocument struct {
		*sarif.Report
		Runs []markedRun `json:"runs"`
	}
	markedRun struct {
		*sarif.Run
		Results []markedResult `json:"results"`
	}
	markedResult struct {
		*sarif.Result
		Suppressions []*sarif.Suppression `json:"suppressions,omitzero"`
	}
)

func findings(a *report.Audit) []*sarif.Result {
	identity, causes := identities(a), digest.NewCauses(a)
	out := make([]*sarif.Result, 0, len(a.Findings))
	for i := range a.Findings {
		f := &a.Findings[i]
		r := result(*f, identity(f), causes.Text(f))
		if cause := causes.Of(f); cause != nil {
			follow(r, cause, identity(cause))
		}
		if causes.Covers(f) { // only the cause is an alert
			r.WithLevel(sarif.LevelNote)
		}
		out = append(out, r)
	}
	return out
}

// follow adds the cause of a result, and its place. id is the identity of the cause.
func follow(r *sarif.Result, cause *report.Finding, id string) {
	r.AddRelatedLocation(location(*cause).WithID(1).
		WithMessage(sarif.NewTextMessage(text(cause.Code + ": " + cause.Message))))
	r.Properties.Add("causedBy", id)
}

// identities returns the function that returns the identity of a finding of an audit.
func identities(a *report.Audit) func(*report.Finding) string {
	times := map[string]int{}
	for i := range a.Findings {
		if f := &a.Findings[i]; len(f.Clusters) > 0 {
			times[joinedID(f)]++
		}
	}
	return func(f *report.Finding) string {
		// Two joined findings with one identity have different messages. Each keeps its own: a viewer must not take one
		// for the other.
		if len(f.Clusters) > 0 && times[joinedID(f)] == 1 {
			return joinedID(f)
		}
		return f.ID
	}
}

// joinedID returns the identity of a finding of several clusters. It does not depend on the clusters: that of the
// finding changes with the first one.
func joinedID(f *report.Finding) string { return report.FindingID(f, "", f.Bundle, map[string]int{}) }

// ignored returns the findings that the ignore file excludes. The report has only their identity and the reason.
func ignored(a *report.Audit) []*sarif.Result {
	if len(a.Ignored) == 0 {
		return nil
	}
	bundles := map[report.DeploymentKey]string{}
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		bundles[report.KeyOf(bd)] = bd.Bundle
	}
	titles := map[string]string{}
	for _, c := range check.Catalogue() {
		titles[c.Code] = c.Title
	}
	out := make([]*sarif.Result, 0, len(a.Ignored))
	for i := range a.Ignored {
		x := &a.Ignored[i]
		f := report.Finding{ID: x.ID, Code: x.Code, Severity: x.Severity, Object: x.Object, Cluster: x.Cluster,
			BundleDeployment: x.BundleDeployment,
			Bundle:           bundles[report.DeploymentKey{Cluster: x.Cluster, Key: x.BundleDeployment}],
			Message:          strings.TrimSpace(x.Object.Key().String() + ": " + titles[x.Code])}
		out = append(out, result(f, f.ID, "").AddSuppression(sarif.NewSuppression().WithKind("external").
			WithJustification(text(x.Why()))))
	}
	return out
}

func rule(c check.Check) *sarif.ReportingDescriptor {
	precision := map[check.Severity]string{check.Error: "error", check.Warning: "warning", check.Info: "recommendation"}
	return sarif.NewRule(c.Code).WithName(c.Name).
		WithHelpURI(check.URL(c.Code)).
		WithShortDescription(sarif.NewMultiformatMessageString().WithText(text(c.Title))).
		WithFullDescription(sarif.NewMultiformatMessageString().WithText(text(c.Explanation))).
		WithHelp(sarif.NewMultiformatMessageString().WithText(text(c.Explanation))).
		WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(level(report.Severity(c.Severity)))).
		WithProperties(sarif.NewPropertyBag().Add("problem.severity", precision[c.Severity]).
			WithTags([]string{"fleet", "kubernetes"}))
}

func level(s report.Severity) string {
	switch s {
	case report.Error:
		return sarif.LevelError
	case report.Warning:
		return sarif.LevelWarning
	}
	return sarif.LevelNote
}

// result converts a finding with an identity. cause says from which finding it follows; empty for none.
func result(f report.Finding, id, cause string) *sarif.Result {
	properties := sarif.NewPropertyBag().Add("severity", f.Severity)
	if f.Cluster != "" {
		properties.Add("cluster", f.Cluster)
	}
	for name, value := range digest.Properties(&f) {
		properties.Add(name, value)
	}
	if len(f.Clusters) > 0 {
		properties.Add("clusters", f.Clusters)
	}
	if steps := f.NextSteps(); len(steps) > 0 {
		properties.Add("remedies", steps)
	}
	id = cmp.Or(id, f.Code)
	return sarif.NewRuleResult(f.Code).WithLevel(level(f.Severity)).
		WithMessage(sarif.NewTextMessage(message(f, cause))).
		AddLocation(location(f)).
		WithPartialFingerprints(map[string]string{fingerprint: id, lineHash: id}).WithProperties(properties)
}

// message is the message of a finding with its clusters, its evidence and the next step: viewers show nothing else. A
// command with braces is only in the properties, because viewers disagree about the escapes of braces in messages.
func message(f report.Finding, cause string) string {
	lines := digest.NonEmpty(f.Message, cause)
	if clusters := cmp.Or(strings.Join(f.Clusters, ", "), f.Cluster); clusters != "" {
		lines = append(lines, "on cluster "+clusters)
	}
	lines = append(lines, f.Described()...)
	for _, step := range f.FirstSteps() {
		const braces = "{}"
		switch shown := step.Lines(); {
		case len(shown) == 0 || strings.ContainsAny(step.Text, braces):
		case strings.ContainsAny(step.Command, braces): // the command is the subject of its effect
			lines = append(lines, strings.TrimSpace("Next step: the command in the properties "+step.Text))
		default:
			lines = append(append(lines, "Next step: "+shown[0]), shown[1:]...)
		}
	}
	return text(strings.Join(lines, "\n"))
}

// text escapes what has a meaning in a plain text message: braces of placeholders, and links.
func text(s string) string {
	return strings.NewReplacer("{", "{{", "}", "}}", "](", "] (").Replace(s)
}

// location is the place of a finding. No file of the repository has it, but GitHub requires one: its path consists of
// the bundle and the object, and is the same in every report.
func location(f report.Finding) *sarif.Location {
	return sarif.NewLocation().
		WithPhysicalLocation(sarif.NewPhysicalLocation().WithArtifactLocation(sarif.NewSimpleArtifactLocation(path(f))).
			WithRegion(sarif.NewRegion().WithStartLine(1))).
		AddLogicalLocation(sarif.NewLogicalLocation().WithKind("resource").WithName(cmp.Or(f.Object.Name, f.Code)).
			WithFullyQualifiedName(strings.Join(digest.NonEmpty(f.Cluster, f.BundleDeployment, f.Object.Key().Type(),
				f.Object.Namespace, f.Object.Name), "/")))
}

func path(f report.Finding) string {
	parts := []string{"fleet"}
	if f.Bundle != "" {
		namespace, name, _ := strings.Cut(f.Bundle, "/")
		parts = append(parts, "bundles", namespace, name)
	}
	parts = append(parts, digest.NonEmpty(f.Object.Key().Type(), f.Object.Namespace, f.Object.Name)...)
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// invocation describes how complete the audit is.
func invocation(a *report.Audit) *sarif.Invocation {
	out := sarif.NewInvocation().WithExecutionSuccessful(a.Complete())
	notify := func(level, format string, args ...any) {
		out.AddToolExecutionNotification(sarif.NewNotification().WithLevel(level).
			WithMessage(sarif.NewTextMessage(text(fmt.Sprintf(format, args...)))))
	}
	for _, g := range a.Gaps {
		cluster := ""
		if g.Cluster != "" {
			cluster = " on cluster " + g.Cluster
		}
		notify(sarif.LevelError, "could not be read%s: %s (%s): %s", cluster, g.What, g.Why(), g.Effect)
	}
	for _, l := range a.LeftOut() {
		notify(sarif.LevelNote, "%s", l.Text)
	}
	for _, n := range a.Notes {
		notify(sarif.LevelNote, "%s", n)
	}
	excluded, isExcluded := 0, a.Excluded()
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		key := bd.Key()
		switch {
		case isExcluded(bd):
			excluded++
		case bd.Counts.Unknown > 0:
			notify(sarif.LevelError, "bundle deployment %s: %d of %d objects are Unknown", key, bd.Counts.Unknown,
				bd.Counts.Desired)
		case bd.WithoutResult():
			notify(sarif.LevelError, "bundle deployment %s has no result (%s)", key, bd.Reason)
		}
	}
	if excluded > 0 {
		notify(sarif.LevelWarning, "bundle deployments without a result, because their clusters were not read: %d",
			excluded)
	}
	return out
}
