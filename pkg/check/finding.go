// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
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
	at := o.Object == (object.Ref{}) || f.Object == o.Object
	of := o.BundleDeployment == "" || f.BundleDeployment == o.BundleDeployment
	return f.Code == o.Code && at && of
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

// since returns when something began, as the end of a sentence; empty if that is not known.
func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " since " + facts.Time(t)
}
