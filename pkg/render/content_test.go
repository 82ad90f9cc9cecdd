// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
)

// TestManifestID holds the vectors of docs/fleet-behavior.md, 2.1.
func TestManifestID(t *testing.T) {
	for _, tc := range []struct {
		name      string
		resources []v1alpha1.BundleResource
		sum, id   string
	}{
		{"one", []v1alpha1.BundleResource{{Name: "foo", Content: "bar"}},
			"b538e5004002a3ba4700d90b52d258f575e288e584c03e0e301f2032e937ff9d", "s-b538e5004002a3ba4700d90b52d258f575e288e584c03e0e301f2032e937f"},
		{"none", nil,
			"ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356", "s-ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442"},
		{"characters of HTML", []v1alpha1.BundleResource{{Name: "cm.yaml", Content: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cfg\ndata:\n  a: \"1 < 2 & 3\"\n"}},
			"8ec83e9f3ffa79187784c4af4ed8ddc407a5dd34adbe38600c93fc0f5b8cf15d", "s-8ec83e9f3ffa79187784c4af4ed8ddc407a5dd34adbe38600c93fc0f5b8cf"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			id, sum, err := render.ManifestID(tc.resources)
			if err != nil || id != tc.id || sum != tc.sum {
				t.Errorf("got %s, %s, %v", id, sum, err)
			}
		})
	}
}

// TestManifestIDOrder: a document is what it is, in the order in which an API user gave its files.
func TestManifestIDOrder(t *testing.T) {
	a, b := v1alpha1.BundleResource{Name: "a"}, v1alpha1.BundleResource{Name: "b"}
	x, _, errX := render.ManifestID([]v1alpha1.BundleResource{a, b})
	y, _, errY := render.ManifestID([]v1alpha1.BundleResource{b, a})
	if x == y || errX != nil || errY != nil {
		t.Errorf("got %s and %s, %v, %v", x, y, errX, errY)
	}
}

func TestDecodeContent(t *testing.T) {
	// Fleet's own test vector: spaces, and no newline at the end.
	document := `{"resources": [{"name": "foo", "content": "bar"}]}`
	const sum = "752ebbb975f52eea5e87950ef2ca5de4055de3c68a17f54d94527d7fd79c21fd"
	for _, tc := range []struct {
		name    string
		content v1alpha1.Content
		want    []v1alpha1.BundleResource
		err     string
	}{
		{"as stored", v1alpha1.Content{Content: packed(t, document), SHA256Sum: sum}, []v1alpha1.BundleResource{{Name: "foo", Content: "bar"}}, ""},
		{"no sum stated", v1alpha1.Content{Content: packed(t, document)}, []v1alpha1.BundleResource{{Name: "foo", Content: "bar"}}, ""},
		{"no files", v1alpha1.Content{Content: packed(t, "{}\n")}, nil, ""},
		{"tampered with", v1alpha1.Content{Content: packed(t, strings.Replace(document, "bar", "baz", 1)), SHA256Sum: sum}, nil, "it is not what its sha256sum says"},
		{"something after the document", v1alpha1.Content{Content: packed(t, document+" "), SHA256Sum: sum}, nil, "it is not what its sha256sum says"},
		{"no gzip", v1alpha1.Content{Content: []byte(document)}, nil, "it is no gzip"},
		{"cut short", v1alpha1.Content{Content: packed(t, document)[:30]}, nil, "its gzip is damaged or cut short"},
		{"no JSON", v1alpha1.Content{Content: packed(t, "hunter2")}, nil, "it holds no manifest document"},
		{"a bomb", v1alpha1.Content{Content: packed(t, strings.Repeat(" ", 64<<20+1))}, nil, render.ErrTooLarge.Error()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.content.Name = "s-1"
			got, err := render.DecodeContent(&tc.content)
			if text := message(err); text != "" && text != "decoding content s-1: "+tc.err || text == "" && tc.err != "" {
				t.Errorf("got error %q, want %q", text, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("resources (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeResource(t *testing.T) {
	zipped := base64.StdEncoding.EncodeToString(packed(t, "text"))
	for _, tc := range []struct{ encoding, content, want, err string }{
		{"", "text", "text", ""},
		{"", "\u2028<&>", "\u2028<&>", ""},
		{"base64", "dGV4dA==", "text", ""},
		{"base64+gz", zipped, "text", ""},
		{"gz", string(packed(t, "text")), "text", ""},
		{"base64+zip", "dGV4dA==", "text", ""}, // what is not known is left alone
		{"utf-8", "text", "text", ""},
		{"base64", "hunter2!", "", "decoding f: it is not the base64 that its encoding says"},
		{"base64+gz", "dGV4dA==", "", "decoding f: it is no gzip"},
	} {
		got, err := render.DecodeResource(v1alpha1.BundleResource{Name: "f", Content: tc.content, Encoding: tc.encoding})
		if string(got) != tc.want || message(err) != tc.err {
			t.Errorf("%q of %q: got %q, %v", tc.encoding, tc.content, got, err)
		}
	}
}

// TestBound: many files that are small each count together.
func TestBound(t *testing.T) {
	zipped := base64.StdEncoding.EncodeToString(packed(t, strings.Repeat(" ", 1<<20)))
	var resources []v1alpha1.BundleResource
	for range 65 {
		resources = append(resources, v1alpha1.BundleResource{Name: "f.yaml", Content: zipped, Encoding: "base64+gz"})
	}
	_, err := render.Render(t.Context(), render.Input{Name: "b", Resources: resources})
	if wrong := (*render.Error)(nil); !errors.As(err, &wrong) || !strings.HasSuffix(wrong.Reason, render.ErrTooLarge.Error()) {
		t.Errorf("got %v", err)
	}
}

func FuzzDecodeContent(f *testing.F) {
	f.Add(packed(f, `{"resources":[{"name":"a.yaml","content":"a","encoding":"base64+gz"}]}`), "")
	f.Add(packed(f, `{"resources":[{"name":"a.yaml","content":"H4sIAAAAAAAA/w==","encoding":"base64+gz"}]}`), "x")
	f.Add([]byte{0x1f, 0x8b, 8, 0}, "")
	f.Fuzz(func(t *testing.T, data []byte, sum string) {
		resources, err := render.DecodeContent(&v1alpha1.Content{Content: data, SHA256Sum: sum})
		if err != nil {
			return
		}
		for _, r := range resources {
			if out, err := render.DecodeResource(r); err == nil && len(out) > 64<<20 {
				t.Errorf("unpacked to %d bytes", len(out))
			}
		}
		if _, s, err := render.ManifestID(resources); err != nil || len(s) != hex.EncodedLen(sha256.Size) {
			t.Errorf("got %q, %v", s, err)
		}
	})
}

// FuzzRender gives one file of any name and content to every step that reads files.
func FuzzRender(f *testing.F) {
	f.Add("cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	f.Add("Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.0.0\n")
	f.Add("kustomization.yaml", "resources: [b.yaml]\npatches: [{path: b.yaml}]\n")
	f.Add("overlays/x/b_patch.yaml", "- {op: copy, from: /metadata, path: /metadata/x}\n")
	f.Add("templates/a.yaml", "{{ randAlphaNum 3 }}")
	f.Add("values.schema.json", `{"$ref": "#/x"}`)
	f.Fuzz(func(t *testing.T, name, content string) {
		if strings.Contains(content, "range") || strings.Contains(content, "until") || strings.Contains(content, "repeat") || strings.Contains(content, "gen") {
			return // a template is a program, and may well run for ever
		}
		base := []v1alpha1.BundleResource{{Name: name, Content: content}, {Name: "b.yaml", Content: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"}}
		chart := v1alpha1.BundleResource{Name: "Chart.yaml", Content: "apiVersion: v2\nname: a\nversion: 1.0.0\n"}
		for _, resources := range [][]v1alpha1.BundleResource{base, append(base, chart)} {
			in := render.Input{Name: "bundle", Resources: resources, SetID: "default-bundle",
				Options: v1alpha1.Options{YAML: &v1alpha1.YAMLOptions{Overlays: []string{"x"}}}}
			res, err := render.Render(t.Context(), in)
			if (res == nil) == (err == nil) {
				t.Errorf("got %v and %v", res, err)
			}
		}
	})
}

func packed(tb testing.TB, text string) []byte {
	tb.Helper()
	buf := &bytes.Buffer{}
	z := gzip.NewWriter(buf)
	if _, err := z.Write([]byte(text)); err != nil {
		tb.Fatal(err)
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
