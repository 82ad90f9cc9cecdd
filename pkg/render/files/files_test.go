// SPDX-License-Identifier: Apache-2.0

package files_test

import (
	"compress/gzip"
	"encoding/base64"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render/files"
)

const noFile = "reading bundle directory: it has no file to deploy"

var repo = files.Options{GitRepo: "repo", Path: "apps/my_app"}

func TestLoad(t *testing.T) {
	for _, tc := range []struct {
		name    string
		files   map[string]string
		options files.Options
		want    render.Input // with the names of the resources only
		err     string
	}{
		{name: "without a fleet.yaml", files: map[string]string{"b.yaml": "", "a/a.yaml": "",
			"fleet.yml": "defaultNamespace: demo", "logo.png": "\xff\xfe"}, options: repo,
			want: render.Input{Name: "repo-apps-my-app-d9b93c17", Options: v1alpha1.Options{DefaultNamespace: "demo"},
				Resources: names("a/a.yaml", "b.yaml", "fleet.yml", "logo.png")}},
		{name: "named", files: map[string]string{"fleet.yaml": "name: my.app\nnamespace: prod\nyaml: {overlays: " +
			"[x]}\nkustomize: {dir: k}\n", "a.yaml": ""},
			want: render.Input{Name: "my.app", Resources: names("a.yaml"),
				Options: v1alpha1.Options{TargetNamespace: "prod",
					YAML:      &v1alpha1.YAMLOptions{Overlays: []string{"x"}},
					Kustomize: &v1alpha1.KustomizeOptions{Dir: "k"}}}},
		{name: "the root of a repository", files: map[string]string{"a.yaml": ""},
			options: files.Options{GitRepo: "repo"},
			want:    render.Input{Name: "repo", Resources: names("a.yaml")}},
		{name: "values files", options: repo, files: map[string]string{
			"fleet.yaml":   "helm: {chart: app, values: {a: 1, m: {x: 1}}, valuesFiles: [app/one.yaml, two.yaml]}",
			"app/one.yaml": "{a: 2, m: {z: 2}}", "two.yaml": "m: {z: 3}", "one.yaml": "a: 4", "app/Chart.yaml": "",
			"app/two.yaml": ""},
			want: render.Input{Name: "repo-apps-my-app-d9b93c17", Resources: names("app/Chart.yaml", "app/two.yaml"),
				Options: v1alpha1.Options{Helm: &v1alpha1.HelmOptions{Chart: "app",
					Values: []byte(`{"a":2,"m":{"x":1,"z":3}}`)}}}},
		{name: "values files without a chart", options: repo,
			files: map[string]string{"fleet.yaml": "helm: {valuesFiles: [v.yaml]}", "v.yaml": "a: 1", "Chart.yaml": ""},
			want: render.Input{Name: "repo-apps-my-app-d9b93c17", Resources: names("Chart.yaml"),
				Options: v1alpha1.Options{Helm: &v1alpha1.HelmOptions{}},
				Notes: []string{"the fleet.yaml has helm.valuesFiles without helm.chart or helm.repo, so Fleet does " +
					"not read them"}}},
		{name: "values that depend on the cluster", options: repo,
			files: map[string]string{"a.yaml": "", "fleet.yaml": `
helm:
  values: {a: global.fleet.clusterLabels.env, l: [global.fleet.clusterLabels.env, "${ .ClusterName }"], s: plain}
  templateValues: {t: x}
targetCustomizations: [{name: dev}]
`}, want: render.Input{Name: "repo-apps-my-app-d9b93c17", Resources: names("a.yaml"),
				Options: v1alpha1.Options{Helm: &v1alpha1.HelmOptions{TemplateValues: map[string]string{"t": "x"},
					Values: []byte(`{"a":"global.fleet.clusterLabels.env",` +
						`"l":["global.fleet.clusterLabels.env","${ .ClusterName }"],"s":"plain"}`)}}}},
		{name: "no templating", options: repo, files: map[string]string{"a.yaml": "",
			"fleet.yaml": `helm: {disablePreProcess: true, values: {a: "${ x }"}}`},
			want: render.Input{Name: "repo-apps-my-app-d9b93c17", Resources: names("a.yaml"),
				Options: v1alpha1.Options{Helm: &v1alpha1.HelmOptions{DisablePreProcess: true,
					Values: []byte(`{"a":"${ x }"}`)}}}},
		{name: "dependencies", options: repo,
			files: map[string]string{"Chart.yaml": "dependencies: [{name: a}, {name: b}, {name: c}]",
				"charts/a/Chart.yaml": "", "charts/b-1.0.0.tgz": "",
				"sub/requirements.yaml": "dependencies: [{name: d}]"},
			want: render.Input{Name: "repo-apps-my-app-d9b93c17", Resources: names("Chart.yaml", "charts/a/Chart.yaml",
				"charts/b-1.0.0.tgz", "sub/requirements.yaml"),
				Gaps: []string{"Chart.yaml depends on chart c, which Fleet downloads when it makes the bundle",
					"sub/requirements.yaml depends on chart d, which Fleet downloads when it makes the bundle"}}},
		{name: "ignored and hidden", options: repo, files: map[string]string{"a.yaml": "", ".hidden": "",
			".git/x.yaml": "", "b.txt": "", "sub/c.txt": "", "sub/d.yaml": "", "dir/e.yaml": "",
			".fleetignore": "# a comment\n\n*.txt   \ndir/*\n", "sub/.fleetignore": "d.yaml", "subway/d.yaml": "",
			"z/d.yaml": ""},
			want: render.Input{Name: "repo-apps-my-app-d9b93c17", Resources: names("a.yaml", "z/d.yaml")}},
		{name: "no name", files: map[string]string{"a.yaml": ""},
			err: "naming the bundle: no fleet.yaml states its name"},
		{name: "no file to deploy", options: repo, files: map[string]string{"fleet.yaml": "{}"}, err: noFile},
		{name: "only a chart of a repository",
			files: map[string]string{
				"fleet.yaml": "{name: web, helm: {chart: nginx, repo: https://charts.example.com}}"},
			want: render.Input{Name: "web", Options: v1alpha1.Options{Helm: &v1alpha1.HelmOptions{Chart: "nginx",
				Repo: "https://charts.example.com"}}}},
		{name: "invalid YAML", options: repo, files: map[string]string{"fleet.yaml": "password: [hunter2"},
			err: "reading fleet.yaml: it is not valid YAML (line 1)"},
		{name: "invalid YAML in a later line", options: repo,
			files: map[string]string{"fleet.yaml": "defaultNamespace: a\nhelm:\n  chart: hunter2\n values: b\n"},
			err:   "reading fleet.yaml: it is not valid YAML (line 4)"},
		{name: "a wrong type in a later line", options: repo,
			files: map[string]string{"fleet.yaml": "defaultNamespace: a\nhelm:\n  chart: [hunter2]\n"},
			err:   "reading fleet.yaml: helm.chart has a wrong type (line 3)"},
		{name: "values file with invalid YAML", options: repo,
			files: map[string]string{"fleet.yaml": "helm: {chart: a, valuesFiles: [v]}", "v": "a: b\n\tc: hunter2"},
			err:   "reading values file v: it is not a YAML map (line 2)"},
		{name: "unknown keys", options: repo, files: map[string]string{"a.yaml": "", "fleet.yaml": `defaultNamespace: a
namspace: b
Helm:
  takeOwnreship: true
  values: {anything: goes}
diff: {comparePatches: [{apiVersion: v1, Names: a}]}
targetCustomizations:
- name: dev
  helm: {relaseName: b}
  clusterLabels: {env: dev}
labels: {any: label}
`}, want: render.Input{Name: "repo-apps-my-app-d9b93c17", Resources: names("a.yaml"),
			Options: v1alpha1.Options{DefaultNamespace: "a",
				Helm: &v1alpha1.HelmOptions{Values: []byte(`{"anything":"goes"}`)},
				Diff: &v1alpha1.DiffOptions{ComparePatches: []v1alpha1.ComparePatch{{APIVersion: "v1"}}}},
			Notes: []string{
				"fleet.yaml, line 2: Fleet does not know the key namspace and ignores it: it knows namespace",
				"fleet.yaml, line 4: Fleet does not know the key Helm.takeOwnreship and ignores it: it knows " +
					"takeOwnership",
				"fleet.yaml, line 6: Fleet does not know the key diff.comparePatches[0].Names and ignores it: it " +
					"knows name",
				"fleet.yaml, line 9: Fleet does not know the key targetCustomizations[0].helm.relaseName and " +
					"ignores it: it knows releaseName",
				"fleet.yaml, line 10: Fleet does not know the key targetCustomizations[0].clusterLabels and " +
					"ignores it"}}},
		{name: "not a map", options: repo, files: map[string]string{"fleet.yaml": "hunter2"},
			err: "reading fleet.yaml: it is not a map of bundle options"},
		{name: "a wrong type", options: repo, files: map[string]string{"fleet.yaml": "helm: {chart: [hunter2]}"},
			err: "reading fleet.yaml: helm.chart has a wrong type (line 1)"},
		{name: "values that are not a map", options: repo,
			files: map[string]string{"fleet.yaml": "helm: {values: hunter2}"},
			err:   "reading fleet.yaml: helm.values has a wrong type (line 1)"},
		{name: "values file that is not a map", options: repo,
			files: map[string]string{"fleet.yaml": "helm: {chart: a, valuesFiles: [v]}", "v": "hunter2"},
			err:   "reading values file v: it is not a YAML map"},
		{name: "values file outside of the directory", options: repo,
			files: map[string]string{"fleet.yaml": "helm: {chart: a, valuesFiles: [../v]}"},
			err:   "reading values file ../v: it is a link that leaves the directory or cannot be followed"},
		{name: "invalid pattern", options: repo, files: map[string]string{".fleetignore": "[", "a.yaml": ""},
			err: "reading bundle directory: .fleetignore: it has an invalid pattern"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := files.Load(written(t, tc.files), tc.options)
			refused := ""
			switch {
			case err != nil:
				refused = err.Error()
			case got.Refused != "":
				refused = got.Refused
			}
			if tc.err != refused {
				t.Errorf("got error %v, want %s", refused, tc.err)
			}
			if refused != "" {
				return
			}
			tc.want.FromFiles = true
			for i := range got.Resources {
				got.Resources[i] = v1alpha1.BundleResource{Name: got.Resources[i].Name}
			}
			if diff := cmp.Diff(tc.want, got.Input, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("input (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLoadContent checks that text is stored as text and other data as base64 of gzip.
func TestLoadContent(t *testing.T) {
	in, err := files.Load(written(t, map[string]string{"a.yaml": "a: <b>\n", "b.bin": "\xff\x00"}), repo)
	if err != nil {
		t.Fatal(err)
	}
	text, binary := in.Resources[0], in.Resources[1]
	if text.Content != "a: <b>\n" || text.Encoding != "" || binary.Encoding != "base64+gz" {
		t.Errorf("got %+v and %+v", text, binary)
	}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(binary.Content)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(z); err != nil || string(got) != "\xff\x00" {
		t.Errorf("got %q, error %v", got, err)
	}
}

func TestLoadLinks(t *testing.T) {
	outside := filepath.Join(written(t, map[string]string{"secret": "hunter2"}), "secret")
	for name, tc := range map[string]struct{ target, err string }{
		"to a file of the directory": {"dir/a.yaml", ""},
		"to a file outside": {outside,
			"it is a link that leaves the directory or cannot be followed"},
		"to a file outside, with a relative path": {"dir/../../" + filepath.Base(filepath.Dir(outside)) + "/secret",
			"it is a link that leaves the directory or cannot be followed"},
		"to a directory": {"dir", "it is not a regular file"},
		"to itself": {"link.yaml",
			"it is a link that leaves the directory or cannot be followed"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := written(t, map[string]string{"dir/a.yaml": "content"})
			if err := os.Symlink(tc.target, filepath.Join(dir, "link.yaml")); err != nil {
				t.Fatal(err)
			}
			in, err := files.Load(dir, repo)
			if tc.err != "" {
				if err == nil || !strings.HasSuffix(err.Error(), "link.yaml: "+tc.err) {
					t.Errorf("got %v, want %s", err, tc.err)
				}
				return
			}
			if err != nil || len(in.Resources) != 2 || in.Resources[1].Content != "content" {
				t.Errorf("got %+v, %v", in, err)
			}
		})
	}
}

// TestLoadHidden checks that Fleet makes no bundle of a hidden directory.
func TestLoadHidden(t *testing.T) {
	dir := filepath.Join(written(t, map[string]string{".app/a.yaml": ""}), ".app")
	if _, err := files.Load(dir, repo); err == nil || err.Error() != noFile {
		t.Errorf("got error %v, want %s", err, noFile)
	}
}

// TestLoadAll checks of which directories fleet apply makes bundles.
func TestLoadAll(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  []string // directory and name of each bundle
		err   string
	}{
		{name: "one", files: map[string]string{"fleet.yaml": "", "a.yaml": ""}, want: []string{". repo"}},
		{name: "without a fleet.yaml", files: map[string]string{"sub/a.yaml": ""}, want: []string{". repo"}},
		{name: "below a fleet.yaml", files: map[string]string{"fleet.yaml": "", "a.yaml": "", "b/fleet.yml": "name: b",
			"b/c/d/fleet.yaml": "", "b/c/d/e.yaml": ""},
			want: []string{". repo", "b b", "b/c/d repo-b-c-d"}},
		{name: "only below", files: map[string]string{"README.md": "", "a/fleet.yaml": "", "a/a.yaml": "",
			"b/fleet.yaml": "", "b/b.yaml": ""}, want: []string{"a repo-a", "b repo-b"}},
		{name: "a manifest beside them", files: map[string]string{"a/fleet.yaml": "", "a/a.yaml": "", "b/b.yaml": ""},
			want: []string{". repo", "a repo-a"}},
		{name: "an empty bundle", files: map[string]string{"a/fleet.yaml": "", "b/fleet.yaml": "", "b/b.yaml": ""},
			want: []string{"b repo-b"}},
		{name: "two of a name", files: map[string]string{"a/fleet.yaml": "name: x", "a/a.yaml": "",
			"b/fleet.yaml": "name: x", "b/b.yaml": ""},
			err: "reading bundle directory: a and b both make the bundle x, and one of them replaces the other"},
		{name: "no manifest", files: map[string]string{"README.md": ""}, err: noFile},
		{name: "refused", files: map[string]string{"a/fleet.yaml": "[", "b/fleet.yaml": "", "b/b.yaml": ""},
			want: []string{"a repo-a reading fleet.yaml: it is not valid YAML (line 1) (in directory a)", "b repo-b"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all, err := files.LoadAll(written(t, tc.files), files.Options{GitRepo: "repo"})
			var got []string
			for _, l := range all {
				got = append(got, strings.TrimSpace(l.Dir+" "+l.Name+" "+l.Refused))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || tc.err == "" != (err == nil) || err != nil &&
				err.Error() != tc.err {
				t.Errorf("error %v, bundles (-want +got):\n%s", err, diff)
			}
		})
	}
}

func names(all ...string) []v1alpha1.BundleResource {
	var out []v1alpha1.BundleResource
	for _, n := range all {
		out = append(out, v1alpha1.BundleResource{Name: n})
	}
	return out
}

func written(t *testing.T, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(content)) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
