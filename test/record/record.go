// SPDX-License-Identifier: Apache-2.0

// Package record creates release records for tests without a cluster, as Helm stores them for Fleet's agent.
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

// Record describes one revision of a release. The defaults are revision 1, deployed, in namespace web, by the
// agent in cattle-fleet-system, with the name of its bundle.
type Record struct {
	Bundle, Namespace string
	Revision          int
	Status            string
	AgentNamespace    string
	ServiceAccount    string
	// Plain makes a release without Fleet.
	Plain bool
	// SetID is the set of the objects; by default the bundle's own.
	SetID string
	// Hash replaces the hash of the set in the manifest.
	Hash string
	// Generate uses the names of the objects as their generateName.
	Generate bool
	Objects  []object.Ref
}

// Value returns the record as the Secret contains it under release.DataKey, without the API's own base64.
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
	annotations := map[string]string{fleet.BundleIDAnnotation: r.Bundle,
		fleet.AgentNamespaceAnnotation: r.AgentNamespace,
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
		return nil // encoding these types does not fail
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
			fmt.Fprintf(&out, "  labels:\n    %s: %q\n  annotations:\n    %s: %s\n", fleet.HashLabel, hash,
				fleet.IDAnnotation, id)
		}
	}
	return out.String()
}

// ConfigMaps returns the names of n ConfigMaps: object-0 and so on. The namespace may be empty.
func ConfigMaps(namespace string, n int) []object.Ref {
	out := make([]object.Ref, n)
	for i := range out {
		out[i] = object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: fmt.Sprintf("object-%d",
			i)}
	}
	return out
}
