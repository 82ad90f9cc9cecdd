// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// captured is an object of a sample, to be written in the layout of a collector.
type captured struct {
	source.Kind
	namespace, name string
	content         map[string]any
}

// capturedSample returns the objects of a sample.
func capturedSample(t *testing.T, path string) []captured {
	t.Helper()
	s, err := snapshot.Open(t.Context(), []string{path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := s.Kinds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []captured
	for _, k := range kinds.All() {
		if _, err := s.List(t.Context(), source.Query{Kind: k.GroupVersionKind}, func(o source.Object) error {
			m, err := o.ReadMeta()
			if err != nil {
				return err
			}
			c := captured{Kind: k, namespace: m.Metadata.Namespace, name: m.Metadata.Name}
			out = append(out, c)
			return json.Unmarshal(o.Raw, &out[len(out)-1].content)
		}); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// files are the files of an archive.
type files map[string]string

func (f files) yaml(name string, content any) { f[name] = encoded(yaml.Marshal(content)) }

func (f files) json(name string, content any) {
	f[name] = encoded(json.MarshalIndent(content, "", "  "))
}

func encoded(b []byte, err error) string {
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// grouped groups objects by a key.
func grouped(objects []captured, key func(captured) string) map[string][]any {
	out := map[string][]any{}
	for _, o := range objects {
		if k := key(o); k != "" {
			out[k] = append(out[k], o.content)
		}
	}
	return out
}

// crustGather writes one file for each object (crust-gather, src/gather/representation.rs).
func crustGather(objects []captured, f files) {
	for _, o := range objects {
		dir := "cluster"
		if o.namespace != "" {
			dir = "namespaces/" + o.namespace
		}
		f.yaml(strings.ToLower(dir+"/"+strings.ReplaceAll(o.GroupVersion().String(), "/",
			"-")+"/"+o.GroupVersionKind.Kind+"/")+strings.ReplaceAll(o.name, ":", "-")+".yaml", o.content)
	}
	f["version.yaml"] = "major: '1'\nminor: '36'\ngitVersion: v1.36.3\n"
	f["api.json"] = `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[]}`
	f["collected.timestamp"] = `"2026-11-20 07:47:40.5 UTC"`
	f["app-versions.yaml"] = "- name: web\n  version: nginx:1.29\n"
	f["namespaces/guestbook/v1/pod/web/main/current.log"] = "apiVersion: in a log\n"
}

// supportBundleKit writes a List for each resource, empty strings as "null", and Secrets without data
// (support-bundle-kit, pkg/manager/collectors).
func supportBundleKit(objects []captured, f files) {
	for name, items := range grouped(objects, func(o captured) string {
		if o.GroupVersionKind.Kind == "Secret" {
			o.content["data"] = map[string]any{}
		}
		dir := "cluster"
		if o.namespace != "" {
			dir = "namespaced/" + o.namespace
		}
		return "bundle/yamls/" + dir + "/" + o.GroupVersion().String() + "/" + o.Resource + ".yaml"
	}) {
		f.yaml(name, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
		f[name] = strings.ReplaceAll(strings.ReplaceAll(f[name], `: ""`+"\n", `: "null"`+"\n"), ": null\n",
			`: "null"`+"\n")
	}
	f["bundle/metadata.yaml"] = "bundlename: b\nbundleversion: 0.1.0\nkubernetesversion: v1.36.3\nbundlecreatedat: " +
		"\"2026-11-20T07:47:40Z\"\nissueurl: \"\"\n"
	f["bundle/bundleGenerationError.log"] = ""
	f["bundle/logs/kube-system/web/main.log"] = "text"
}

// troubleshoot writes a typed List for each resource and namespace, custom resources as JSON arrays, and no Secrets
// (troubleshoot, pkg/collect).
func troubleshoot(objects []captured, f files) {
	for name, items := range grouped(objects, func(o captured) string {
		at := strings.TrimSuffix("/"+o.namespace, "/") + ".json"
		switch group := o.Group; {
		case o.GroupVersionKind.Kind == "Secret":
			return ""
		case strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io"):
			return "b/cluster-resources/custom-resources/" + o.Resource + "." + group + at
		}
		return "b/cluster-resources/" + o.Resource + at
	}) {
		if strings.Contains(name, "/custom-resources/") {
			f.json(name, items)
			continue
		}
		first, ok := items[0].(map[string]any)
		if ok {
			f.json(name, map[string]any{"kind": fmt.Sprint(first["kind"], "List"), "apiVersion": first["apiVersion"],
				"metadata": map[string]any{"resourceVersion": "9"}, "items": items})
		}
	}
	f["b/version.yaml"] = "apiVersion: troubleshoot.sh/v1beta2\nkind: SupportBundle\nspec:\n  versionNumber: 0.120.0\n"
	f["b/cluster-info/cluster_version.json"] = `{"info":{"gitVersion":"v1.36.3"},"string":"v1.36.3"}`
	f["b/cluster-resources/pods-errors.json"] = "null"
	f["b/cluster-resources/auth-cani-list/guestbook.json"] = `{"resourceRules":[],"incomplete":false}`
}

// fleetDump writes Fleet's objects, contents without content, Secrets of a few namespaces without their kind, and
// events (fleet, internal/cmd/cli/dump).
func fleetDump(objects []captured, f files) {
	for _, o := range objects {
		switch kind := o.GroupVersionKind.Kind; {
		case kind == "Content":
			o.content["content"] = nil
			f.yaml("contents_"+o.name, o.content)
		case strings.HasPrefix(o.Group, "fleet."):
			f.yaml(o.Resource+"_"+o.namespace+"_"+o.name, o.content)
		case kind == "Secret" && strings.HasPrefix(o.namespace, "fleet-"):
			delete(o.content, "kind")
			delete(o.content, "apiVersion")
			f.yaml("secrets_"+o.namespace+"_"+o.name, o.content)
		}
	}
	f["events_default"] = `{"metadata":{"name":"e1","namespace":"default"},"reason":"Started"}`
	f["metrics_cattle-fleet-system_monitoring-fleet-controller"] = "# HELP go_goroutines Number\ngo_goroutines 12\n"
}

// TestArchivesOfCollectors writes the sample sick in the layouts of collectors. With Lists of all objects, the audit
// has the findings of the sample. Single objects prove no absence: nothing is missing, and no number is certain.
// Without release records, it has the findings of the status only.
func TestArchivesOfCollectors(t *testing.T) {
	const sick = "../../test/testdata/sick"
	found := func(path string, statusOnly bool) (codes []string, a *audit.Audit) {
		s, err := snapshot.Open(t.Context(), []string{path}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if a, err = audit.Run(t.Context(), s, audit.Options{Commands: cases.Commands,
			StatusOnly: statusOnly}); err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Report().Findings {
			codes = append(codes, f.Code+" "+f.Object.Key().String())
		}
		return codes, a
	}
	whole, _ := found(sick, false)
	status, _ := found(sick, true)
	fleet := []string{"listing Bundle", "listing BundleDeployment", "listing Cluster", "listing Content",
		"listing GitRepo"}
	for name, tc := range map[string]struct {
		write    func([]captured, files)
		findings []string
		gaps     []string // the first words of each, in addition to those about the files
	}{
		"crust-gather": {crustGather, without(whole, "FD101", "FD205"),
			slices.Concat(fleet, []string{"listing Secrets,", "reading ConfigMap"})},
		"support-bundle-kit": {supportBundleKit, status, []string{"release record", "release record",
			"values Secrets"}},
		"troubleshoot": {troubleshoot, without(status, "FD205"),
			slices.Concat(fleet, []string{"listing values", "release records"})},
		"fleet dump": {fleetDump, without(status, "FD205"),
			slices.Concat(fleet, []string{"listing values", "reading ConfigMap", "release records"})},
	} {
		t.Run(name, func(t *testing.T) {
			dir, f := t.TempDir(), files{}
			tc.write(capturedSample(t, sick), f)
			for file, text := range f {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			findings, a := found(dir, false)
			if diff := cmp.Diff(tc.findings, findings); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			r := a.Report()
			if r.TakenAt == "" {
				t.Error("the time of the capture is not known")
			}
			var gaps []string
			for _, g := range r.Gaps {
				if !strings.HasPrefix(g.What, dir) {
					gaps = append(gaps, strings.Join(strings.Fields(g.What)[:2], " "))
				}
			}
			if slices.Sort(gaps); !slices.Equal(gaps, tc.gaps) {
				t.Errorf("gaps %q, want %q: %+v", gaps, tc.gaps, r.Gaps)
			}
		})
	}
}

// without removes findings by their codes.
func without(findings []string, codes ...string) []string {
	return slices.DeleteFunc(slices.Clone(findings), func(f string) bool {
		return slices.Contains(codes, strings.Fields(f)[0])
	})
}
