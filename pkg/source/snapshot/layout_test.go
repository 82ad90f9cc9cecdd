// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

const (
	cmA  = "v1 ConfigMap a/one"
	cmB  = "v1 ConfigMap b/two"
	depA = "apps/v1 Deployment a/web"
	node = "v1 Node n1"
)

// single is the note about single objects.
const single = "single objects do not prove that other objects are missing: those are Unknown; " +
	"capture Lists (kubectl get KIND -A -o json), or take a snapshot with kubectl fleetdoctor snapshot"

// layouts are files with cmA, cmB, depA and node only.
func layouts(tb testing.TB) map[string]entry {
	tb.Helper()
	all := []string{obj(cmA), obj(cmB), obj(depA), obj(node)}
	docs := []string{yml(cmA), yml(cmB), yml(depA), yml(node)}
	indented := "{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        " + strings.Join(all, ",\n        ") +
		"\n    ],\n    \"kind\": \"List\"\n}\n"
	item := func(id string) string {
		return "- " + strings.ReplaceAll(strings.TrimSpace(yml(id)), "\n", "\n  ") + "\n"
	}
	items := item(cmA) + item(cmB) + item(depA) + item(node)
	files := []entry{{"dump/", ""}, {"dump/a/one.yaml", docs[0]}, {"dump/b.json", all[1]}, {"./dump/c.yml", docs[2]},
		{"dump/n", docs[3]}}
	return map[string]entry{
		"documents": {"x.yaml", strings.Join(docs, "---\n")},
		"documents, all marked": {"x.yaml", "# a comment\n%YAML 1.1\n---\n" +
			strings.Join(docs, "...\n---\n---\n") + "...\n"},
		"documents on the marker lines": {"x.yaml", "--- " + all[0] + "\n--- # a comment\n" + docs[1] + "---\n" +
			docs[2] + "---\r\n" + docs[3]},
		"carriage returns":     {"x.yaml", strings.ReplaceAll(strings.Join(docs, "---\n"), "\n", "\r\n")},
		"byte order mark":      {"x.yaml", "\xef\xbb\xbf" + strings.Join(docs, "---\n")},
		"UTF-16 of PowerShell": {"x.yaml", utf16le(strings.Join(docs, "---\n"))},
		"JSON lines":           {"x.jsonl", strings.Join(all, "\n")},
		"concatenated JSON":    {"x.json", strings.Join(all, "")},
		"JSON array":           {"x.json", "[" + strings.Join(all, ",") + "]"},
		"JSON with markers":    {"x.json", strings.Join(all, "\n---\n")},
		"JSON between markers": {"x.yaml", "---\n" + strings.Join(all, "\n---\n") + "\n---\n# end"},
		"JSON List":            {"x.json", listOf(all...)},
		"indented JSON List":   {"x.json", indented},
		"JSON List in YAML":    {"x.yaml", "# a comment\n---\n" + indented},
		"List, unnamed format": {"x", listOf(all...)},
		"YAML List": {"x.yaml", "apiVersion: v1\nitems:\n" + items +
			"kind: List\nmetadata:\n  resourceVersion: \"\"\n"},
		"YAML List, items last": {"x.yaml", "kind: List\napiVersion: v1\nitems: # all of them\n\n" + items},
		"YAML List, indented": {"x.yaml", "apiVersion: v1\nitems:\n   " +
			strings.TrimSpace(strings.ReplaceAll(items, "\n", "\n   ")) + "\nkind: List\n"},
		"YAML List, dash alone": {"x.yaml", "apiVersion: v1\nkind: List\nitems:\n" +
			strings.ReplaceAll(items, "- api", "-\n  api")},
		"YAML List in flow style": {"x.yaml", "apiVersion: v1\nkind: List\nitems: [" + strings.Join(all, ", ") +
			"]\n"},
		"YAML List, second lines": {"x.yaml", "apiVersion: v1\nkind: List\nitems:\n  [" +
			strings.Join(all, ",\n  ") + "]\n"},
		"gzip":             {"x.yaml.gz", gz(tb, strings.Join(docs, "---\n"))},
		"tar":              {"x.tar", tarOf(tb, files...)},
		"tgz":              {"x.tgz", gz(tb, tarOf(tb, files...))},
		"tar.gz, misnamed": {"x.json", gz(tb, tarOf(tb, files...))},
		"tar, unnamed":     {"x", tarOf(tb, files...)},
		"zip":              {"x.zip", zipOf(tb, files...)},
		"zip, misnamed":    {"x.yaml", zipOf(tb, files...)},
		"gzip in tar":      {"x.tar", tarOf(tb, entry{"a/x.json.gz", gz(tb, listOf(all...))})},
	}
}

func utf16le(s string) string {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

func TestLayouts(t *testing.T) {
	want := []string{cmA, cmB, node, depA}
	for name, l := range layouts(t) {
		t.Run(name, func(t *testing.T) {
			dir := write(t, l)
			stdin, err := openText(t, l.text)
			must(t, err)
			for how, s := range map[string]*snapshot.Snapshot{
				"file": open(t, filepath.Join(dir, l.name)), "folder": open(t, dir), "standard input": stdin,
			} {
				if diff := cmp.Diff(want, contents(t, s)); diff != "" {
					t.Errorf("objects of the %s (-want +got):\n%s", how, diff)
				}
				d := describe(t, s)
				var notes []string
				if !strings.Contains(name, "List") && !strings.HasPrefix(name, "gzip in") {
					notes = []string{single}
				}
				if diff := cmp.Diff(notes, d.Notes); len(d.Gaps) > 0 || diff != "" {
					t.Errorf("%s: gaps %v, notes (-want +got):\n%s", how, d.Gaps, diff)
				}
			}
		})
	}
}

// TestCollectors reads the objects in the captures of several tools, and no other data of them.
func TestCollectors(t *testing.T) {
	for _, tc := range []struct {
		name    string
		files   []entry
		want    []string
		gaps    []string
		others  int // files with other content
		version string
		taken   string
	}{
		{
			name: "fleet dump",
			files: []entry{
				{"bundles_fleet-local_guestbook", yml("fleet.cattle.io/v1alpha1 Bundle fleet-local/guestbook")},
				{"clusters_fleet-default_c.prod", "aggregationRule: {}\n" +
					yml("fleet.cattle.io/v1alpha1 Cluster fleet-default/c.prod")},
				{"contents_s-1", "content: null\n" + yml("fleet.cattle.io/v1alpha1 Content s-1")},
				{"secrets_a_values",
					"data:\n  values.yaml: e30=\nmetadata:\n  name: values\n  namespace: a\n  resourceVersion: " +
						"\"1\"\n  uid: u\ntype: fleet.cattle.io/bundle-values/v1alpha1\n"},
				// another name than that of the file
				{"secrets_a_other", "data: {}\nmetadata:\n  name: another\n  namespace: a\n"},
				{"events_default", `{"metadata":{"name":"e1","namespace":"default"},"reason":"Started"}` + "\n" +
					`{"metadata":{"name":"e2"}}`},
				{"metrics_monitoring-fleet-controller", "# HELP go_goroutines Number\ngo_goroutines 12\n"},
			},
			want: []string{"fleet.cattle.io/v1alpha1 Bundle fleet-local/guestbook",
				"fleet.cattle.io/v1alpha1 Cluster fleet-default/c.prod", "fleet.cattle.io/v1alpha1 Content s-1"},
			others: 4,
		},
		{
			name: "crust-gather",
			files: []entry{
				{"cluster/v1/node/n1.yaml", yml(node, "status:", "  nodeInfo: {kubeletVersion: v1.35.0}")},
				{"namespaces/a/apps-v1/deployment/web.yaml", yml(depA, "status:", "  conditions:",
					"  - lastUpdateTime: 2026-01-01T00:00:00Z")},
				{"namespaces/a/v1/pod/p/main/current.log", "apiVersion: nonsense in a log\n"},
				{"version.yaml", "major: '1'\nminor: '36'\ngitVersion: v1.36.3+k3s1\nplatform: linux/amd64\n"},
				{"api.json", typedList("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList", "",
					`{"metadata":{"name":""},"versions":[]}`)},
				{"apis.json", typedList("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList", "",
					`{"metadata":{"name":"apps"},"versions":[]}`)},
				{"collected.timestamp", `"2026-02-03 04:05:06.789 UTC"`},
				{"app-versions.yaml", "- name: web\n  namespace: a\n  container: main\n  version: nginx:1.29\n"},
				{"event-filter.html", "<!DOCTYPE html>\n<html></html>\n"},
				{"namespaces/a/apps-v1/deployment/web.patch", `[{"op":"replace","path":"/spec/replicas","value":2}]` +
					"\n"},
			},
			want:    []string{node, depA},
			others:  8,
			version: "v1.35.0",
			taken:   "2026-01-01T00:00:00Z",
		},
		{
			name: "support-bundle-kit",
			files: []entry{
				{"bundle/metadata.yaml",
					"bundlename: b\nbundleversion: 0.1.0\nkubernetesversion: v1.34.1+rke2r1\nprojectnamespaceuuid: " +
						"u\nbundlecreatedat: \"2026-03-04T05:06:07Z\"\nissueurl: \"\"\nissuedescription: \"\"\n"},
				{"bundle/bundleGenerationError.log", ""},
				{"bundle/yamls/namespaced/b/v1/configmaps.yaml",
					"apiVersion: v1\nitems:\n- apiVersion: v1\n  data:\n    empty: \"null\"\n  kind: ConfigMap\n" +
						"  metadata:\n    name: two\n    namespace: b\n" +
						"kind: List\nmetadata:\n  resourceVersion: \"9\"\n"},
				{"bundle/yamls/namespaced/a/apps/v1/deployments.yaml",
					"apiVersion: apps/v1\nitems:\n- metadata:\n    name: web\n    namespace: a\n" +
						"kind: DeploymentList\n"},
				{"bundle/yamls/cluster/v1/nodes.yaml",
					"apiVersion: v1\nitems:\n- metadata:\n    name: n1\nkind: NodeList\n"},
				{"bundle/logs/a/web/web.log.1", "some text\n"},
				{"bundle/nodes/n1.zip", zipOf(t, entry{"x.log", ""})},
			},
			want:   []string{cmB, node, depA},
			gaps:   []string{"files that are not read (1): standard input: bundle/nodes/n1.zip (archive)" + perRefused},
			others: 3,
		},
		{
			name: "troubleshoot",
			files: []entry{
				{"support-bundle-x/version.yaml",
					"apiVersion: troubleshoot.sh/v1beta2\nkind: SupportBundle\nspec:\n  versionNumber: 0.120.0\n"},
				{"support-bundle-x/analysis.json", `[{"name":"x","insight":{"primary":"fine"}}]`},
				{"support-bundle-x/cluster-info/cluster_version.json",
					"{\n  \"info\": {\n    \"major\": \"1\",\n    \"gitVersion\": \"v1.35.2\"\n  },\n  \"string\": " +
						"\"v1.35.2\"\n}"},
				{"support-bundle-x/cluster-info/errors.json", "null"},
				{"support-bundle-x/cluster-resources/auth-cani-list/a.json",
					`{"resourceRules":[],"nonResourceRules":[],"incomplete":false}`},
				{"support-bundle-x/cluster-resources/nodes.json", typedList("v1", "NodeList", "", obj(node))},
				{"support-bundle-x/cluster-resources/deployments/a.json", typedList("apps/v1", "DeploymentList", "",
					obj(depA))},
				{"support-bundle-x/cluster-resources/deployments/b.json", typedList("apps/v1", "DeploymentList", "")},
				{"support-bundle-x/cluster-resources/deployments-errors.json", "{}"},
				{"support-bundle-x/cluster-resources/services-errors.json", `{"kube-system":"services is forbidden"}`},
				{"support-bundle-x/cluster-resources/custom-resources/bundles.fleet.cattle.io/a.json", "[" +
					obj("fleet.cattle.io/v1alpha1 Bundle a/web") + "]"},
				{"support-bundle-x/cluster-resources/groups.json",
					`[{"kind":"APIGroup","apiVersion":"v1","name":"apps"}]`},
				{"support-bundle-x/cluster-resources/resources.json",
					`[{"kind":"APIResourceList","groupVersion":"v1","resources":[]}]`},
				{"support-bundle-x/cluster-resources/pods/logs/a/web/main.log", "text"},
			},
			want: []string{node, depA, "fleet.cattle.io/v1alpha1 Bundle a/web"},
			gaps: []string{"standard input: support-bundle-x/version.yaml, line 1 | it has no kind or no name, " +
				"so it is not complete" + perDocument},
			others: 9,
		},
		{
			name: "fleet monitor, beside objects",
			files: []entry{
				{"cm.yaml", yml(cmA)},
				{"monitor.json",
					`{"timestamp":"2026-02-03T04:05:06Z",` +
						`"gitrepos":[{"namespace":"a","name":"apps","generation":1,"ready":true}],` +
						`"diagnostics":{}}`},
			},
			want:   []string{cmA},
			others: 1,
		},
		{
			name: "kubectl",
			files: []entry{
				{"all.yaml", yml(depA, "status:", "  conditions: [{lastTransitionTime: 2026-04-05T06:07:08Z}]")},
				{"nodes.yaml", yml(node, "status: {nodeInfo: {kubeletVersion: v1.9.0}}") + "---\n" +
					yml("v1 Node n2", "status: {nodeInfo: {kubeletVersion: v1.36.1}}")},
				{"values.yaml", "replicas: 1\n"},
				{"README.md", "# How this was captured\n"},
				{"empty.yaml", ""},
				{"._nodes.yaml", "\x00\x05\x16\x07"}, // macOS adds such a file
				{"picture.png", "\x89PNG\r\n\x1a\n\x00\x00"},
			},
			want:    []string{node, "v1 Node n2", depA},
			others:  5,
			version: "v1.36.1",
			taken:   "2026-04-05T06:07:08Z",
		},
		{
			name: "kubectl version",
			files: []entry{
				{"cm.yaml", yml(cmA)},
				{"web-errors.json", obj(cmB)}, // an object, and no report of a collector
				{"version.json", `{"clientVersion":{"gitVersion":"v1.1.1"},"serverVersion":{"gitVersion":"v1.36.0"}}`},
			},
			want:   []string{cmA, cmB},
			others: 1,
		},
	} {
		for format, text := range map[string]string{"zip": zipOf(t, tc.files...), "tgz": gz(t, tarOf(t, tc.files...))} {
			t.Run(tc.name+" as "+format, func(t *testing.T) {
				s, err := openText(t, text)
				must(t, err)
				d := describe(t, s)
				if diff := cmp.Diff(tc.want, contents(t, s)); diff != "" {
					t.Errorf("objects (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tc.gaps, gapLines(d, "")); diff != "" {
					t.Errorf("gaps (-want +got):\n%s", diff)
				}
				others := fmt.Sprintf("files with other content than Kubernetes objects (%d): ", tc.others)
				if len(d.Notes) == 0 || !strings.HasPrefix(d.Notes[0], others) {
					t.Errorf("notes %q, want %q", d.Notes, others)
				}
				if d.KubernetesVersion != tc.version {
					t.Errorf("version %q, want %q", d.KubernetesVersion, tc.version)
				}
				if got := d.TakenAt.Format(time.RFC3339Nano); tc.taken != "" && got != tc.taken || tc.taken == "" &&
					!d.TakenAt.IsZero() {
					t.Errorf("taken at %s, want %q", got, tc.taken)
				}
			})
		}
	}
}
