// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// BenchmarkDecodeRecord reads a record with 500 objects: the record alone, with the objects of its manifest, and with
// their metadata.
func BenchmarkDecodeRecord(b *testing.B) {
	const objects = 500
	value := recordOf(b, manifestOf(objects))
	b.Run("record", func(b *testing.B) {
		b.SetBytes(int64(len(value)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Decode(value); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, read := range map[string]func(*Record) ([]Object, error){
		"objects": (*Record).Objects, "metadata": (*Record).ObjectMetadata,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(value)))
			b.ReportAllocs()
			for b.Loop() {
				r, err := Decode(value)
				if err != nil {
					b.Fatal(err)
				}
				if got, err := read(r); err != nil || len(got) != objects {
					b.Fatalf("%d objects, error %v; want %d", len(got), err, objects)
				}
			}
		})
	}
}

// BenchmarkManifest reads a manifest with 500 objects: the objects, their metadata, and the objects with the library.
// The floor is decoding the same objects from JSON.
func BenchmarkManifest(b *testing.B) {
	r := Record{Manifest: manifestOf(500)}
	objects, err := r.Objects()
	if err != nil {
		b.Fatal(err)
	}
	run := func(name string, read func() error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(r.Manifest)))
			b.ReportAllocs()
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("objects", func() error {
		_, err := r.Objects()
		return err
	})
	run("metadata", func() error {
		_, err := r.ObjectMetadata()
		return err
	})
	run("library", func() error {
		var out []Object
		for doc := range documents(r.Manifest) {
			raw, err := sigsyaml.YAMLToJSON([]byte(doc))
			if err != nil {
				return err
			}
			if out, err = appendObjects(out, raw, 0); err != nil {
				return err
			}
		}
		return nil
	})
	run("floor", func() error {
		for _, o := range objects {
			if _, _, err := object.Decode(o.Raw); err != nil {
				return err
			}
		}
		return nil
	})
}

// manifestOf returns a manifest in the form of Fleet's agent, with Deployments and ConfigMaps.
func manifestOf(objects int) string {
	const deployment = `---
apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    app: web-%[1]d
  name: web-%[1]d
  namespace: shop
spec:
  replicas: 2
  selector:
    matchLabels:
      app: web-%[1]d
  template:
    metadata:
      labels:
        app: web-%[1]d
    spec:
      containers:
      - env:
        - name: LEVEL
          value: "3"
        image: registry.example.com/web:1.%[1]d.0
        name: web
        ports:
        - containerPort: 8080
          name: http
        resources:
          limits:
            memory: 512Mi
          requests:
            cpu: 100m
`
	const configMap = `---
apiVersion: v1
data:
  application.properties: |
%[2]s  retries: "3"
kind: ConfigMap
metadata:
  labels:
    app: web-%[1]d
  name: web-%[1]d
  namespace: shop
`
	var out strings.Builder
	for i := range objects {
		if i%2 == 0 {
			fmt.Fprintf(&out, deployment, i)
			continue
		}
		var text strings.Builder
		for line := range 20 {
			fmt.Fprintf(&text, "    key.number.%d = value %d of %d\n", line, line*i, i)
		}
		fmt.Fprintf(&out, configMap, i, text.String())
	}
	return out.String()
}

// recordOf returns a record as the value in a Secret. As in a record of Fleet's agent, the chart contains the manifest
// too, as a file.
func recordOf(tb testing.TB, manifest string) []byte {
	tb.Helper()
	document, err := json.Marshal(map[string]any{
		"name": "shop", "namespace": "shop", "version": 1, "apply_method": "ssa",
		"info": map[string]any{"status": "deployed"},
		"chart": map[string]any{
			"metadata": map[string]any{"name": "shop",
				"annotations": map[string]string{"fleet.cattle.io/bundle-id": "shop"}},
			"files": []any{map[string]any{"name": "raw-yaml/all.yaml", "data": []byte(manifest)}},
		},
		"manifest": manifest,
	})
	if err != nil {
		tb.Fatal(err)
	}
	var out bytes.Buffer
	encoder := base64.NewEncoder(base64.StdEncoding, &out)
	zip, err := gzip.NewWriterLevel(encoder, gzip.BestCompression) // Helm's level
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := zip.Write(document); err != nil {
		tb.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		tb.Fatal(err)
	}
	if err := encoder.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}
