// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// TestManifestID checks the examples of docs/fleet-behavior.md, 2.1.
func TestManifestID(t *testing.T) {
	for name, tc := range map[string]struct {
		resources []v1alpha1.BundleResource
		want      string
	}{
		"one file": {[]v1alpha1.BundleResource{{Name: "foo", Content: "bar"}},
			"s-b538e5004002a3ba4700d90b52d258f575e288e584c03e0e301f2032e937f"},
		"no file": {nil, "s-ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442"},
		"characters of HTML": {[]v1alpha1.BundleResource{{Name: "cm.yaml",
			Content: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cfg\ndata:\n  a: \"1 < 2 & 3\"\n"}},
			"s-8ec83e9f3ffa79187784c4af4ed8ddc407a5dd34adbe38600c93fc0f5b8cf"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := ManifestID(tc.resources); err != nil || got != tc.want {
				t.Errorf("got %s, %v, want %s", got, err, tc.want)
			}
		})
	}
}

// TestManifestIDOrder checks that the order of the files, which a user of the API chooses, changes the id.
func TestManifestIDOrder(t *testing.T) {
	a, b := v1alpha1.BundleResource{Name: "a"}, v1alpha1.BundleResource{Name: "b"}
	x, errX := ManifestID([]v1alpha1.BundleResource{a, b})
	y, errY := ManifestID([]v1alpha1.BundleResource{b, a})
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
		{"as stored", v1alpha1.Content{Content: packed(t, document), SHA256Sum: sum},
			[]v1alpha1.BundleResource{{Name: "foo", Content: "bar"}}, ""},
		{"without a checksum", v1alpha1.Content{Content: packed(t, document)},
			[]v1alpha1.BundleResource{{Name: "foo", Content: "bar"}}, ""},
		{"no files", v1alpha1.Content{Content: packed(t, "{}\n")}, nil, ""},
		{"changed document", v1alpha1.Content{Content: packed(t, strings.Replace(document, "bar", "baz", 1)),
			SHA256Sum: sum}, nil, "its document does not match its sha256sum"},
		{"data after the document", v1alpha1.Content{Content: packed(t, document+" "), SHA256Sum: sum}, nil,
			"its document does not match its sha256sum"},
		{"not gzip", v1alpha1.Content{Content: []byte(document)}, nil, "it is not gzip"},
		{"truncated", v1alpha1.Content{Content: packed(t, document)[:30]}, nil, "its gzip is damaged or truncated"},
		{"not JSON", v1alpha1.Content{Content: packed(t, "hunter2")}, nil, "its document is not a manifest document"},
		{"too large", v1alpha1.Content{Content: packed(t, strings.Repeat(" ", 64<<20+1))}, nil, errTooLarge.Error()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.content.Name = "s-1"
			got, err := DecodeContent(&tc.content)
			if text := message(err); text != "" && text != "decoding content s-1: "+tc.err || text == "" &&
				tc.err != "" {
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
		{"base64+zip", "dGV4dA==", "text", ""}, // an unknown encoding is ignored
		{"utf-8", "text", "text", ""},
		{"base64", "hunter2!", "", "decoding f: its content is not valid base64"},
		{"base64+gz", "dGV4dA==", "", "decoding f: it is not gzip"},
	} {
		got, err := decodeResource(v1alpha1.BundleResource{Name: "f", Content: tc.content, Encoding: tc.encoding},
			maxBytes)
		if string(got) != tc.want || message(err) != tc.err {
			t.Errorf("%q of %q: got %q, %v", tc.encoding, tc.content, got, err)
		}
	}
}

// TestTotalSize checks that the limit is for all files together.
func TestTotalSize(t *testing.T) {
	zipped := base64.StdEncoding.EncodeToString(packed(t, strings.Repeat(" ", 1<<20)))
	var resources []v1alpha1.BundleResource
	for range 65 {
		resources = append(resources, v1alpha1.BundleResource{Name: "f.yaml", Content: zipped, Encoding: "base64+gz"})
	}
	_, err := Render(t.Context(), Input{Name: "b", Resources: resources}, nil)
	if refused, ok := errors.AsType[*Error](err); !ok || !strings.HasSuffix(refused.Reason, errTooLarge.Error()) {
		t.Errorf("got %v", err)
	}
}

func FuzzDecodeContent(f *testing.F) {
	f.Add(packed(f, `{"resources":[{"name":"a.yaml","content":"a","encoding":"base64+gz"}]}`), "")
	f.Add(packed(f, `{"resources":[{"name":"a.yaml","content":"H4sIAAAAAAAA/w==","encoding":"base64+gz"}]}`), "x")
	f.Add([]byte{0x1f, 0x8b, 8, 0}, "")
	f.Fuzz(func(t *testing.T, data []byte, sum string) {
		resources, err := DecodeContent(&v1alpha1.Content{Content: data, SHA256Sum: sum})
		if err != nil {
			return
		}
		for _, r := range resources {
			if out, err := decodeResource(r, maxBytes); err == nil && len(out) > 64<<20 {
				t.Errorf("unpacked to %d bytes", len(out))
			}
		}
		if id, err := ManifestID(resources); err != nil || len(id) != 63 {
			t.Errorf("got %q, %v", id, err)
		}
	})
}

// FuzzRender adds a file with any name and content to a bundle. Every step that reads files must return a result or an
// error.
func FuzzRender(f *testing.F) {
	f.Add("cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	f.Add("Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.0.0\n")
	f.Add("kustomization.yaml", "resources: [b.yaml]\npatches: [{path: b.yaml}]\n")
	f.Add("overlays/x/b_patch.yaml", "- {op: copy, from: /metadata, path: /metadata/x}\n")
	f.Add("templates/a.yaml", "{{ randAlphaNum 3 }}")
	f.Add("values.schema.json", `{"$ref": "#/x"}`)
	f.Fuzz(func(t *testing.T, name, content string) {
		if strings.Contains(content, "range") || strings.Contains(content, "until") ||
			strings.Contains(content, "repeat") || strings.Contains(content, "gen") {
			return // a template is a program and may not end
		}
		base := []v1alpha1.BundleResource{{Name: name, Content: content},
			{Name: "b.yaml", Content: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"}}
		chart := v1alpha1.BundleResource{Name: "Chart.yaml", Content: "apiVersion: v2\nname: a\nversion: 1.0.0\n"}
		for _, resources := range [][]v1alpha1.BundleResource{base, append(base, chart)} {
			in := Input{Name: "bundle", Resources: resources, SetID: "default-bundle",
				Options: v1alpha1.Options{YAML: &v1alpha1.YAMLOptions{Overlays: []string{"x"}}}}
			res, err := Render(t.Context(), in, nil)
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
