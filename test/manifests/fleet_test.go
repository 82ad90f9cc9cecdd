// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/auditor"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render/files"
)

// The paths that a GitRepo would name.
const (
	directory        = "../../manifests/webhook"
	auditorDirectory = "../../manifests/auditor"
)

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestFleetRenders checks that an agent renders each directory to the objects that this program installs, but for the
// Namespace, which Fleet creates.
func TestFleetRenders(t *testing.T) {
	kept := auditor.Values{Keep: true}
	byProgram, err := auditor.Chart.Render(systemNamespace, &kept)
	if err != nil {
		t.Fatal(err)
	}
	checkFleetRenders(t, directory, rendered(t, "default"))
	options := checkFleetRenders(t, auditorDirectory, byProgram)
	if !options.KeepResources {
		t.Error("the auditor does not outlive its bundle")
	}
}

func checkFleetRenders(t *testing.T, dir string, program []*unstructured.Unstructured) v1alpha1.Options {
	t.Helper()
	in, err := files.Load(dir, files.Options{GitRepo: "fleetdoctor", Path: strings.TrimPrefix(dir, "../../")})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range in.Resources {
		if strings.HasSuffix(r.Name, ".md") {
			t.Errorf("%s does not belong in a bundle", r.Name)
		}
	}
	in.SetID, in.KubeVersion = fleet.SetID(in.Name, ""), "v1.28.0"
	rendering, err := render.Render(t.Context(), in.Input, nil)
	if err != nil {
		t.Fatal(err)
	}
	if rendering.ReleaseNamespace != systemNamespace {
		t.Errorf("the release's namespace is %q, want %q", rendering.ReleaseNamespace, systemNamespace)
	}
	if len(rendering.Gaps)+len(rendering.Hooks)+len(rendering.CRDs)+len(rendering.Unstable) > 0 {
		t.Errorf("gaps %q, hooks %v, CRDs %v, unstable %v; want none", rendering.Gaps, rendering.Hooks, rendering.CRDs,
			rendering.Unstable)
	}
	var got []string
	for _, obj := range rendering.Objects {
		got = append(got, obj.Kind+" "+strings.TrimPrefix(obj.Namespace+"/"+obj.Name, "/"))
	}
	slices.Sort(got)
	want := slices.DeleteFunc(names(program), func(name string) bool {
		return strings.HasPrefix(name, "Namespace ")
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: objects (-program +agent):\n%s", dir, diff)
	}
	return in.Options
}

// TestFleetIgnoresCABundles checks that exactly the caBundle of every webhook is excluded from the comparison.
func TestFleetIgnoresCABundles(t *testing.T) {
	in, err := files.Load(directory, files.Options{GitRepo: "fleetdoctor", Path: "manifests/webhook"})
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string][]string)
	for _, obj := range rendered(t, "all") {
		entries, _, err := unstructured.NestedSlice(obj.Object, "webhooks")
		if err != nil {
			t.Fatal(err)
		}
		for i := range entries {
			key := strings.Join([]string{obj.GetAPIVersion(), obj.GetKind(), obj.GetName()}, " ")
			want[key] = append(want[key], fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", i))
		}
	}
	if len(want) != 2 {
		t.Errorf("%d webhook configurations, want 2", len(want))
	}
	got := make(map[string][]string)
	for _, p := range in.Options.Diff.ComparePatches {
		got[strings.Join([]string{p.APIVersion, p.Kind, p.Name}, " ")] = p.JSONPointers
		if p.Namespace != "" || len(p.Operations) > 0 {
			t.Errorf("the patch for %s does more than ignore pointers", p.Kind)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pointers (-want +got):\n%s", diff)
	}
}

// TestFleetStatesNoNamespaceLabels checks that Fleet is not asked to label the namespace: agents do not write labels of
// Pod Security (docs/fleet-behavior.md, 1.10), and remove other ones, such as those of the other chart.
func TestFleetStatesNoNamespaceLabels(t *testing.T) {
	for _, dir := range []string{directory, auditorDirectory} {
		var stated map[string]any
		if err := yaml.Unmarshal(readFile(t, dir+"/fleet.yaml"), &stated); err != nil {
			t.Fatal(err)
		}
		if stated["namespaceLabels"] != nil || stated["defaultNamespace"] != systemNamespace {
			t.Errorf("%s: namespaceLabels %v, namespace %v", dir, stated["namespaceLabels"], stated["defaultNamespace"])
		}
	}
}
