// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/prometheus/common/model"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Facts are the data of an installation of the auditor that were read.
type Facts struct {
	install.Facts
	Lease          install.Reading
	Replicas       []Replica
	ReplicasReason string
	// Asked is the number of rights that the API server was asked for, and Lacking those that the account does not
	// have.
	Asked        int
	Lacking      []string
	RightsReason string
}

// Read completes the facts of an installation. The error is one of the context.
func Read(ctx context.Context, c *install.Cluster, known install.Facts) (*Facts, error) {
	f := &Facts{Facts: known}
	c.Read(ctx, &f.Facts, install.RefTo(install.DeploymentKind, f.Namespace, Name), clusterRole, roleIn(f.Namespace))
	lease, err := c.Get(ctx, leaseRef(f.Namespace))
	f.Lease = install.Reading{Object: lease, Reason: install.ReasonOf(err)}
	f.readReplicas(ctx, c)
	f.readRights(ctx, c)
	return f, ctx.Err()
}

// The roles of the auditor.
var clusterRole = install.RefTo(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), "", Name)

func roleIn(namespace string) object.Ref {
	return install.RefTo(rbacv1.SchemeGroupVersion.WithKind("Role"), namespace, Name)
}

// roles returns the roles of the manifest, or without one those that exist: the auditor may outlive its release.
func (f *Facts) roles() []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range f.Manifest.Objects {
		if o.GetKind() == "ClusterRole" || o.GetKind() == "Role" {
			out = append(out, o)
		}
	}
	if out != nil {
		return out
	}
	for _, ref := range []object.Ref{clusterRole, roleIn(f.Namespace)} {
		if live := f.Objects[ref.Key()].Object; live != nil {
			out = append(out, live)
		}
	}
	return out
}

func leaseRef(namespace string) object.Ref {
	return install.RefTo(coordinationv1.SchemeGroupVersion.WithKind("Lease"), namespace, Name)
}

// readReplicas reads the metrics of the running pods.
func (f *Facts) readReplicas(ctx context.Context, c *install.Cluster) {
	byLabel := metav1.ListOptions{LabelSelector: Chart.Selector()}
	for pod, err := range c.List(ctx, corev1.SchemeGroupVersion.WithKind("Pod"), f.Namespace, byLabel) {
		if err != nil {
			f.ReplicasReason = install.ReasonOf(err)
			return
		}
		if install.Decode[corev1.Pod](pod).Status.Phase == corev1.PodRunning {
			f.Replicas = append(f.Replicas, readReplica(ctx, c, pod))
		}
	}
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

// The metrics of the auditor by which its status is known.
const (
	metricPrefix     = "fleetdoctor_auditor_"
	metricLeader     = metricPrefix + "leader"
	metricSynced     = metricPrefix + "synced"
	metricEvaluation = metricPrefix + "last_evaluation_timestamp_seconds"
	metricGaps       = metricPrefix + "gaps"
	metricVersion    = metricPrefix + "build_info"
)

// parse reads the metrics of the auditor.
func (r *Replica) parse(from io.Reader) error {
	samples, err := install.ReadMetrics(from, metricPrefix)
	if err != nil {
		return err
	}
	for _, s := range samples {
		switch s.Metric[model.MetricNameLabel] {
		case metricLeader:
			r.Leader = ptr.To(s.Value == 1)
		case metricSynced:
			r.Synced = ptr.To(s.Value == 1)
		case metricGaps:
			r.Gaps = ptr.To(ptr.Deref(r.Gaps, 0) + int(s.Value))
		case metricEvaluation:
			if s.Value > 0 {
				r.LastEvaluation = time.Unix(int64(s.Value), 0).UTC().Format(time.RFC3339)
			}
		case metricVersion:
			r.Version = string(s.Metric["version"])
		}
	}
	return nil
}

// readRights asks the API server for each right that the roles grant.
func (f *Facts) readRights(ctx context.Context, c *install.Cluster) {
	for _, o := range f.roles() {
		for _, asked := range rightsOf(install.Decode[rbacv1.Role](o)) {
			allowed, err := f.may(ctx, c, asked)
			if err != nil {
				f.RightsReason = install.ReasonOf(err)
				return
			}
			f.Asked++
			if !allowed {
				f.Lacking = append(f.Lacking, rightText(asked))
			}
		}
	}
}

// rightsOf returns the rights of a role: in its namespace, or for a ClusterRole in all of them.
func rightsOf(role rbacv1.Role) []authorizationv1.ResourceAttributes {
	var out []authorizationv1.ResourceAttributes
	for _, rule := range role.Rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						out = append(out, authorizationv1.ResourceAttributes{Namespace: role.Namespace, Verb: verb,
							Group: group, Resource: resource, Name: name})
					}
				}
			}
		}
	}
	return out
}

// rightText names a right as an error of the API server does.
func rightText(r authorizationv1.ResourceAttributes) string {
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Name != "" {
		text += "/" + r.Name
	}
	if r.Namespace != "" {
		text += " in namespace " + r.Namespace
	}
	return text
}

// may asks the API server whether the account of the auditor has a right. Nothing is stored.
func (f *Facts) may(ctx context.Context, c *install.Cluster, asked authorizationv1.ResourceAttributes) (bool, error) {
	kind := authorizationv1.SchemeGroupVersion.WithKind("SubjectAccessReview")
	review := authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind},
		Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: &asked,
			User: "system:serviceaccount:" + f.Namespace + ":" + Name,
			Groups: []string{"system:authenticated", "system:serviceaccounts",
				"system:serviceaccounts:" + f.Namespace}},
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&review)
	if err != nil {
		return false, fmt.Errorf("encoding a review: %w", err)
	}
	r, err := c.Resource(kind, "")
	if err != nil {
		return false, err
	}
	answer, err := r.Create(ctx, &unstructured.Unstructured{Object: fields}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("asking for a right: %w", err)
	}
	return install.Decode[authorizationv1.SubjectAccessReview](answer).Status.Allowed, nil
}
