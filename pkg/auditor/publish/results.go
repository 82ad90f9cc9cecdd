// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	// source is the source of the results, and the value of the label managedBy of the objects.
	source = "fleetdoctor"
	// maxText is the length at which a text is cut, in bytes.
	maxText = 8 << 10
	// maxResults and maxBytes limit one object: etcd refuses objects above 1.5 MiB, and kubectl apply keeps a
	// copy in an annotation of up to 256 KiB.
	maxResults     = 500
	maxReportBytes = 200 << 10
)

var (
	resultOf   = map[report.Severity]v1alpha1.Result{report.Error: "fail", report.Warning: "warn", report.Info: "skip"}
	severityOf = map[report.Severity]v1alpha1.ResultSeverity{report.Error: "high", report.Warning: "medium",
		report.Info: "info"}
)

// result returns the result of a finding that was made at a time.
func result(f *report.Finding, when metav1.Timestamp) v1alpha1.ReportResult {
	return v1alpha1.ReportResult{Source: source, Category: "Fleet", Policy: f.Code, Rule: f.Title,
		Result: resultOf[f.Severity], Severity: severityOf[f.Severity], Scored: f.Severity != report.Info,
		Timestamp: when, Description: short(f.Message), Subjects: subjects(f.Object), Properties: properties(f)}
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

// short cuts a text that is too long for the message of a result.
func short(text string) string { return cut(text, maxText, maxText) }

// split divides results into parts that fit into one object.
func split(results []v1alpha1.ReportResult) [][]v1alpha1.ReportResult {
	var out [][]v1alpha1.ReportResult
	begin, size := 0, 0
	for i := range results {
		n := maxReportBytes
		if raw, err := json.Marshal(results[i]); err == nil {
			n = len(raw)
		}
		if i > begin && (size+n > maxReportBytes || i-begin == maxResults) {
			out = append(out, results[begin:i])
			begin, size = i, 0
		}
		size += n
	}
	return append(out, results[begin:])
}

// summary counts results.
func summary(results []v1alpha1.ReportResult) v1alpha1.ReportSummary {
	var out v1alpha1.ReportSummary
	counts := map[v1alpha1.Result]*int{"pass": &out.Pass, "fail": &out.Fail, "warn": &out.Warn, "error": &out.Error,
		"skip": &out.Skip}
	for _, r := range results {
		*counts[r.Result]++
	}
	return out
}
