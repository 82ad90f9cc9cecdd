// SPDX-License-Identifier: Apache-2.0

package openreports

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Split divides results into parts that fit into one object, each with at most a number of results.
func Split(results []v1alpha1.ReportResult, most int) [][]v1alpha1.ReportResult {
	var out [][]v1alpha1.ReportResult
	begin, size := 0, 0
	for i := range results {
		n := maxBytes
		if raw, err := json.Marshal(results[i]); err == nil {
			n = len(raw)
		}
		if i > begin && (size+n > maxBytes || i-begin == most) {
			out = append(out, results[begin:i])
			begin, size = i, 0
		}
		size += n
	}
	return append(out, results[begin:])
}

// document returns the object with a part of the results of a group.
func (p *printer) document(g group, part int, results []v1alpha1.ReportResult) any {
	meta := metav1.ObjectMeta{Name: name(g.cluster, part), Namespace: g.namespace,
		Labels: map[string]string{ManagedBy: Source}}
	meta.Annotations = map[string]string{takenAt: p.TakenAt}
	if p.IgnoreFile != "" {
		meta.Annotations[ignoreFile] = p.IgnoreFile
	}
	if g.cluster != "" {
		meta.Labels[clusterLabel], meta.Annotations[clusterLabel] = id(g.cluster), g.cluster
	}
	kind := metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterReport"}
	if g.namespace == "" {
		return &v1alpha1.ClusterReport{TypeMeta: kind, ObjectMeta: meta, Source: Source, Summary: Summary(results),
			Results: results}
	}
	kind.Kind = "Report"
	return &v1alpha1.Report{TypeMeta: kind, ObjectMeta: meta, Source: Source, Summary: Summary(results),
		Results: results,
		Scope:   &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: g.namespace}}
}

// Summary counts results.
func Summary(results []v1alpha1.ReportResult) v1alpha1.ReportSummary {
	var out v1alpha1.ReportSummary
	counts := map[v1alpha1.Result]*int{"pass": &out.Pass, "fail": &out.Fail, "warn": &out.Warn, "error": &out.Error,
		"skip": &out.Skip}
	for _, r := range results {
		*counts[r.Result]++
	}
	return out
}

func name(cluster string, part int) string {
	out := Source
	if cluster != "" {
		out += "-" + id(cluster)
	}
	if part > 0 {
		out += "-" + strconv.Itoa(part+1)
	}
	return out
}

// notInName matches what cannot be in the name of an object.
var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// id returns a short text for a cluster that is valid in names and labels, and differs between clusters.
func id(cluster string) string {
	sum := sha256.Sum256([]byte(cluster))
	_, short, _ := strings.Cut(cluster, "/")
	short = notInName.ReplaceAllString(strings.ToLower(short), "-")
	return strings.TrimLeft(short[:min(len(short), 40)]+"-"+hex.EncodeToString(sum[:4]), "-")
}
