// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"

	jsonpatch "gomodules.xyz/jsonpatch/v2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// respond is the response to the API server, with annotations for its audit log.
func respond(req Request, d Decision) admission.Response {
	out := admission.Allowed("")
	if d.denial != nil {
		out = admission.Denied(d.denial.Error())
	}
	if len(d.set) > 0 {
		out.Patches = patch(req.New, d.set)
	}
	for _, w := range d.warnings {
		out.Warnings = append(out.Warnings, w.String())
	}
	out.AuditAnnotations = map[string]string{"decision": string(d.action), "reason": string(d.reason)}
	if d.release.Bundle != "" {
		out.AuditAnnotations["bundle"] = d.release.Bundle
	}
	return out
}

// patch writes keys into an object.
func patch(m *object.Meta, set map[string]string) []jsonpatch.JsonPatchOperation {
	labels := add("/metadata/labels", m.Metadata.Labels, set, true)
	return append(labels, add("/metadata/annotations", m.Metadata.Annotations, set, false)...)
}

// add writes those keys of set that are labels, or those that are annotations. It creates a map that does not exist,
// because RFC 6902 cannot add to it.
func add(path string, have, set map[string]string, labels bool) []jsonpatch.JsonPatchOperation {
	var out []jsonpatch.JsonPatchOperation
	values := map[string]string{}
	for _, k := range ownership.Keys() {
		if v, ok := set[k.Name]; ok && k.Label == labels {
			values[k.Name] = v
			out = append(out, jsonpatch.NewOperation("add", path+"/"+strings.ReplaceAll(k.Name, "/", "~1"), v))
		}
	}
	if have == nil && len(values) > 0 {
		return []jsonpatch.JsonPatchOperation{jsonpatch.NewOperation("add", path, values)}
	}
	return out
}
