// SPDX-License-Identifier: Apache-2.0

// Package manifests tests the charts in manifests/: as text, as rendered objects, and against a real API server, which
// evaluates its rules, selectors and conditions.
package manifests

import (
	"maps"
	"os"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// systemNamespace is the namespace of the webhook.
const systemNamespace = "fleetdoctor-system"

// shared also serves the kinds of cert-manager and of the Prometheus operator with only the fields that are used here:
// the server refuses any other field.
var shared *cluster.Cluster

func TestMain(m *testing.M) {
	os.Exit(cluster.Run(m, &shared, cluster.WithCRDs("testdata/cert-manager.yaml",
		"testdata/prometheus-operator.yaml")))
}

// variants are values of the chart, by a name for the tests. Each changes something that a test looks at.
var variants = map[string]installation.Values{
	"default":      {},
	"exact":        {Exact: true},
	"cert-manager": {Certificates: installation.CertManager},
	"scoped":       {ReleaseNamespaces: []string{"guestbook", "shop"}},
	"addresses": {Common: install.Common{
		APIServers: []string{"192.0.2.10", "192.0.2.11/32", "10.96.0.1", "2001:db8::1"}}},
	"all": {Exact: true, Certificates: installation.CertManager, GuardDefault: admission.GuardDeny,
		Record:            admission.RecordDeletions,
		ReleaseNamespaces: []string{"guestbook", "shop"},
		Common:            install.Common{APIServers: []string{"192.0.2.10"}}},
}

// variantNames are the names of the variants, in alphabetical order.
func variantNames() []string { return slices.Sorted(maps.Keys(variants)) }

// rendered renders the Namespace and the chart with the values of a variant, as the program does.
func rendered(t *testing.T, variant string) []*unstructured.Unstructured {
	t.Helper()
	values, ok := variants[variant]
	if !ok {
		t.Fatalf("no variant %s", variant)
	}
	objs, err := installation.Chart.Render(systemNamespace, &values)
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

// pick returns the only object of a kind with this name, as its API type.
func pick[T any](t *testing.T, objs []*unstructured.Unstructured, kind, name string) *T {
	t.Helper()
	var found *T
	for _, obj := range objs {
		if obj.GetKind() != kind || obj.GetName() != name {
			continue
		}
		if found != nil {
			t.Fatalf("two objects %s %s", kind, name)
		}
		found = new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, found,
			true); err != nil {
			t.Fatalf("decoding %s %s: %v", kind, name, err)
		}
	}
	if found == nil {
		t.Fatalf("no %s %s", kind, name)
	}
	return found
}
