// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// Replica is what the metrics of one pod say.
type Replica struct {
	Pod string `json:"pod"`
	// Reason is why its metrics could not be read. All other fields are absent then.
	Reason string `json:"reason,omitempty"`
	// Version is the version of the program.
	Version string `json:"version,omitempty"`
	// Leader reports whether it writes.
	Leader *bool `json:"leader,omitempty"`
	// Synced reports whether it has read everything once.
	Synced *bool `json:"synced,omitempty"`
	// LastEvaluation is the time of its last evaluation (RFC 3339).
	LastEvaluation string `json:"lastEvaluation,omitempty"`
	// Gaps is the number of parts of the cluster that it could not read.
	Gaps *int `json:"gaps,omitempty"`
}

// Facts are the data of an installation of the auditor that were read.
type Facts struct {
	install.Facts
	Replicas       []Replica
	ReplicasReason string
}

// Read completes the facts of an installation with the metrics of the running pods.
func Read(ctx context.Context, c *install.Cluster, known install.Facts) *Facts {
	f := &Facts{Facts: known}
	byLabel := metav1.ListOptions{LabelSelector: Chart.Selector()}
	for pod, err := range c.List(ctx, corev1.SchemeGroupVersion.WithKind("Pod"), f.Namespace, byLabel) {
		f.ReplicasReason = install.ReasonOf(err)
		if install.Decode[corev1.Pod](pod).Status.Phase == corev1.PodRunning {
			f.Replicas = append(f.Replicas, readReplica(ctx, c, pod))
		}
	}
	return f
}

// metricsTimeout is the time limit for the metrics of one pod, which may not answer.
const metricsTimeout = 5 * time.Second

// readReplica reads the metrics of a pod through the API server.
func readReplica(ctx context.Context, c *install.Cluster, pod *unstructured.Unstructured) Replica {
	ctx, cancel := context.WithTimeout(ctx, metricsTimeout)
	defer cancel()
	r := Replica{Pod: pod.GetName()}
	body, err := c.Open(ctx, fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:8080/proxy/metrics", pod.GetNamespace(),
		pod.GetName()))
	if err == nil {
		defer func() { _ = body.Close() }() // it was only read
		err = r.parse(body)
	}
	if err != nil {
		return Replica{Pod: r.Pod, Reason: install.ReasonOf(err)}
	}
	return r
}

const (
	metricPrefix = "fleetdoctor_auditor_"
	// maxLine is the limit of a line of metrics, in bytes.
	maxLine = 1 << 20
)

// parse reads the metrics of the auditor itself. It skips those of objects, which may be megabytes, unparsed.
func (r *Replica) parse(from io.Reader) error {
	var kept bytes.Buffer
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), metricPrefix) {
			kept.WriteString(lines.Text() + "\n")
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading metrics: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&kept)
	if err != nil {
		return fmt.Errorf("reading metrics: %w", err)
	}
	samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, slices.Collect(maps.Values(families))...)
	if err != nil {
		return fmt.Errorf("reading metrics: %w", err)
	}
	for _, s := range samples {
		switch strings.TrimPrefix(string(s.Metric[model.MetricNameLabel]), metricPrefix) {
		case "leader":
			r.Leader = ptr.To(s.Value == 1)
		case "synced":
			r.Synced = ptr.To(s.Value == 1)
		case "gaps":
			r.Gaps = ptr.To(ptr.Deref(r.Gaps, 0) + int(s.Value))
		case "last_evaluation_timestamp_seconds":
			if s.Value > 0 {
				r.LastEvaluation = time.Unix(int64(s.Value), 0).UTC().Format(time.RFC3339)
			}
		case "build_info":
			r.Version = string(s.Metric["version"])
		}
	}
	return nil
}
