// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
)

// Severity of a finding.
type Severity = codes.Severity

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Finding is one problem, or one piece of information.
type Finding struct {
	Code     string
	Severity Severity
	Urgency  codes.Urgency
	Title    string
	Object   object.Ref
	Cluster  string // "namespace/name"
	// BundleDeployment is the key of the bundle deployment that the finding is about; empty if it is about none.
	BundleDeployment string
	Message          string
	Evidence         []string
	// Aspect distinguishes the finding from others of the same code about the same object: a number, a record, a
	// condition. It never depends on the words of a message. It is empty if a check reports an object once.
	Aspect string
	// Remedies are ways to proceed, the safest one first. Every finding has one.
	Remedies []remedy.Remedy
	// Steps are the steps of the verb repair, in the order of the remedies.
	Steps []remedy.Step
	AsOf  string
	// Settle are the questions whose answers decide whether the finding is certain: it may show a moment between two
	// writes, or a number that Fleet is about to correct.
	Settle []settle.Question
	// Pauses is after how many pauses the questions are asked for the last time; they are asked after each. With 0
	// nobody waits.
	Pauses int
	// Follows are findings of which this one is a consequence, if one of them is reported. The first of these counts.
	Follows []Origin
	// Cause is why a number is wrong, for findings about numbers; empty for others.
	Cause facts.Cause
}

// Is reports whether the finding is an origin.
func (f *Finding) Is(o Origin) bool {
	sameObject := o.Object == (object.Ref{}) || f.Object == o.Object
	sameDeployment := o.BundleDeployment == "" || f.BundleDeployment == o.BundleDeployment
	return f.Code == o.Code && sameObject && sameDeployment
}

// Pages is the address of the directory docs/.
const Pages = "https://github.com/fleetdoctor/kubectl-fleetdoctor/blob/main/docs/"

// URL returns the address of the explanation of a code.
func URL(code string) string { return Pages + "findings.md#" + strings.ToLower(code) }

// Input is what the checks read.
type Input struct {
	// Result is what was evaluated, and Facts are what several checks need to know of it.
	Result *evaluate.Result
	Facts  *facts.Facts
	// Steps makes the commands that findings suggest.
	Steps *remedy.Maker
}

// New returns the input of the checks.
func New(f *facts.Facts, commands remedy.Commands, ofClusters map[object.ClusterID]remedy.Commands) *Input {
	return &Input{Result: f.Result, Facts: f,
		Steps: &remedy.Maker{Facts: f, Commands: commands, ClusterCommands: ofClusters}}
}

// found collects the findings of a check.
type found struct{ findings []Finding }

// report adds a finding with ways to proceed.
func (out *found) report(f Finding, remedies ...remedy.Remedy) {
	f.Remedies = append(f.Remedies, remedies...)
	out.findings = append(out.findings, f)
}

func (out *found) reportIf(f Finding, ok bool) {
	if ok {
		out.report(f)
	}
}

// say adds evidence.
func (f *Finding) say(format string, args ...any) {
	f.Evidence = append(f.Evidence, fmt.Sprintf(format, args...))
}

// sayIf adds evidence if it applies.
func (f *Finding) sayIf(applies bool, sentence string) {
	if applies {
		f.Evidence = append(f.Evidence, sentence)
	}
}

// about returns a finding about an object of a bundle deployment.
func about(d *evaluate.BundleDeployment, ref object.Ref, format string, args ...any) Finding {
	return Finding{Object: ref, Cluster: d.Cluster, BundleDeployment: d.Key(), Message: fmt.Sprintf(format, args...)}
}

// onDeployment returns a finding about a bundle deployment itself, as old as its status.
func onDeployment(d *evaluate.BundleDeployment, format string, args ...any) Finding {
	f := about(d, d.Ref(), format, args...)
	if d.BD != nil {
		f.AsOf = d.BD.Reported().AsOf
	}
	return f
}

// count returns the number of values that match.
func count[T any](all []T, match func(T) bool) int {
	n := 0
	for _, x := range all {
		if match(x) {
			n++
		}
	}
	return n
}

// since returns when something began, as the end of a sentence; empty if that is not known.
func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " since " + facts.Time(t)
}

// OfAgent returns the codes of the findings about an agent.
func OfAgent(a evaluate.Agent) []string {
	var out []string
	if facts.Reimported(a) {
		out = append(out, codes.WillReimport)
	}
	if facts.Stopped(a) || facts.Broken(a) {
		out = append(out, codes.AgentStale)
	}
	if a.Silent {
		out = append(out, codes.AgentNeverSeen)
	}
	return out
}

// idleAgent is why the agent of the Cluster with a namespace does not run, as a sentence; empty if nothing shows that.
func (in *Input) idleAgent(namespace string) string {
	a, known := in.Facts.AgentOf(namespace)
	if !known {
		return ""
	}
	return facts.IdleOf(a)
}

// onCluster returns a finding about a Cluster.
func onCluster(a evaluate.Agent) Finding {
	c := a.Cluster
	return Finding{Object: facts.RefTo(c), Cluster: facts.Key(c), AsOf: c.Status.Agent.LastSeen}
}

// emptyOverride reports a Bundle whose fleet.yaml has an empty list overrideTargets. The job of a GitRepo always writes
// restrictions otherwise: those of overrideTargets or of the GitRepo, which has a default target
// (docs/fleet-behavior.md, 5.1). The label of the commit shows that the job wrote the Bundle.
func (in *Input) emptyOverride(out *found, b *v1alpha1.Bundle) {
	s := &b.Spec
	byJob := b.Labels[fleet.RepoLabel] != "" && b.Labels[fleet.CommitLabel] != ""
	if !byJob || len(s.HelmOpOptions)+len(s.TargetRestrictions) > 0 || len(s.Targets) == 0 {
		return
	}
	effect := "its customization selects clusters without the GitRepo's restrictions"
	switch {
	case defaultTarget(s.Targets):
		effect = "it is deployed to the ClusterGroup default"
	case len(s.Targets) > 1:
		effect = fmt.Sprintf("its %d customizations select clusters without the GitRepo's restrictions", len(s.Targets))
	}
	out.report(Finding{Object: facts.RefTo(b), Aspect: "overrideTargets",
		Message: fmt.Sprintf("overrideTargets is an empty list in the fleet.yaml of bundle %s: %s", facts.Key(b),
			effect),
		Evidence: []string{"targets of the GitRepo have no effect. Remove overrideTargets to use them, or list the " +
			"clusters in it"},
	}, in.Steps.Commands.ExplainTargets(b))
}

// defaultTarget reports whether a list has only the target that Fleet adds to an empty one.
func defaultTarget(targets []v1alpha1.BundleTarget) bool {
	if len(targets) != 1 {
		return false
	}
	t := targets[0].ClusterTarget
	if t.ClusterName != "" || t.ClusterSelector != nil || t.ClusterGroupSelector != nil {
		return false
	}
	return t.Name == "default" && t.ClusterGroup == "default"
}

// originsAt returns the findings of these codes about a bundle deployment.
func originsAt(d *directory.Deployment, all ...string) []Origin {
	var out []Origin
	for _, code := range all {
		out = append(out, Origin{Code: code, Cluster: d.Cluster, BundleDeployment: d.Key()})
	}
	return out
}

// notReadyOrigins returns the findings for which a bundle deployment is not ready.
func notReadyOrigins(d *directory.Deployment) []Origin {
	return originsAt(d, codes.Missing, codes.NotReady, codes.Modified, codes.Unowned, codes.Orphaned)
}

// nowhereOrigins returns the findings that a Bundle is one of those of which none reaches a cluster.
func nowhereOrigins(b *v1alpha1.Bundle) []Origin {
	if repo, ok := facts.RepoOf(b); ok {
		return []Origin{{Code: codes.DeployedNowhere, Object: repo}}
	}
	return []Origin{{Code: codes.DeployedNowhere, Object: facts.RefTo(b)}}
}

// silentOrigins returns the findings for which the agent of a Cluster does not report.
func silentOrigins(c *v1alpha1.Cluster) []Origin {
	var out []Origin
	for _, code := range []string{codes.NotProcessed, codes.AgentStale, codes.AgentNeverSeen} {
		out = append(out, Origin{Code: code, Cluster: facts.Key(c), Object: facts.RefTo(c)})
	}
	return out
}

// Origin is a finding from which another one follows, if it is reported: one of a code about an object, or about a
// bundle deployment or any of its objects.
type Origin struct {
	Code    string
	Cluster string // "namespace/name"
	// BundleDeployment is its key; empty for a finding about another Object.
	BundleDeployment string
	Object           object.Ref
}

// addSteps adds the steps of the verb repair that the remedies of a finding name, and replaces these remedies by one
// command. Further steps are alternatives, which the verb does not make. If the first of these remedies is empty, the
// command is not shown: what it does depends on a decision.
func (in *Input) addSteps(f *Finding) {
	var allow, effects []string
	first := -1
	f.Remedies = slices.DeleteFunc(f.Remedies, func(r remedy.Remedy) bool {
		done := len(f.Steps) > 0 && !f.Steps[len(f.Steps)-1].More()
		if r.Step.Kind == "" || done {
			return false
		}
		f.Steps = append(f.Steps, r.Step)
		if r.Text != "" {
			effects = append(effects, r.Text)
		}
		if flag := r.Step.Kind.Allowed(); flag != "" && !slices.Contains(allow, flag) {
			allow = append(allow, flag)
		}
		return len(f.Steps) > 1
	})
	for i := range f.Remedies {
		r := &f.Remedies[i]
		if r.Step.Kind != "" && first < 0 {
			first = i
		}
		r.Step = remedy.Step{} // equal remedies of several objects are shown once
	}
	if first >= 0 && f.Remedies[first] == (remedy.Remedy{}) {
		f.Remedies = slices.Delete(f.Remedies, first, first+1)
		return
	}
	adopts := len(f.Steps) == 1 && f.Remedies[first].Command != "" && f.Steps[0].Kind == remedy.StepAdopt
	if first < 0 || adopts {
		return
	}
	f.Remedies[first] = repairing(in.repairs(f)+" --code="+f.Code, allow, effects...)
}

// repairing is a command of the verb repair.
func repairing(command string, allow []string, effects ...string) remedy.Remedy {
	if len(allow) > 0 {
		command += " --allow=" + strings.Join(allow, ",")
	}
	does, further, more := strings.Cut(strings.Join(effects, "; then "), ". ")
	does += "; shows the plan, and asks before it writes"
	if more {
		does += ". " + further
	}
	return remedy.Remedy{Command: command, Text: does}
}

// repairs is the command that repairs what a finding is about, on all clusters that are read.
func (in *Input) repairs(f *Finding) string {
	for _, d := range in.Result.Deployments {
		if d.Key() == f.BundleDeployment && d.Cluster == f.Cluster {
			return in.Steps.Commands.Repair + " " + in.Steps.Commands.BundleArgs(&d.Deployment)
		}
	}
	target := escape.Shell(strings.ToLower(f.Object.Kind) + "/" + f.Object.Name)
	return in.Steps.Commands.Repair + " " + target + remedy.InNamespace(f.Object.Namespace)
}
