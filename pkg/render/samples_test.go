// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
)

// TestSamples compares the rendered objects of every BundleDeployment of the captured clusters with those that Fleet's
// agent stored in the release record, including order and fields. The resources of the Bundle must be those of the
// Content.
func TestSamples(t *testing.T) {
	for sample, want := range map[string]int{"clean": 2, "sick": 2, "drift": 16} {
		t.Run(sample, func(t *testing.T) {
			dir := filepath.Join("..", "..", "test", "testdata", sample)
			secrets := map[string]corev1.Secret{}
			for _, s := range list[corev1.Secret](t, dir, "secrets.json") {
				secrets[s.Namespace+"/"+s.Name] = s
			}
			contents := map[string]v1alpha1.Content{}
			for _, c := range list[v1alpha1.Content](t, dir, "contents.fleet.cattle.io.json") {
				contents[c.Name] = c
			}
			bundles := map[string][]v1alpha1.BundleResource{}
			for _, b := range list[struct {
				Metadata struct{ Namespace, Name string } `json:"metadata"`
				v1alpha1.BundleContents
			}](t, dir, "bundles.fleet.cattle.io.json") {
				bundles[b.Metadata.Namespace+"/"+b.Metadata.Name] = b.Spec.Resources
			}
			deployments := list[v1alpha1.BundleDeployment](t, dir, "bundledeployments.fleet.cattle.io.json")
			if len(deployments) != want {
				t.Errorf("got %d deployments, want %d", len(deployments), want)
			}
			for _, bd := range deployments {
				t.Run(bd.Name, func(t *testing.T) {
					content := contents[bd.Labels["fleet.cattle.io/content-name"]]
					fromContent, err := render.DecodeContent(&content)
					if err != nil {
						t.Fatal(err)
					}
					fromBundle := bundles[bd.Labels[fleet.BundleNamespaceLabel]+"/"+bd.Labels[fleet.BundleLabel]]
					if diff := cmp.Diff(fromContent, fromBundle); diff != "" {
						t.Errorf("Bundle against Content (-want +got):\n%s", diff)
					}
					if id, err := render.ManifestID(fromBundle); err != nil || id != content.Name {
						t.Errorf("manifest id: got %s, %v, want %s", id, err, content.Name)
					}
					record := recordOf(t, secrets, bd.Status.Release)
					in := render.Input{Name: bd.Name, Resources: fromContent, Options: bd.Spec.Options,
						Commit: bd.Labels[fleet.CommitLabel],
						SetID:  fleet.SetID(bd.Name, ""), ValuesHash: bd.Spec.ValuesHash}
					if s, ok := secrets[bd.Namespace+"/"+bd.Name]; ok {
						in.Values = s.Data["values"]
					}
					checkRendering(t, in, record)
				})
			}
		})
	}
}

func checkRendering(t *testing.T, in render.Input, record *release.Record) {
	t.Helper()
	want, err := record.Objects()
	if err != nil {
		t.Fatal(err)
	}
	got, err := render.Render(t.Context(), in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.ReleaseNamespace+"/"+got.ReleaseName != record.Release() {
		t.Errorf("release: got %s/%s, want %s", got.ReleaseNamespace, got.ReleaseName, record.Release())
	}
	if len(got.Gaps) > 0 || len(got.Unstable) > 0 || len(got.Notes) > 0 {
		t.Errorf("got gaps %q, unstable %v, notes %q", got.Gaps, got.Unstable, got.Notes)
	}
	if diff := cmp.Diff(decoded(t, want), decoded(t, got.Objects)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

func recordOf(t *testing.T, secrets map[string]corev1.Secret, name string) *release.Record {
	t.Helper()
	n, err := release.ParseName(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := release.Decode(secrets[n.Namespace+"/"+n.SecretName()].Data[release.DataKey])
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// decoded returns the decoded objects.
func decoded(t *testing.T, objs []release.Object) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, o := range objs {
		c, _, err := object.Decode(o.Raw)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

func list[T any](t *testing.T, dir, file string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	var l struct{ Items []T }
	if err := json.Unmarshal(data, &l); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", file, err))
	}
	return l.Items
}
