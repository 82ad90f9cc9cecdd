// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// The data were taken at 08:00:00. A change at `recent` may belong to an update in progress.
const (
	taken  = "2026-11-20T08:00:00Z"
	recent = "2026-11-20T07:59:30Z"
	past   = "2026-11-20T07:00:00Z"

	someValues = `{"key":"invented-value"}`
)

type document = map[string]any

// estate is a management cluster, as the objects by kind, namespace and name.
type estate map[string]document

func (e estate) add(d document) document {
	meta := child(d, "metadata")
	e[fmt.Sprint(d["kind"], "/", meta["namespace"], "/", meta["name"])] = d
	return d
}

// newEstate is a management cluster with a controller, a Secret of a user, and the time at which it was read.
func newEstate(version string) estate {
	e := estate{}
	e.add(document{"apiVersion": "v1", "kind": "Namespace", "metadata": document{"name": "web",
		"creationTimestamp": taken}})
	container := document{"image": "registry.example.com/fleet:" + version}
	e.add(document{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata":   document{"name": "fleet-controller", "namespace": "cattle-fleet-system"},
		"spec":       document{"template": document{"spec": document{"containers": []any{container}}}},
	})
	e.add(document{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "GitRepo", "metadata": document{"name": "apps",
		"namespace": "fleet-local"}})
	e.secret("web", "login", "Opaque", "", past)
	return e
}

func managed(subresource, time string) document {
	return document{"manager": "fleetcontroller", "operation": "Update", "subresource": subresource, "time": time,
		"fieldsV1": document{"f:spec": document{}, "f:data": document{}}}
}

// deployment adds a BundleDeployment and its Secret, which are right and changed at a time.
func (e estate) deployment(name, changed string) (bd, secret document) {
	data := map[string][]byte{values.KeyValues: []byte(someValues), values.KeyStaged: []byte(someValues)}
	bd = e.add(document{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "BundleDeployment",
		"metadata": document{"name": name, "namespace": "cluster-one", "uid": "uid-" + name, "generation": 2,
			"creationTimestamp": past,
			"labels": document{"fleet.cattle.io/bundle-namespace": "fleet-local",
				"fleet.cattle.io/bundle-name": name, "fleet.cattle.io/repo-name": "apps"},
			"managedFields": []any{managed("", changed), managed("status", taken)}},
		"spec": document{"deploymentID": "id", "stagedDeploymentID": "id",
			"valuesHash": values.DeploymentHash(data[values.KeyValues], data[values.KeyStaged])}})
	secret = e.secret("cluster-one", name, values.DeploymentType, "BundleDeployment", changed)
	secret["data"] = data
	return bd, secret
}

// bundle adds a Bundle and its Secret, which are right and changed at a time.
func (e estate) bundle(name, changed string) (bundle, secret document) {
	data := map[string][]byte{"values.yaml": []byte(someValues)}
	hash, _ := values.BundleHash(data)
	bundle = e.add(document{
		"apiVersion": "fleet.cattle.io/v1alpha1",
		"kind":       "Bundle",
		"metadata": document{
			"name":              name,
			"namespace":         "fleet-local",
			"uid":               "uid-" + name,
			"generation":        2,
			"creationTimestamp": past,
			"labels":            document{"fleet.cattle.io/repo-name": "apps"},
			"managedFields":     []any{managed("", changed)},
		},
		"spec":   document{"valuesHash": hash},
		"status": document{"observedGeneration": 2},
	})
	secret = e.secret("fleet-local", name, values.BundleType, "Bundle", changed)
	secret["data"] = data
	return bundle, secret
}

func (e estate) secret(namespace, name, secretType, owner, changed string) document {
	meta := document{"name": name, "namespace": namespace, "uid": "secret-" + name, "creationTimestamp": past,
		"managedFields": []any{managed("", changed)}}
	if owner != "" {
		meta["ownerReferences"] = []any{document{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": owner, "name": name,
			"uid": "uid-" + name, "controller": true}}
	}
	return e.add(document{"apiVersion": "v1", "kind": "Secret", "type": secretType, "metadata": meta,
		"data": map[string][]byte{"word": []byte("invented-value")}})
}

func (e estate) removeSecret(namespace, name string) { delete(e, "Secret/"+namespace+"/"+name) }

// open returns the management cluster as a snapshot in which every kind was captured.
func (e estate) open(t *testing.T) source.Source {
	t.Helper()
	c := cases.Capture{}
	lists := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(e)) {
		c.Documents = append(c.Documents, e[key])
		lists[fmt.Sprint(e[key]["kind"])] = e[key]["apiVersion"]
	}
	for kind, version := range lists {
		c.Documents = append(c.Documents, document{"apiVersion": version, "kind": kind + "List", "metadata": document{},
			"items": []any{}})
	}
	s, err := c.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// child returns a part of a document, which is added if there is none.
func child(d document, name string) document {
	out, ok := d[name].(document)
	if !ok {
		out = document{}
		d[name] = out
	}
	return out
}
