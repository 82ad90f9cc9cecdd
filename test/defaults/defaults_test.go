// SPDX-License-Identifier: Apache-2.0

// Package defaults_test compares the project's tables about the API with a real API server: the default values, and the
// kinds without a namespace.
package defaults_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

var shared *cluster.Cluster

// TestMain starts a server with every API and with the kinds behind feature gates of their own. Gates that change
// other objects keep their default.
func TestMain(m *testing.M) {
	os.Exit(cluster.Run(m, &shared, cluster.WithFleetCRDs(),
		cluster.WithAPIServerFlag("runtime-config", "api/all=true"),
		cluster.WithAPIServerFlag("feature-gates", "ClusterTrustBundle=true", "StorageVersionMigrator=true"),
		// The default of test servers disables service accounts, which admission writes into pods.
		cluster.WithAPIServerFlag("disable-admission-plugins", "")))
}

// namespace is the namespace of the manifests.
const namespace = "defaults"

// evidence has the entries of the table that the server has confirmed.
type evidence map[string]bool

// TestDefaults checks every entry of the table of defaults. Each manifest of testdata is created in a dry run and
// must not differ from the result; the same again for each field that the server set, stated as zero, if the API
// treats zero as not stated. The fields that the server set must be those of the table, and every entry of the
// table must occur.
func TestDefaults(t *testing.T) {
	prepare(t)
	confirmed := evidence{}
	for _, manifest := range manifests(t) {
		t.Run(manifest.GetKind()+" "+manifest.GetName(), func(t *testing.T) {
			live, err := dryRun(t.Context(), manifest, "Strict")
			if err != nil {
				t.Fatal(err)
			}
			same(t, manifest, live)
			for _, f := range confirmed.observe(t, manifest, live) {
				stated := f.zeroed(manifest)
				live, err := dryRun(t.Context(), stated, "Strict")
				if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
					continue // zero cannot be stated for this field
				}
				if err != nil {
					t.Fatal(err)
				}
				same(t, stated, live)
				confirmed.observe(t, stated, live)
			}
		})
	}
	chosenLater(t, confirmed)
	for _, f := range slices.Concat(slices.Collect(maps.Keys(compare.Defaults)),
		slices.Collect(maps.Keys(compare.ComputedDefaults)), compare.Allocated.UnsortedList()) {
		if !confirmed[key(f.Struct, f.Name)] {
			t.Errorf("%s: no manifest confirms it", key(f.Struct, f.Name))
		}
	}
}

func key(owner reflect.Type, field string) string {
	return owner.PkgPath() + "." + owner.Name() + " " + field
}

// same checks that the live object does not differ from the stated one.
func same(t *testing.T, stated, live *unstructured.Unstructured) {
	t.Helper()
	for _, d := range compare.Objects(stated.Object, live.Object, stated.GroupVersionKind()) {
		t.Errorf("%s: stated %v, the server stored %v", d.Path, d.Desired, d.Live)
	}
}

// observe compares one object with the table, and returns the fields that the server set and that can also be
// stated as zero.
func (p evidence) observe(t *testing.T, stated, live *unstructured.Unstructured) []filled {
	t.Helper()
	typed, err := scheme.Scheme.New(stated.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	var out []filled
	walkFilled(reflect.TypeOf(typed), nil, stated.Object, live.Object, func(f filled) {
		// The kind of an embedded object is never stated as zero.
		if f.omitted && !isZero(f.value) && f.owner != reflect.TypeFor[metav1.TypeMeta]() {
			out = append(out, f)
		}
		field := compare.Field{Struct: f.owner, Name: f.name}
		want, listed := compare.Defaults[field]
		if compute := compare.ComputedDefaults[field]; compute != nil {
			want, listed = compute(f.siblings), true
		}
		chosen := compare.Allocated.Has(field)
		_, isStated := f.siblings[f.name]
		switch {
		case !listed && !chosen:
			return
		case chosen && (!isStated || isZero(f.value)):
			return // that the server sets the field does not prove that a stated zero value requests it
		case !chosen && want == nil && isZero(f.value):
			return // with these stated fields there is no default
		case !chosen && !reflect.DeepEqual(want, f.value):
			t.Errorf("%s: the server wrote %v, want %v", key(f.owner, f.name), f.value, want)
		}
		p[key(f.owner, f.name)] = true
	})
	return out
}

// prepare creates what manifests need to be admitted.
func prepare(t *testing.T) {
	t.Helper()
	shared.Namespace(t, namespace)
	shared.ApplyYAML(t, "test",
		"{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: "+namespace+"}}")
}

func manifests(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	infos, err := resource.NewLocalBuilder().Unstructured().Path(false, files...).Flatten().Do().Infos()
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for _, info := range infos {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(info.Object)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, &unstructured.Unstructured{Object: content})
	}
	return out
}

// dryRun returns what the server would store. The mode of validation decides whether unknown fields are refused or
// ignored. It retries while admission does not know a new object yet.
func dryRun(ctx context.Context, manifest *unstructured.Unstructured,
	validation client.FieldValidation) (*unstructured.Unstructured, error) {
	object := manifest.DeepCopy()
	if namespaced, err := shared.Client().IsObjectNamespaced(object); err != nil || namespaced {
		object.SetNamespace(namespace)
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, poll.Interval, poll.Deadline, true, func(ctx context.Context) (bool,
		error) {
		last = shared.Client().Create(ctx, object, client.DryRunAll, validation)
		return !apierrors.IsForbidden(last), nil
	})
	if err != nil {
		return nil, fmt.Errorf("creating %s: %w", manifest.GetName(), last)
	}
	return object, last
}

// TestPlaces checks the walk that the tests above use.
func TestPlaces(t *testing.T) {
	typed, err := scheme.Scheme.New(scheme.Scheme.PrioritizedVersionsForGroup("apps")[0].WithKind("Deployment"))
	if err != nil {
		t.Fatal(err)
	}
	stated := parse(t, `spec: {template: {spec: {containers: [{name: c, ports: [{containerPort: 80}]}]}}}`)
	live := parse(t, `
spec:
  replicas: 1
  template: {spec: {dnsPolicy: ClusterFirst, containers: [{name: c, ports: [{containerPort: 80, protocol: TCP}]}]}}
status: {replicas: 1}
`)
	var got []string
	walkFilled(reflect.TypeOf(typed), nil, stated, live, func(f filled) {
		got = append(got, strings.ReplaceAll(fmt.Sprint(f.owner.Name(), ".", f.name, "=", f.value, " ", f.omitted),
			"  ", " "))
	})
	want := []string{"ContainerPort.protocol=TCP true", "DeploymentSpec.replicas=1 false",
		"PodSpec.dnsPolicy=ClusterFirst true"}
	if diff := cmp.Diff(want, sorted(got)); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}
