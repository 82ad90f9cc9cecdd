// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// WriteJUnit writes the report. A suite is a bundle deployment, and a test is one of its objects. It fails if the
// object has a finding of the severity error or warning, has an error if the object is Unknown, and passes only if the
// object is Ready. Each other finding is a test of its own, which is skipped if it follows from another finding. Each
// gap is a test with an error. What the report leaves out is skipped. The notes are the output of the last suite.
func WriteJUnit(w io.Writer, a *report.Audit) error {
	p := newPrinter(a)
	out := junit.Testsuites{Name: "kubectl fleetdoctor audit"}
	for i := range a.BundleDeployments {
		out.AddSuite(p.deployment(&a.BundleDeployments[i]))
	}
	others, notes := junit.Testsuite{Name: "other findings"}, junit.Testsuite{Name: "notes"}
	p.addFindings(&others, "fleet", p.otherFindings)
	if len(p.Notes) > 0 {
		notes.SystemOut = &junit.Output{Data: escape.Text(strings.Join(p.Notes, "\n"))}
	}
	for _, suite := range []junit.Testsuite{others, p.gaps(), p.leftOut(), notes} {
		if suite.Tests > 0 || suite.SystemOut != nil {
			out.AddSuite(suite)
		}
	}
	for i := range out.Suites {
		out.Suites[i].ID, out.Suites[i].Time, out.Suites[i].Timestamp = i, "0", escape.Line(a.TakenAt)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	return out.WriteXML(w)
}

// bundleKey identifies a bundle deployment by its cluster and its bundle, because a finding can be about several
// clusters.
type bundleKey struct{ cluster, bundle string }

// printer converts a report. findings are the findings about each bundle deployment, and others are all other findings.
type printer struct {
	*report.Audit
	causes        digest.Causes
	excluded      func(*report.BundleDeployment) bool
	findings      map[bundleKey][]report.Finding
	otherFindings []report.Finding
}

func newPrinter(a *report.Audit) *printer {
	p := &printer{Audit: a, causes: digest.NewCauses(a), excluded: a.Excluded(),
		findings: map[bundleKey][]report.Finding{}}
	known := map[bundleKey]bool{}
	for i := range a.BundleDeployments {
		known[keyOf(&a.BundleDeployments[i])] = true
	}
	for _, f := range a.Findings {
		shown := false
		for _, single := range f.OnEach() {
			key := bundleKey{single.Cluster, cmp.Or(single.Bundle, single.BundleDeployment)}
			if single.BundleDeployment != "" && known[key] {
				p.findings[key], shown = append(p.findings[key], single), true
			}
		}
		if !shown {
			p.otherFindings = append(p.otherFindings, f)
		}
	}
	return p
}

func keyOf(bd *report.BundleDeployment) bundleKey {
	return bundleKey{bd.Cluster, cmp.Or(bd.Bundle, bd.Key())}
}

// deployment is the suite of a bundle deployment.
func (p *printer) deployment(bd *report.BundleDeployment) junit.Testsuite {
	key := keyOf(bd)
	class := escape.Line(cmp.Or(key.cluster, "cluster") + "." + key.bundle)
	suite := junit.Testsuite{Name: escape.Line("bundle " + key.bundle + " on cluster " +
		cmp.Or(key.cluster, "(unknown)"))}
	about := map[object.Ref][]report.Finding{}
	for _, f := range p.findings[key] {
		about[f.Object] = append(about[f.Object], f)
	}
	if test, ok := p.state(bd); ok {
		test.Classname = class
		suite.AddTestcase(test)
	}
	for i := range bd.Resources {
		r := &bd.Resources[i]
		suite.AddTestcase(resource(class, r, about[r.Ref]))
		delete(about, r.Ref)
	}
	p.addFindings(&suite, class, slices.DeleteFunc(slices.Clone(p.findings[key]), func(f report.Finding) bool {
		return about[f.Object] == nil
	}))
	return suite
}

// state is the test of a bundle deployment itself, if its objects do not show its state.
func (p *printer) state(bd *report.BundleDeployment) (junit.Testcase, bool) {
	test := junit.Testcase{Name: "bundle deployment"}
	fleet := ""
	if bd.Reported != nil && bd.Reported.State != "" {
		fleet = "; Fleet reports " + bd.Reported.State
	}
	switch {
	case p.excluded(bd):
		test.Skipped = outcome(bd.Reason, "the cluster was not read"+fleet, "")
	case bd.Reason != "", bd.State == report.Unknown && len(bd.Resources) == 0:
		test.Error = outcome(cmp.Or(bd.Reason, string(bd.State)), "there is no result"+fleet, "")
	case bd.State == report.OutOfSync, bd.State == report.WaitApplied, bd.State == report.ErrApplied:
		test.Skipped = outcome(string(bd.State), "the state is "+string(bd.State)+fleet, "")
	default:
		return test, bd.State == report.Ready && len(bd.Resources) == 0
	}
	return test, true
}

// newTest returns a test that is about an object.
func newTest(class, begin string, o object.Ref) junit.Testcase {
	name := begin + " " + o.Kind + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
	return junit.Testcase{Classname: class, Name: escape.Line(name)}
}

// resource is the test of an object.
func resource(class string, r *report.Resource, findings []report.Finding) junit.Testcase {
	test := newTest(class, r.APIVersion, r.Ref)
	failures := slices.DeleteFunc(slices.Clone(findings), informational)
	state := string(r.State)
	if r.Reason != "" {
		state += " (" + r.Reason + ")"
	}
	switch details := describe(findings) + differences(r); {
	case r.State == report.Unknown:
		test.Error = outcome(cmp.Or(r.Reason, state), "the object is "+state+because(r.Message), details)
	case len(failures) > 0:
		test.Failure = outcome(codesOf(failures), failures[0].Message, details)
	case r.State != report.Ready:
		test.Skipped = outcome(cmp.Or(codesOf(findings), state), "the object is "+state+because(r.Message),
			details)
	case details != "":
		test.SystemOut = &junit.Output{Data: escape.Text(details)}
	}
	return test
}

// addFindings adds a test for each finding of the severity error or warning. It fails unless the finding follows from
// another one, which fails a test already. The others are the output of the suite.
func (p *printer) addFindings(suite *junit.Testsuite, class string, findings []report.Finding) {
	var info []report.Finding
	for _, f := range findings {
		if f.Severity == report.Info {
			info = append(info, f)
			continue
		}
		test := newTest(class, f.Code, f.Object)
		details := describe([]report.Finding{f})
		if p.causes.Covers(&f) {
			test.Skipped = outcome(f.Code, p.causes.Text(&f), details)
		} else {
			test.Failure = outcome(f.Code, f.Message, details)
		}
		suite.AddTestcase(test)
	}
	if len(info) > 0 {
		suite.SystemOut = &junit.Output{Data: escape.Text(describe(info))}
	}
}

// gaps is the suite of what could not be read.
func (p *printer) gaps() junit.Testsuite {
	suite := junit.Testsuite{Name: "gaps"}
	for _, g := range p.Gaps {
		name := g.What
		if g.Cluster != "" {
			name += " (cluster " + g.Cluster + ")"
		}
		suite.AddTestcase(junit.Testcase{Classname: "gaps", Name: escape.Line(name),
			Error: outcome("gap", "could not be read: "+g.Why(), g.Effect)})
	}
	return suite
}

// leftOut is the suite of the findings that the report does not list.
func (p *printer) leftOut() junit.Testsuite {
	suite := junit.Testsuite{Name: "findings left out"}
	if p.IgnoreFile != "" {
		suite.AddProperty("ignore-file", escape.Line(p.IgnoreFile))
	}
	for _, l := range p.LeftOut() {
		if l.Count > 0 && l.By != report.ByIgnoreFile {
			suite.AddTestcase(junit.Testcase{Classname: "left out", Name: escape.Line(l.By),
				Skipped: outcome(l.By, l.Text, "")})
		}
	}
	for i := range p.Ignored {
		x := &p.Ignored[i]
		suite.AddTestcase(junit.Testcase{Classname: "left out", Name: escape.Line(x.ID + " " + x.Object.Key().String()),
			Skipped: outcome(report.ByIgnoreFile, x.Why(), "")})
	}
	return suite
}

// outcome is why a test did not pass. The library escapes what has a meaning in XML, but not the characters that XML
// does not have.
func outcome(kind, message, details string) *junit.Result {
	return &junit.Result{Type: escape.Line(kind), Message: escape.Line(message), Data: escape.Text(details)}
}

func informational(f report.Finding) bool { return f.Severity == report.Info }

func because(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

func codesOf(findings []report.Finding) string {
	return strings.Join(report.Texts(findings, func(f report.Finding) string { return f.Code }), ", ")
}

// describe writes findings with their evidence and next steps.
func describe(findings []report.Finding) string {
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%s %s: %s\n", f.Severity, f.Code, f.Message)
		for _, e := range f.Evidence {
			fmt.Fprintf(&b, "  %s\n", e)
		}
		for _, step := range f.NextSteps() {
			mark := "->"
			for _, s := range step.Lines() {
				fmt.Fprintf(&b, "  %s %s\n", mark, s)
				mark = "  "
			}
		}
	}
	return b.String()
}

// maxValue is the length at which a value is cut.
const maxValue = 200

func differences(r *report.Resource) string {
	var b strings.Builder
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "%s: desired %s, live %s\n", d.Path, value(d.Desired), value(d.Live))
	}
	return b.String()
}

func value(v report.Value) string {
	if v.IsZero() {
		return "not set"
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "of unknown form"
	}
	if s := []rune(string(raw)); len(s) > maxValue {
		return string(s[:maxValue]) + "…"
	}
	return string(raw)
}
