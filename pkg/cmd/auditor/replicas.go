// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

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

// Name is the name of the release, of the Deployment, of the Lease and of most objects.
const Name = "fleetdoctor-auditor"

// Chart is the chart of the auditor.
var Chart = install.Chart{
	Dir: "auditor", Name: Name,
	Kinds: []schema.GroupVersionKind{
		// The rules first: they would report that the rest is gone.
		{Group: "monitoring.coreos.com", Version: "v1", Kind: "PrometheusRule"},
		install.PodMonitorKind,
		install.DeploymentKind,
		policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
		networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
		corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		install.RoleBindingKind, rbacv1.SchemeGroupVersion.WithKind("Role"),
		install.ClusterRoleBindingKind, install.ClusterRoleKind,
		corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	},
	Names: []string{Name, Name + "-dashboards"},
}

// Values are the values of the chart. A zero value keeps the value of the chart.
type Values struct {
	install.Common `json:",inline"`
	ClusterName    string `json:"clusterName,omitempty"`
	Events         *bool  `json:"events,omitempty"`
	OpenReports    bool   `json:"openReports,omitempty"`
	Journal        *bool  `json:"journal,omitempty"`
	// ReadRules are the kinds that bundles deploy; none means all.
	ReadRules []ReadRule `json:"readRules,omitempty"`
	// Prometheus is none or operator.
	Prometheus       string            `json:"prometheus,omitempty"`
	PrometheusLabels map[string]string `json:"prometheusLabels,omitempty"`
	// Dashboards is none or configmap.
	Dashboards string `json:"dashboards,omitempty"`
	Keep       bool   `json:"keep,omitempty"`
}

// ReadRule names resources, as a rule of a role without its verbs.
type ReadRule struct {
	APIGroups []string `json:"apiGroups"`
	Resources []string `json:"resources"`
}

// ParseReadRules returns the resources of a ClusterRole in YAML, such as the one that `audit --print-rbac` prints.
func ParseReadRules(role []byte) ([]ReadRule, error) {
	var parsed rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(role, &parsed); err != nil {
		return nil, fmt.Errorf("decoding a ClusterRole: %w", err)
	}
	if parsed.Kind != "ClusterRole" {
		return nil, fmt.Errorf("it has the kind %q, not ClusterRole", parsed.Kind)
	}
	var out []ReadRule
	for _, r := range parsed.Rules {
		if len(r.NonResourceURLs) > 0 || len(r.ResourceNames) > 0 {
			return nil, errors.New("a rule with nonResourceURLs or resourceNames is not supported: objects of a kind " +
				"are listed and watched together")
		}
		out = append(out, ReadRule{APIGroups: r.APIGroups, Resources: r.Resources})
	}
	if out == nil {
		return nil, errors.New("it has no rules")
	}
	return out, nil
}

// StatusKind is the kind of the printed document.
const StatusKind = "AuditorStatus"

// Status is the document that `auditor status` prints. Its checks are installed, release, deployment, replica (one for
// each running pod) and leader.
type Status struct {
	install.Status `json:",inline"`
	// Leader is the pod that leads, absent if none or several say so.
	Leader string `json:"leader,omitempty"`
	// Replicas are the running pods, ordered by name.
	Replicas []Replica `json:"replicas"`
}

// Evaluate makes the status of an installation. It is pure. Data that could not be read are Unknown. Each problem has a
// remedy in its details.
func Evaluate(f *Facts) *Status {
	s := &Status{Status: install.NewStatus(&f.Facts, Chart, StatusKind, "the auditor"), Replicas: []Replica{}}
	if !s.Installed {
		return s
	}
	s.Replicas = append(s.Replicas, f.Replicas...)
	slices.SortFunc(s.Replicas, func(a, b Replica) int { return strings.Compare(a.Pod, b.Pod) })
	switch {
	case f.ReplicasReason != "":
		s.Add("replica", install.Unknown, "the pods could not be read: "+f.ReplicasReason)
	case len(s.Replicas) == 0:
		s.Add("replica", install.Unknown, "no pod is running, so there are no metrics")
	}
	for _, r := range s.Replicas {
		s.checkReplica(r, f.TakenAt)
	}
	s.checkLeader()
	return s
}

// checkReplica checks what the metrics of a replica say.
func (s *Status) checkReplica(r Replica, now time.Time) {
	evaluated, err := time.Parse(time.RFC3339, r.LastEvaluation)
	isIncomplete := r.Synced == nil || r.Gaps == nil
	text := r.Pod + ": " + r.Version
	switch {
	case r.Reason != "":
		s.Add("replica", install.Unknown, r.Pod+": its metrics could not be read: "+r.Reason, "It requires get on "+
			"pods/proxy, and a NetworkPolicy that lets the API server reach port 8080.")
	case !ptr.Deref(r.Synced, true):
		s.Add("replica", install.Wrong, text+", not synced: until then, it reports nothing",
			"To see why: kubectl logs -n "+s.Namespace+" "+r.Pod)
	case isIncomplete:
		s.Add("replica", install.Unknown, text+", the metrics do not say whether it has read everything")
	case *r.Gaps > 0:
		s.Add("replica", install.Unknown, text+", "+install.Count(*r.Gaps, "gap")+": parts of the result are unknown",
			"`audit` with the rights of the auditor lists them. The rights of the chart, which are those in readRules "+
				"if that is set, are granted by "+s.Remedy("auditor install")+".")
	case err != nil:
		s.Add("replica", install.Unknown, text+", synced, has not reported an evaluation")
	default:
		s.Add("replica", install.OK, text+", synced, has read everything, evaluated "+
			duration.HumanDuration(now.Sub(evaluated))+" ago")
	}
}

// checkLeader checks that exactly one replica says that it leads.
func (s *Status) checkLeader() {
	var leaders []string
	isPartial := len(s.Replicas) == 0
	for _, r := range s.Replicas {
		isPartial = isPartial || r.Leader == nil
		if ptr.Deref(r.Leader, false) {
			leaders = append(leaders, r.Pod)
		}
	}
	logs := "The log has the reason: kubectl logs -n " + s.Namespace + " -l " + Chart.Selector()
	switch {
	case len(leaders) > 1:
		s.Add("leader", install.Wrong, "several replicas lead: "+strings.Join(leaders, ", "), logs)
	case len(leaders) == 1:
		s.Leader = leaders[0]
		s.Add("leader", install.OK, s.Leader+" leads")
	case isPartial:
		s.Add("leader", install.Unknown, "the metrics do not say which replica leads")
	default:
		s.Add("leader", install.Wrong, "no replica leads: no Events, reports and journal are written", logs)
	}
}
