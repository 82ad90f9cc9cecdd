// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// BenchmarkRunSnapshot audits a captured downstream cluster of 5,000 objects in ten releases. All objects are ready.
// The measured time does not include reading the capture.
func BenchmarkRunSnapshot(b *testing.B) {
	const releases, perRelease = 10, 500
	src, err := snapshot.Open(b.Context(), []string{"-"}, bytes.NewReader(readyCluster(b, releases, perRelease)))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		found, err := audit.Run(b.Context(), src, audit.Options{})
		if err != nil {
			b.Fatal(err)
		}
		got := found.Report()
		if c := got.Summary.Counts; c.Ready != releases*perRelease || c.Ready != c.Desired {
			b.Fatalf("%d of %d objects are ready, want all of %d; findings %v, gaps %v", c.Ready, c.Desired,
				releases*perRelease, got.Findings, got.Gaps)
		}
	}
}

// fields are a part of an object in JSON.
type fields = map[string]any

// readyCluster is a List of everything in the cluster, as JSON.
func readyCluster(tb testing.TB, releases, perRelease int) []byte {
	tb.Helper()
	var items []any
	for r := range releases {
		namespace := fmt.Sprintf("bundle-%03d", r)
		var manifest strings.Builder
		for i := range perRelease {
			desired := desiredObject(namespace, i)
			document, err := sigsyaml.Marshal(desired)
			if err != nil {
				tb.Fatal(err)
			}
			manifest.WriteString("---\n" + string(document))
			items = append(items, liveObject(desired, namespace))
		}
		items = append(items, recordSecret(tb, namespace, manifest.String()))
	}
	out, err := json.Marshal(fields{"apiVersion": "v1", "kind": "List", "metadata": fields{}, "items": items})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// desiredObject returns by turns a ConfigMap, a Secret, a Service, a Deployment and a ServiceAccount.
func desiredObject(namespace string, i int) fields {
	name := fmt.Sprintf("object-%03d", i)
	labels := fields{"app": name}
	newObject := func(apiVersion, kind string, rest fields) fields {
		o := fields{"apiVersion": apiVersion, "kind": kind, "metadata": fields{"name": name, "namespace": namespace,
			"labels": labels}}
		maps.Copy(o, rest)
		return o
	}
	text := strings.Repeat("some invented text. ", 35)
	switch i % 5 {
	case 0:
		return newObject("v1", "ConfigMap", fields{"data": fields{"level": "info", "text": text}})
	case 1:
		return newObject("v1", "Secret", fields{"type": "Opaque",
			"data": fields{"password": []byte("not a secret: " + name + text)}})
	case 2:
		return newObject("v1", "Service", fields{"spec": fields{"selector": labels, "ports": []any{
			fields{"name": "http", "port": 80, "targetPort": 8080}, fields{"name": "metrics", "port": 9090}}}})
	case 3:
		return newObject("apps/v1", "Deployment", fields{"spec": fields{"replicas": 1,
			"selector": fields{"matchLabels": labels},
			"template": fields{"metadata": fields{"labels": labels}, "spec": fields{"containers": []any{fields{
				"name": "web", "image": "registry.example.com/web:1.2.3",
				"ports":     []any{fields{"name": "http", "containerPort": 8080}},
				"env":       []any{fields{"name": "LEVEL", "value": "info"}},
				"resources": fields{"requests": fields{"cpu": "100m", "memory": "0.5Gi"}}}}}}}})
	}
	return newObject("v1", "ServiceAccount", fields{"automountServiceAccountToken": false})
}

// liveObject adds ownership metadata, managedFields and, if the kind has one, a status to a desired object.
func liveObject(desired fields, bundle string) fields {
	live := maps.Clone(desired)
	meta, _ := desired["metadata"].(fields)
	meta = maps.Clone(meta)
	live["metadata"] = meta
	labels, _ := meta["labels"].(fields)
	labels = maps.Clone(labels)
	labels[fleet.HashLabel], labels[fleet.ManagedByLabel] = fleet.Hash(fleet.SetID(bundle, "")), fleet.ManagedByHelm
	meta["labels"] = labels
	meta["annotations"] = fields{fleet.IDAnnotation: fleet.SetID(bundle, ""),
		fleet.ReleaseNameAnnotation: bundle, fleet.ReleaseNamespaceAnnotation: bundle}
	meta["uid"], meta["resourceVersion"], meta["generation"] = "00000000-0000-4000-8000-000000000000", "1", 1
	owned := fields{}
	for _, leaf := range []string{"replicas", "selector", "template", "ports", "type", "data", "text", "level",
		"password", "spec", "metadata"} {
		owned["f:"+leaf] = fields{".": fields{}, "f:" + fleet.HashLabel: fields{}}
	}
	meta["managedFields"] = []any{fields{"manager": "fleetagent", "operation": "Apply", "apiVersion": "v1",
		"time":       "2026-01-02T03:04:05Z",
		"fieldsType": "FieldsV1", "fieldsV1": owned}}
	if live["kind"] == "Deployment" {
		live["status"] = fields{"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1,
			"availableReplicas": 1,
			"conditions": []any{fields{"type": "Available", "status": "True"},
				fields{"type": "Progressing", "status": "True"}}}
	}
	return live
}

// recordSecret returns the Secret with the release record of a bundle.
func recordSecret(tb testing.TB, bundle, manifest string) fields {
	tb.Helper()
	return revisionSecret(tb, bundle, manifest, 1)
}

// revisionSecret is recordSecret for a revision.
func revisionSecret(tb testing.TB, bundle, manifest string, revision int) fields {
	tb.Helper()
	document, err := json.Marshal(fields{
		"name": bundle, "namespace": bundle, "version": revision, "info": fields{"status": release.StatusDeployed},
		"manifest": manifest,
		"chart": fields{"metadata": fields{"annotations": fields{fleet.BundleIDAnnotation: bundle,
			fleet.AgentNamespaceAnnotation: "cattle-fleet-system"}},
			"files": []any{fields{"name": "raw-yaml/all.yaml", "data": []byte(manifest)}}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(document); err != nil {
		tb.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		tb.Fatal(err)
	}
	name := release.Name{Namespace: bundle, Name: bundle, Revision: revision}
	return fields{"apiVersion": "v1", "kind": "Secret", "type": release.SecretType,
		"metadata": fields{"name": name.SecretName(), "namespace": bundle},
		"data":     fields{release.DataKey: []byte(base64.StdEncoding.EncodeToString(packed.Bytes()))}}
}

// BenchmarkClusters audits a management cluster with one and with fifty captured clusters in addition. Each has one
// release of 500 objects.
func BenchmarkClusters(b *testing.B) {
	for _, n := range []int{1, 50} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var names []string
			var clusters []audit.Cluster
			for i := range n {
				names = append(names, fmt.Sprintf("c%02d", i))
				src, err := snapshot.Open(b.Context(), []string{"-"}, bytes.NewReader(readyCluster(b, 1, 500)))
				if err != nil {
					b.Fatal(err)
				}
				clusters = append(clusters, clusterOf(names[i], src, nil))
			}
			o := audit.Options{Clusters: func(*state.Fleet) ([]audit.Cluster, []source.Gap) { return clusters, nil }}
			management := capture(b, managementOf(names...)...)
			b.ReportAllocs()
			for b.Loop() {
				found, err := audit.Run(b.Context(), management, o)
				if err != nil {
					b.Fatal(err)
				}
				if got := len(found.Clusters); got != n {
					b.Fatalf("%d clusters were read, want %d", got, n)
				}
			}
		})
	}
}
