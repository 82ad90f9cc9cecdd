// SPDX-License-Identifier: Apache-2.0

package openreports

import (
	"cmp"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

type printer struct {
	*report.Audit
	taken    metav1.Timestamp
	groups   map[group][]v1alpha1.ReportResult
	present  map[group]bool // the namespaces that exist
	excluded func(*report.BundleDeployment) bool
}

const (
	// Source is the source of the results, and the value of the label ManagedBy of the objects.
	Source = "fleetdoctor"
	// ManagedBy is the label of the program that keeps an object.
	ManagedBy    = "app.kubernetes.io/managed-by"
	category     = "Fleet"
	fleetGroup   = "fleet.cattle.io"
	clusterLabel = "fleetdoctor.io/cluster" // also an annotation, with the complete name
	takenAt      = "fleetdoctor.io/taken-at"
	ignoreFile   = "fleetdoctor.io/ignore-file"
	// state is the policy of results that are not findings: the state of a desired object, or what could not be read.
	state = "DesiredState"
	// leftOut is the policy of results that count findings which the report does not list.
	leftOut = "LeftOut"
	// note is the policy of results that are information for the reader.
	note = "Note"
)

// group identifies the results of one report. The cluster is empty for Fleet's own objects; the namespace is empty for
// a ClusterReport.
type group struct{ cluster, namespace string }

func (g group) compare(o group) int {
	return cmp.Or(cmp.Compare(g.cluster, o.cluster), cmp.Compare(g.namespace, o.namespace))
}

// findNamespaces finds the namespaces that exist because an object in them exists. A Report in another namespace could
// not be created.
func (p *printer) findNamespaces() {
	for _, bd := range p.BundleDeployments {
		p.present[group{"", bd.Namespace}] = true
		for _, r := range bd.Resources {
			if r.State != report.Missing && r.State != report.Unknown {
				p.present[group{bd.Cluster, r.Namespace}] = true
			}
		}
	}
	for _, f := range p.Findings {
		if r := f.Object; object.Group(r.APIVersion) == fleetGroup {
			p.present[group{"", r.Namespace}] = true
		}
	}
}

// groupOf returns the group of an object.
func (p *printer) groupOf(cluster string, r object.Ref) group {
	g := group{cluster, r.Namespace}
	if object.Group(r.APIVersion) == fleetGroup {
		g.cluster = ""
	}
	if !p.present[g] || len(validation.IsDNS1123Label(g.namespace)) > 0 {
		g.namespace = ""
	}
	return g
}

func (p *printer) add(g group, r v1alpha1.ReportResult) { p.groups[g] = append(p.groups[g], r) }

func (p *printer) result(policy, rule string, result v1alpha1.Result, message string) v1alpha1.ReportResult {
	return v1alpha1.ReportResult{Source: Source, Category: category, Policy: policy, Rule: rule, Result: result,
		Timestamp: p.taken, Description: short(message)}
}

// objectOn is an object of a bundle on a cluster.
type objectOn struct {
	cluster, bundle string
	object.Ref
}

var (
	resultOf   = map[report.Severity]v1alpha1.Result{report.Error: "fail", report.Warning: "warn", report.Info: "skip"}
	severityOf = map[report.Severity]v1alpha1.ResultSeverity{report.Error: "high", report.Warning: "medium",
		report.Info: "info"}
)

// Result returns the result of a finding that was made at a time.
func Result(f *report.Finding, at metav1.Timestamp) v1alpha1.ReportResult {
	return v1alpha1.ReportResult{Source: Source, Category: category, Policy: f.Code, Rule: f.Title,
		Result: resultOf[f.Severity], Severity: severityOf[f.Severity], Scored: f.Severity != report.Info,
		Timestamp: at, Description: short(f.Message), Subjects: subjects(f.Object), Properties: properties(f)}
}

// addFindings adds a result for each finding on each of its clusters. One that follows from another finding is skip. It
// returns the objects with a finding.
func (p *printer) addFindings() map[objectOn]bool {
	found, causes := map[objectOn]bool{}, digest.NewCauses(p.Audit)
	for _, joined := range p.Findings {
		for _, f := range joined.OnEach() {
			r := Result(&f, p.taken)
			if cause := causes.Of(&f); cause != nil {
				r.Properties["causedBy"] = cause.ID
			}
			if causes.Covers(&f) {
				r.Result, r.Scored = "skip", false
			}
			if f.Severity != report.Info {
				found[objectOn{f.Cluster, f.Bundle, f.Object}] = true
			}
			p.add(p.groupOf(f.Cluster, f.Object), r)
		}
	}
	return found
}

// addLeftOut adds a result for each ignored finding, and for the number of the others that the report does not list.
func (p *printer) addLeftOut() {
	for i := range p.Ignored {
		x := &p.Ignored[i]
		r := p.result(x.Code, report.ByIgnoreFile, "skip", "ignored: "+x.Why())
		r.Severity, r.Subjects, r.Properties = severityOf[x.Severity], subjects(x.Object), map[string]string{"id": x.ID}
		p.add(p.groupOf(x.Cluster, x.Object), r)
	}
	for _, l := range p.LeftOut() {
		if l.Count > 0 && l.By != report.ByIgnoreFile {
			p.add(group{}, p.result(leftOut, l.By, "skip", l.Text))
		}
	}
}

// deployment adds the results of the objects without a failing finding: a result is pass only if the object is Ready.
func (p *printer) deployment(bd *report.BundleDeployment, failed map[objectOn]bool) {
	ref := object.Ref{APIVersion: fleetGroup + "/v1alpha1", Kind: "BundleDeployment", Namespace: bd.Namespace,
		Name: bd.Name}
	if bd.Reason != "" {
		r := p.result(state, bd.Reason, "error", "the bundle deployment has no result")
		if p.excluded(bd) {
			r.Result, r.Description = "skip", "the cluster of the bundle deployment was not read"
		}
		r.Subjects = subjects(ref)
		p.add(p.groupOf(bd.Cluster, ref), r)
	}
	for _, o := range bd.Resources {
		if failed[objectOn{bd.Cluster, bd.Bundle, o.Ref}] && o.State != report.Unknown {
			continue
		}
		message := "the object is " + string(o.State)
		if o.Message != "" {
			message += ": " + o.Message
		}
		r := p.result(state, cmp.Or(o.Reason, string(o.State)), "skip", message)
		switch o.State {
		case report.Ready:
			r.Result, r.Scored = "pass", true
		case report.Unknown:
			r.Result = "error"
		}
		r.Subjects, r.Properties = subjects(o.Ref), map[string]string{"bundle": bd.Bundle}
		p.add(p.groupOf(bd.Cluster, o.Ref), r)
	}
}

func subjects(r object.Ref) []corev1.ObjectReference {
	if r.Kind == "" {
		return nil
	}
	return []corev1.ObjectReference{{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}}
}

// properties are the details of a finding.
func properties(f *report.Finding) map[string]string {
	out := digest.Properties(f)
	out["id"], out["evidence"] = f.ID, strings.Join(f.Evidence, "\n")
	for i, step := range f.NextSteps() {
		suffix := ""
		if i > 0 {
			suffix = strconv.Itoa(i + 1)
		}
		out["remedy"+suffix], out["command"+suffix] = step.Text, step.Command
	}
	for name, value := range out {
		out[name] = short(value)
	}
	maps.DeleteFunc(out, func(name, value string) bool { return value == "" && name != "id" })
	return out
}

const (
	// maxText is the length at which a text is cut, in bytes.
	maxText = 8 << 10
	// maxResults and maxBytes limit one object: etcd refuses objects above 1.5 MiB, and kubectl apply keeps a copy in
	// an annotation of up to 256 KiB.
	maxResults = 1000
	maxBytes   = 200 << 10
)

// short cuts a text that is too long for the message of a result.
func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
