// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// StyleOf returns how the contents of a bundle are interpreted.
func StyleOf(in Input) string {
	b, err := in.open(0)
	switch {
	case err != nil:
		return err.Error()
	case b.chartMissing():
		return "helm"
	case b.style.plain():
		return "raw"
	case b.style.kustomization == "":
		return "helm"
	case b.style.chart == "":
		return "kustomize"
	}
	return "helm+kustomize"
}

// postRenderFunc is a post-renderer.
type postRenderFunc func(string) (string, error)

// Run implements postrenderer.PostRenderer.
func (f postRenderFunc) Run(in *bytes.Buffer) (*bytes.Buffer, error) {
	out, err := f(in.String())
	return bytes.NewBufferString(out), err
}

// TestHelm compares the text of manifest and hooks with those of Helm's own installation, which the agent calls. The
// product does not use Helm's function because of its many dependencies.
func TestHelm(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	compared := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Options v1alpha1.Options
			Files   map[string]string
			Random  bool
			Helm3   bool
			// OlderHelm cases depend on how Helm up to 4.2 splits documents. This test compares with a newer one.
			OlderHelm bool
			Want      struct{ Objects []json.RawMessage }
		}
		if err := yaml.Unmarshal(data, &c); err != nil {
			t.Fatal(err)
		}
		if c.Random || c.Helm3 || c.OlderHelm || len(c.Want.Objects) == 0 {
			continue
		}
		in := Input{Name: "case", Options: c.Options, SetID: "default-case", KubeVersion: "v1.36.3"}
		for _, name := range slices.Sorted(maps.Keys(c.Files)) {
			in.Resources = append(in.Resources, v1alpha1.BundleResource{Name: name, Content: c.Files[name]})
		}
		b, ours := laidOut(t, in), laidOut(t, in)
		if err := ours.run(t.Context()); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		want := installed(t, b)
		if diff := cmp.Diff(want.Manifest, ours.manifest); diff != "" {
			t.Errorf("%s: manifest (-helm +got):\n%s", file, diff)
		}
		if diff := cmp.Diff(manifestsOf(want.Hooks), manifestsOf(ours.hooks)); diff != "" {
			t.Errorf("%s: hooks (-helm +got):\n%s", file, diff)
		}
		compared++
	}
	if compared < 10 {
		t.Errorf("compared only %d cases", compared)
	}
}

func laidOut(t *testing.T, in Input) *bundle {
	t.Helper()
	b, err := in.open(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.layOut(); err != nil {
		t.Fatal(err)
	}
	return b
}

func manifestsOf(hooks []*releasev1.Hook) []string {
	var out []string
	for _, h := range hooks {
		out = append(out, h.Manifest)
	}
	return out
}

// installed returns the release of Helm's own installation, as a dry run.
func installed(t *testing.T, b *bundle) *releasev1.Release {
	t.Helper()
	if err := b.loadChart(); err != nil {
		t.Fatal(err)
	}
	values, err := b.values()
	if err != nil {
		t.Fatal(err)
	}
	i := action.NewInstall(action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler)))
	i.DryRunStrategy = action.DryRunClient
	i.ReleaseName, i.Namespace = b.result.ReleaseName, b.result.ReleaseNamespace
	i.SkipSchemaValidation = true // it would download remote schemas
	i.PostRenderer = postRenderFunc(b.postRender)
	i.KubeVersion = &common.KubeVersion{Version: "v1.36.3", Major: "1", Minor: "36"}
	got, err := i.RunWithContext(context.WithoutCancel(t.Context()), b.chart, values)
	if err != nil {
		t.Fatal(err)
	}
	rel, ok := got.(*releasev1.Release)
	if !ok {
		t.Fatalf("got a %T", got)
	}
	return rel
}

// TestRecordSize compares the estimate with the Secret of Helm's own driver and installation.
func TestRecordSize(t *testing.T) {
	template := "{{ range $i := until 4 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hashes-{{ $i " +
		"}}\ndata:\n  text: |\n" +
		"{{ range $j := until 4000 }}    {{ printf \"%d-%d\" $i $j | sha256sum }}\n{{ end }}{{ end }}"
	in := Input{Name: "case", SetID: "default-case", KubeVersion: "v1.36.3",
		Resources: []v1alpha1.BundleResource{{Name: "templates/a.yaml", Content: template},
			{Name: "plain.yaml", Content: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: plain\ndata:\n" +
				"  text: |\n" + strings.Repeat("    some words\n", 1000)}}}
	got, err := Render(t.Context(), in, nil)
	if err != nil {
		t.Fatal(err)
	}
	rel := installed(t, laidOut(t, in))
	client := fake.NewClientset().CoreV1().Secrets("default")
	const key = "sh.helm.release.v1.case.v1"
	if err := driver.NewSecrets(client).Create(key, rel); err != nil {
		t.Fatal(err)
	}
	secret, err := client.Get(t.Context(), key, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := len(secret.Data["release"]); want < smallRecord || got.RecordSize < want*98/100 ||
		got.RecordSize > want*102/100 {
		t.Errorf("got %d bytes, want about %d", got.RecordSize, want)
	}
	small, err := Render(t.Context(), Input{Name: "case",
		Resources: []v1alpha1.BundleResource{{Name: "a.yaml",
			Content: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"}}}, nil)
	if err != nil || small.RecordSize != 0 {
		t.Errorf("a small bundle: %d bytes, error %v", small.RecordSize, err)
	}
}
