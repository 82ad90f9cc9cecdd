// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	// component is the label of the reports of the auditor. Reports of others do not have it.
	component = "fleetdoctor.io/component"
	auditor   = "auditor"
	// leftOut is the rule of the result that counts findings without a result, outdated of the one that says that no
	// finding is known.
	leftOut  = "LeftOut"
	outdated = "Outdated"
)

// key identifies a Report; the namespace of a ClusterReport is empty.
type key struct{ namespace, name string }

// content is what a report should have.
type content struct {
	labels  map[string]string
	results []v1alpha1.ReportResult
}

// contents returns the reports of a view. seen are the times when findings were seen first, absent the namespaces that
// do not exist: their findings are in the ClusterReport.
func contents(v *view.View, seen map[string]metav1.Timestamp, absent map[string]bool) map[key]content {
	groups := map[string][]v1alpha1.ReportResult{}
	without := 0
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Message == "" {
			without++
			continue
		}
		namespace := f.Object.Value().Namespace
		if absent[namespace] {
			namespace = ""
		}
		groups[namespace] = append(groups[namespace], result(findingOf(f), seen[f.ID]))
	}
	if without > 0 {
		groups[""] = append(groups[""], skipped(leftOut, fmt.Sprintf("%d more findings have no result", without)))
	}
	if since := v.OutdatedSince; !since.IsZero() {
		groups[""] = append(groups[""], skipped(outdated, "the auditor could not follow the changes of the cluster "+
			"since "+since.UTC().Format(time.RFC3339)+": no state and no finding is known"))
	}
	out := map[key]content{}
	for namespace, results := range groups {
		for part, some := range split(results) {
			name := strings.TrimSuffix("fleetdoctor-auditor-"+strconv.Itoa(part+1), "-1")
			out[key{namespace, name}] = content{map[string]string{managedBy: source, component: auditor}, some}
		}
	}
	return out
}

// skipped returns a result that is not about an object.
func skipped(rule, description string) v1alpha1.ReportResult {
	return v1alpha1.ReportResult{Source: source, Policy: rule, Rule: rule, Result: "skip", Description: description}
}

// findingOf returns a finding with the details that a result has.
func findingOf(f *view.Finding) *report.Finding {
	return &report.Finding{ID: f.ID, Code: f.Code, Severity: f.Severity, Title: f.Title, Object: f.Object.Value(),
		Cluster: f.Cluster, BundleDeployment: f.BundleDeployment, Bundle: f.Bundle, GitRepo: f.GitRepo,
		HelmOp: f.HelmOp, Message: f.Message, Remediation: f.Remediation}
}

// object returns the Report or ClusterReport with a content.
func (c content) object(k key) any {
	meta := metav1.ObjectMeta{Namespace: k.namespace, Name: k.name, Labels: c.labels}
	kind := metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterReport"}
	if k.namespace == "" {
		return &v1alpha1.ClusterReport{TypeMeta: kind, ObjectMeta: meta, Source: source,
			Summary: summary(c.results), Results: c.results}
	}
	kind.Kind = "Report"
	return &v1alpha1.Report{TypeMeta: kind, ObjectMeta: meta, Source: source,
		Summary: summary(c.results), Results: c.results,
		Scope: &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: k.namespace}}
}
