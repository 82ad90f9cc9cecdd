// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/auditor"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// auditorVariants are values of the chart of the auditor, by a name for the tests.
var auditorVariants = map[string]auditor.Values{
	"default": {},
	"silent":  {Events: ptr.To(false), Journal: ptr.To(false)},
	"kinds": {ReadRules: []auditor.ReadRule{{APIGroups: []string{"apps"},
		Resources: []string{"deployments", "daemonsets"}}}},
	"all": {Common: install.Common{Image: install.ParseImage("example.com/auditor:1"), Replicas: 3,
		APIServers: []string{"192.0.2.10", "2001:db8::/32"}}, ClusterName: "fleet-default/edge-1", OpenReports: true,
		Prometheus: "operator", PrometheusLabels: map[string]string{"release": "monitoring"},
		Dashboards: "configmap", Keep: true},
}

func auditorVariantNames() []string { return slices.Sorted(maps.Keys(auditorVariants)) }

// auditorObjects renders the Namespace and the chart of the auditor with the values of a variant.
func auditorObjects(t *testing.T, variant string) []*unstructured.Unstructured {
	t.Helper()
	values, ok := auditorVariants[variant]
	if !ok {
		t.Fatalf("no variant %s", variant)
	}
	objs, err := auditor.Chart.Render(systemNamespace, &values)
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

// TestAuditorObjects checks which objects the auditor has, and that uninstall finds all of them by their label, kind
// and name.
func TestAuditorObjects(t *testing.T) {
	always := []string{"ClusterRole fleetdoctor-auditor", "ClusterRoleBinding fleetdoctor-auditor",
		"Deployment fleetdoctor-system/fleetdoctor-auditor", "Namespace fleetdoctor-system",
		"NetworkPolicy fleetdoctor-system/fleetdoctor-auditor",
		"PodDisruptionBudget fleetdoctor-system/fleetdoctor-auditor", "Role fleetdoctor-system/fleetdoctor-auditor",
		"RoleBinding fleetdoctor-system/fleetdoctor-auditor", "ServiceAccount fleetdoctor-system/fleetdoctor-auditor"}
	all := slices.Sorted(slices.Values(append(slices.Clone(always),
		"ConfigMap fleetdoctor-system/fleetdoctor-auditor-dashboards",
		"PodMonitor fleetdoctor-system/fleetdoctor-auditor", "PrometheusRule fleetdoctor-system/fleetdoctor-auditor")))
	for _, variant := range auditorVariantNames() {
		want := always
		if variant == "all" {
			want = all
		}
		objs := auditorObjects(t, variant)
		if diff := cmp.Diff(want, names(objs)); diff != "" {
			t.Errorf("variant %s (-want +got):\n%s", variant, diff)
		}
		for _, obj := range objs {
			if obj.GetKind() == "Namespace" {
				continue
			}
			found := slices.Contains(auditor.Chart.Kinds, obj.GroupVersionKind()) &&
				slices.Contains(auditor.Chart.Names, obj.GetName())
			if !found || obj.GetLabels()[install.NameLabel] != auditor.Name {
				t.Errorf("variant %s: uninstall does not find %s %s", variant, obj.GetKind(), obj.GetName())
			}
		}
	}
}

// TestAuditorKeep checks that all objects outlive an uninstall with the value keep, and none without it.
func TestAuditorKeep(t *testing.T) {
	for _, variant := range auditorVariantNames() {
		for _, obj := range auditorObjects(t, variant) {
			want := ""
			if auditorVariants[variant].Keep && obj.GetKind() != "Namespace" {
				want = "keep"
			}
			if got := obj.GetAnnotations()["helm.sh/resource-policy"]; got != want {
				t.Errorf("variant %s: the policy of %s %s is %q, want %q", variant, obj.GetKind(), obj.GetName(), got,
					want)
			}
		}
	}
}

// TestAuditorArguments checks the command line of the auditor, and that the program accepts it.
func TestAuditorArguments(t *testing.T) {
	begin := []string{"auditor", "serve"}
	for variant, want := range map[string][]string{
		"default": {"--events=true", "--open-reports=false", "--journal=true"},
		"silent":  {"--events=false", "--open-reports=false", "--journal=false"},
		"all": {"--events=true", "--open-reports=true", "--journal=true",
			"--cluster-name=fleet-default/edge-1"},
	} {
		pod := pick[appsv1.Deployment](t, auditorObjects(t, variant), "Deployment", auditor.Name).Spec.Template.Spec
		c := pod.Containers[0]
		if diff := cmp.Diff(append(slices.Clone(begin), want...), c.Args); diff != "" {
			t.Errorf("variant %s (-want +got):\n%s", variant, diff)
		}
		env := cli.Environment{Streams: genericiooptions.NewTestIOStreamsDiscard()}
		serve, flags, err := cmd.New("kubectl-fleetdoctor", env).Find(c.Args)
		if err == nil {
			err = serve.ParseFlags(flags)
		}
		if err != nil {
			t.Errorf("variant %s: the program does not accept the arguments: %v", variant, err)
		}
		if c.Resources.Limits.Memory().Cmp(resource.MustParse("300Mi")) != 0 || c.Env[0].Value != fmt.Sprint(270<<20) {
			t.Errorf("memory limit %s, GOMEMLIMIT %s", c.Resources.Limits.Memory(), c.Env[0].Value)
		}
	}
}

// TestAuditorServerAccepts checks that a server accepts every object of every variant without unknown fields, and that
// the pods meet the restricted standard, which the namespace enforces.
func TestAuditorServerAccepts(t *testing.T) {
	createNamespaces(t)
	for _, variant := range auditorVariantNames() {
		objs := auditorObjects(t, variant)
		for _, obj := range objs {
			if err := shared.Client().Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj.DeepCopy()),
				client.FieldOwner("test"), client.DryRunAll); err != nil {
				t.Errorf("variant %s: %s %s: %v", variant, obj.GetKind(), obj.GetName(), err)
			}
		}
		template := pick[appsv1.Deployment](t, objs, "Deployment", auditor.Name).Spec.Template
		if !*template.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem {
			t.Errorf("variant %s: the root file system is writable", variant)
		}
		template.Spec.ServiceAccountName = "" // it does not exist
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "auditor",
			Labels: template.Labels}, Spec: template.Spec}
		if err := shared.Client().Create(t.Context(), pod, client.DryRunAll); err != nil {
			t.Errorf("variant %s: the pod is refused: %v", variant, err)
		}
		pod.Spec.SecurityContext.RunAsNonRoot = nil
		if err := shared.Client().Create(t.Context(), pod, client.DryRunAll); !apierrors.IsForbidden(err) {
			t.Errorf("variant %s: a pod as root is not refused: %v", variant, err)
		}
	}
}

// TestAuditorNetworkPolicy checks that metrics can be read from everywhere, and what the auditor reaches.
func TestAuditorNetworkPolicy(t *testing.T) {
	for variant, want := range map[string][]string{"default": nil, "all": {"192.0.2.10/32", "2001:db8::/32"}} {
		spec := pick[networkingv1.NetworkPolicy](t, auditorObjects(t, variant), "NetworkPolicy", auditor.Name).Spec
		if len(spec.Ingress) != 1 || len(spec.Ingress[0].From) > 0 || len(spec.Egress) != 1 {
			t.Fatalf("variant %s: %+v", variant, spec)
		}
		if diff := cmp.Diff([]string{"TCP metrics"}, portsOf(spec.Ingress[0].Ports)); diff != "" {
			t.Errorf("variant %s: ports (-want +got):\n%s", variant, diff)
		}
		if diff := cmp.Diff(want, blocks(spec.Egress[0].To)); diff != "" {
			t.Errorf("variant %s: addresses (-want +got):\n%s", variant, diff)
		}
	}
}

// TestAuditorAlerts checks that the rules of the PrometheusRule are those of the file, with their templates.
func TestAuditorAlerts(t *testing.T) {
	for _, obj := range auditorObjects(t, "all") {
		if obj.GetKind() != "PrometheusRule" {
			continue
		}
		if obj.GetLabels()["release"] != "monitoring" {
			t.Errorf("labels %v", obj.GetLabels())
		}
		var want map[string]any
		if err := yaml.Unmarshal(readFile(t, auditorDirectory+"/alerts.yaml"), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, obj.Object["spec"]); diff != "" || len(want) == 0 {
			t.Errorf("rules (-file +object):\n%s", diff)
		}
		return
	}
	t.Error("no PrometheusRule")
}

// The rights of the auditor on kinds that bundles deploy, and in its own namespace.
var (
	auditorReads = []permission{{"list", "secrets", "", ""}, {"watch", "secrets", "", ""},
		{"list", "deployments.apps", "", ""}, {"watch", "bundledeployments.fleet.cattle.io", "", ""},
		{"list", "customresourcedefinitions.apiextensions.k8s.io", "", ""}}
	auditorReadsAll = []permission{{"list", "widgets.example.com", "", ""}, {"watch", "widgets.example.com", "", ""},
		{"watch", "ingresses.networking.k8s.io", "", ""}}
	auditorEvents  = []permission{{"create", "events", "shop", ""}, {"create", "events.events.k8s.io", "shop", ""}}
	auditorJournal = []permission{{"create", "configmaps", systemNamespace, ""},
		{"update", "configmaps", systemNamespace, "journal"}, {"delete", "configmaps", systemNamespace, "journal"}}
	auditorReports = []permission{{"create", "reports.openreports.io", "shop", ""},
		{"delete", "clusterreports.openreports.io", "", "old"}}
	auditorLease = []permission{{"create", "leases.coordination.k8s.io", systemNamespace, ""},
		{"get", "leases.coordination.k8s.io", systemNamespace, auditor.Name},
		{"update", "leases.coordination.k8s.io", systemNamespace, auditor.Name}}
	// auditorNever is granted by no variant.
	auditorNever = []permission{{"update", "deployments.apps", "shop", "web"},
		{"patch", "deployments.apps", "shop", "web"}, {"patch", "configmaps", "kube-system", "any"},
		{"delete", "deployments.apps", "shop", "web"},
		{"create", "deployments.apps", "shop", ""}, {"update", "secrets", "shop", "any"},
		{"delete", "secrets", systemNamespace, "any"}, {"create", "configmaps", "shop", ""},
		{"delete", "configmaps", "shop", "any"}, {"patch", "events", "shop", "any"},
		{"update", "leases.coordination.k8s.io", systemNamespace, "another"},
		{"create", "leases.coordination.k8s.io", "shop", ""}, {"create", "pods/exec", "shop", "web"},
		{"create", "subjectaccessreviews.authorization.k8s.io", "", ""}, {"impersonate", "users", "", ""},
		{"escalate", "clusterroles.rbac.authorization.k8s.io", "", "any"}}
	// auditorGets would permit to run programs in pods and on nodes, or to read single objects without need.
	auditorGets = []permission{{"get", "pods/exec", "shop", "web"}, {"get", "nodes/proxy", "", "any"},
		{"get", "secrets", "shop", "any"}}
)

// TestAuditorPermissions asks the server what the auditor's service account may do, for each variant.
func TestAuditorPermissions(t *testing.T) {
	tests := map[string]struct{ may, not []permission }{
		"default": {slices.Concat(auditorReads, auditorReadsAll, auditorEvents, auditorJournal, auditorLease),
			slices.Concat(auditorNever, auditorGets, auditorReports)},
		"silent": {slices.Concat(auditorReads, auditorReadsAll, auditorLease),
			slices.Concat(auditorNever, auditorGets, auditorEvents, auditorJournal, auditorReports)},
		"kinds": {slices.Concat(auditorReads, auditorEvents, auditorJournal, auditorLease),
			slices.Concat(auditorNever, auditorGets, auditorReadsAll, auditorReports)},
		"all": {slices.Concat(auditorReads, auditorReadsAll, auditorEvents, auditorJournal, auditorLease,
			auditorReports), slices.Concat(auditorNever, auditorGets)},
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(tests)), auditorVariantNames()); diff != "" {
		t.Errorf("variants (-want +got):\n%s", diff)
	}
	for _, variant := range auditorVariantNames() {
		t.Run(variant, func(t *testing.T) {
			checkPermissions(t, auditor.Name, auditorObjects(t, variant), tests[variant].may, tests[variant].not)
		})
	}
}

// TestAuditorRoles checks that the only kinds that the auditor may write outside of its namespace are Events and
// reports, and that each role is bound to the auditor's own account.
func TestAuditorRoles(t *testing.T) {
	for _, variant := range auditorVariantNames() {
		objs := auditorObjects(t, variant)
		role := pick[rbacv1.ClusterRole](t, objs, "ClusterRole", auditor.Name)
		for _, rule := range role.Rules {
			reads := slices.Equal(rule.Verbs, []string{"list", "watch"})
			kinds := strings.Join(rule.Resources, " ")
			if !reads && kinds != "events" && kinds != "reports clusterreports" {
				t.Errorf("variant %s: verbs on %s: %s", variant, kinds, rule.Verbs)
			}
		}
		want := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: auditor.Name, Namespace: systemNamespace}}
		for _, kind := range []string{"ClusterRoleBinding", "RoleBinding"} {
			binding := pick[rbacv1.RoleBinding](t, objs, kind, auditor.Name)
			if diff := cmp.Diff(want, binding.Subjects); diff != "" || binding.RoleRef.Name != auditor.Name {
				t.Errorf("variant %s: %s of %s (-want +got):\n%s", variant, kind, binding.RoleRef.Name, diff)
			}
		}
	}
}
