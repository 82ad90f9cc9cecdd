// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
)

// caseFile is a file of testdata/cases. test/testdata/README.md describes the fields.
type caseFile struct {
	About       string                    `json:"about"`
	Name        string                    `json:"name"`
	Commit      string                    `json:"commit"`
	Options     v1alpha1.Options          `json:"options"`
	KubeVersion string                    `json:"kubeVersion"`
	APIVersions []string                  `json:"apiVersions"`
	Helm3       bool                      `json:"helm3"`
	OlderHelm   bool                      `json:"olderHelm"`
	HelmOp      bool                      `json:"helmOp"`
	ValuesFrom  map[string]string         `json:"valuesFrom"`
	Files       map[string]string         `json:"files"`
	Resources   []v1alpha1.BundleResource `json:"resources"`
	Random      bool                      `json:"random"`
	Differs     bool                      `json:"differs"`
	Want        outcome                   `json:"want"`
}

type outcome struct {
	Style     string           `json:"style"`
	Namespace string           `json:"namespace"`
	Objects   []map[string]any `json:"objects"`
	Hooks     []map[string]any `json:"hooks"`
	CRDs      []map[string]any `json:"crds"`
	Gaps      []string         `json:"gaps"`
	Notes     []string         `json:"notes"`
	Unstable  []string         `json:"unstable"`
	Error     string           `json:"error"`
}

func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			c := readCase(t, file)
			in := c.input()
			res, err := render.Render(t.Context(), in, nil)
			got := outcome{}
			if err != nil {
				got.Error = err.Error()
			} else {
				got = outcomeOf(t, res)
				got.Style = render.StyleOf(in)
				checkOwnership(t, in, res)
			}
			if strings.Contains(got.Error+strings.Join(got.Gaps, "")+strings.Join(got.Notes, ""), "hunter2") {
				t.Error("a value is quoted")
			}
			want := c.Want
			for _, set := range [][]map[string]any{want.Objects, want.Hooks, want.CRDs} {
				for i := range set {
					set[i] = plainJSON(t, set[i])
				}
			}
			if c.Random && want.Objects == nil {
				got.Objects = nil
			}
			if want.Namespace == "" {
				got.Namespace = ""
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.About, diff)
			}
		})
	}
}

func readCase(t *testing.T, file string) *caseFile {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := &caseFile{Name: "case"}
	if err := yaml.UnmarshalStrict(data, c); err != nil {
		t.Fatal(err)
	}
	for name, content := range c.Files {
		c.Resources = append(c.Resources, v1alpha1.BundleResource{Name: name, Content: content})
	}
	return c
}

func (c *caseFile) input() render.Input {
	in := render.Input{Name: c.Name, Resources: c.Resources, Options: c.Options, Commit: c.Commit,
		SetID:       fleet.SetID(c.Name, ""),
		KubeVersion: c.KubeVersion, APIVersions: c.APIVersions, Helm3: c.Helm3, HelmOp: c.HelmOp}
	for _, r := range render.ValuesRefs(&in.Options) {
		var data []byte
		if text, ok := c.ValuesFrom[r.String()]; ok {
			data = []byte(text)
		}
		in.ValuesFrom = append(in.ValuesFrom, data)
	}
	return in
}

func outcomeOf(t *testing.T, res *render.Result) outcome {
	t.Helper()
	withoutOwnership := func(objs []release.Object) []map[string]any {
		var out []map[string]any
		for _, o := range decoded(t, objs) {
			meta, _ := o["metadata"].(map[string]any)
			without(meta, "labels", fleet.HashLabel)
			without(meta, "annotations", fleet.IDAnnotation)
			out = append(out, plainJSON(t, o))
		}
		return out
	}
	o := outcome{Namespace: res.ReleaseNamespace, Objects: withoutOwnership(res.Objects),
		Hooks: withoutOwnership(res.Hooks), CRDs: withoutOwnership(res.CRDs),
		Gaps: res.Gaps, Notes: res.Notes}
	for _, u := range res.Unstable {
		o.Unstable = append(o.Unstable, fmt.Sprintf("%s: %s", u.Object.Key(), strings.Join(u.Pointers, ", ")))
	}
	return o
}

// checkOwnership checks the ownership metadata: all objects have it, except those from crds/ and hooks of Helm 3.
func checkOwnership(t *testing.T, in render.Input, res *render.Result) {
	t.Helper()
	for i, set := range [][]release.Object{res.Objects, res.Hooks, res.CRDs} {
		for _, o := range decoded(t, set) {
			meta, _ := o["metadata"].(map[string]any)
			labels, _ := meta["labels"].(map[string]any)
			annotations, _ := meta["annotations"].(map[string]any)
			owned := labels[fleet.HashLabel] == fleet.Hash(in.SetID) && annotations[fleet.IDAnnotation] == in.SetID
			if owned != (i == 0 || i == 1 && !in.Helm3) {
				t.Errorf("%v: has ownership metadata: %t", meta["name"], owned)
			}
		}
	}
}

func without(meta map[string]any, field, key string) {
	m, _ := meta[field].(map[string]any)
	delete(m, key)
	if len(m) == 0 {
		delete(meta, field)
	}
}

// plainJSON converts all numbers to the same type.
func plainJSON(t *testing.T, v map[string]any) map[string]any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
