// SPDX-License-Identifier: Apache-2.0

// Package installation has what is special in the installation of the auditor: the values of its chart, and its status.
// It prints nothing.
package installation

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// Name is the name of the release, of the Deployment, of the Lease and of most objects.
const Name = "fleetdoctor-auditor"

// Chart is the chart of the auditor.
var Chart = install.Chart{
	Dir: "auditor", Name: Name,
	Kinds: []schema.GroupVersionKind{
		// The rules first: they would report that the rest is gone.
		{Group: "monitoring.coreos.com", Version: "v1", Kind: "PrometheusRule"},
		{Group: "monitoring.coreos.com", Version: "v1", Kind: "PodMonitor"},
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
