// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
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

// runFunc is a post-renderer.
type runFunc func(string) (string, bool, error)

func (f runFunc) Run(in *bytes.Buffer) (*bytes.Buffer, error) {
	out, _, err := f(in.String())
	return bytes.NewBufferString(out), err
}

// TestHelm holds what is done here between engine and manifest against Helm's own installation, which the agent calls and which brings more
// with it than a command should carry. It compares the text of the manifest and of the hooks.
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
			Chance  bool
			Helm3   bool
			Want    struct{ Objects []json.RawMessage }
		}
		if err := yaml.Unmarshal(data, &c); err != nil {
			t.Fatal(err)
		}
		if c.Chance || c.Helm3 || len(c.Want.Objects) == 0 {
			continue
		}
		in := Input{Name: "case", Options: c.Options, SetID: "default-case", KubeVersion: "v1.36.3"}
		for _, name := range sortedKeys(c.Files) {
			in.Resources = append(in.Resources, v1alpha1.BundleResource{Name: name, Content: c.Files[name]})
		}
		b, ours := laidOut(t, in), laidOut(t, in)
		if done, err := ours.run(t.Context()); err != nil || !done {
			t.Fatalf("%s: %t, %v", file, done, err)
		}
		manifest, hooks := install(t, b)
		if diff := cmp.Diff(manifest, ours.files.manifest); diff != "" {
			t.Errorf("%s: manifest (-helm +got):\n%s", file, diff)
		}
		if diff := cmp.Diff(hooks, ours.files.hooks); diff != "" {
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
	b, err := in.open()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.layOut(); err != nil {
		t.Fatal(err)
	}
	return b
}

func install(t *testing.T, b *bundle) (manifest string, hooks []string) {
	t.Helper()
	rel := installed(t, b)
	for _, h := range rel.Hooks {
		hooks = append(hooks, h.Manifest)
	}
	return rel.Manifest, hooks
}

func installed(t *testing.T, b *bundle) *releasev1.Release {
	t.Helper()
	ch, err := b.loadChart()
	if err != nil {
		t.Fatal(err)
	}
	values, err := b.values()
	if err != nil {
		t.Fatal(err)
	}
	p := postRenderer{b: b, chart: ch}
	i := action.NewInstall(action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler)))
	i.DryRunStrategy = action.DryRunClient
	i.ReleaseName, i.Namespace = b.result.ReleaseName, b.result.ReleaseNamespace
	i.SkipSchemaValidation = true // or it would fetch one
	i.PostRenderer = runFunc(p.run)
	i.KubeVersion = &common.KubeVersion{Version: "v1.36.3", Major: "1", Minor: "36"}
	got, err := i.RunWithContext(context.WithoutCancel(t.Context()), ch, values)
	if err != nil {
		t.Fatal(err)
	}
	rel, ok := got.(*releasev1.Release)
	if !ok {
		t.Fatalf("got a %T", got)
	}
	return rel
}

// TestRecordSize holds the estimate against the Secret that Helm's own driver makes of the release of its own installation.
func TestRecordSize(t *testing.T) {
	template := "{{ range $i := until 4 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hashes-{{ $i }}\ndata:\n  text: |\n" +
		"{{ range $j := until 4000 }}    {{ printf \"%d-%d\" $i $j | sha256sum }}\n{{ end }}{{ end }}"
	in := Input{Name: "case", SetID: "default-case", KubeVersion: "v1.36.3", Resources: []v1alpha1.BundleResource{{Name: "templates/a.yaml", Content: template},
		{Name: "plain.yaml", Content: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: plain\ndata:\n  text: |\n" + strings.Repeat("    some words\n", 1000)}}}
	got, err := Render(t.Context(), in)
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
	if want := len(secret.Data["release"]); want < smallRecord || got.RecordSize < want*98/100 || got.RecordSize > want*102/100 {
		t.Errorf("estimate %d bytes, Helm makes %d", got.RecordSize, want)
	}
	small, err := Render(t.Context(), Input{Name: "case", Resources: []v1alpha1.BundleResource{{Name: "a.yaml", Content: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"}}})
	if err != nil || small.RecordSize != 0 {
		t.Errorf("a small bundle: %d bytes, error %v", small.RecordSize, err)
	}
}
