// SPDX-License-Identifier: Apache-2.0

// Package record makes release records for tests that have no cluster, as Helm would store them for Fleet's agent.
package record

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Record describes one revision of a release. The zero value is filled in: revision 1, deployed, in namespace web, by the agent in
// cattle-fleet-system, named as its bundle.
type Record struct {
	Bundle, Namespace string
	Revision          int
	Status            string
	AgentNamespace    string
	ServiceAccount    string
	// Plain says that it is none of Fleet's.
	Plain bool
	// SetID is the bundle's own where it is empty.
	SetID string
	// Hash stands in the manifest in place of that of the bundle's set.
	Hash string
	// Generate says that the objects' names are only what names begin with.
	Generate bool
	Objects  []object.Ref
}

// Value returns the record as a Secret holds it under release.DataKey, once the API's own base64 is off.
func (r Record) Value() []byte {
	if r.Namespace == "" {
		r.Namespace = "web"
	}
	if r.Revision == 0 {
		r.Revision = 1
	}
	if r.Status == "" {
		r.Status = "deployed"
	}
	if r.AgentNamespace == "" {
		r.AgentNamespace = "cattle-fleet-system"
	}
	annotations := map[string]string{fleet.BundleIDAnnotation: r.Bundle, fleet.AgentNamespaceAnnotation: r.AgentNamespace,
		fleet.ServiceAccountAnnotation: r.ServiceAccount}
	if r.Plain {
		annotations = nil
	}
	document, err := json.Marshal(map[string]any{
		"name": r.Bundle, "namespace": r.Namespace, "version": r.Revision, "info": map[string]any{"status": r.Status},
		"chart":    map[string]any{"metadata": map[string]any{"name": r.Bundle, "annotations": annotations}},
		"manifest": r.manifest(),
	})
	if err != nil {
		return nil // a map of strings is JSON
	}
	return []byte(base64.StdEncoding.EncodeToString(document))
}

func (r Record) manifest() string {
	var out strings.Builder
	id, name := cmp.Or(r.SetID, fleet.SetID(r.Bundle, "")), "name"
	hash := cmp.Or(r.Hash, fleet.Hash(id))
	if r.Generate {
		name = "generateName"
	}
	for _, o := range r.Objects {
		fmt.Fprintf(&out, "---\napiVersion: %s\nkind: %s\nmetadata:\n  %s: %q\n", o.APIVersion, o.Kind, name, o.Name)
		if o.Namespace != "" {
			fmt.Fprintf(&out, "  namespace: %s\n", o.Namespace)
		}
		if !r.Plain {
			fmt.Fprintf(&out, "  labels:\n    %s: %q\n  annotations:\n    %s: %s\n", fleet.HashLabel, hash, fleet.IDAnnotation, id)
		}
	}
	return out.String()
}

// ConfigMaps names n ConfigMaps of a namespace, which may be empty: object-0 and so on.
func ConfigMaps(namespace string, n int) []object.Ref {
	out := make([]object.Ref, n)
	for i := range out {
		out[i] = object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: fmt.Sprintf("object-%d", i)}
	}
	return out
}
