// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"reflect"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
)

// other returns another value of the same type; false for null, a list or a map.
func other(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		return v + "x", true
	case bool:
		return !v, true
	case int64:
		return v ^ 1, true
	case float64:
		if v == 0 {
			return 1.0, true
		}
		return -v, true
	}
	return nil, false
}

// ignored reports whether a comparison ignores a place.
func ignored(p place, object map[string]any) bool {
	path := p.path.String()
	switch {
	case path == ".kind" || path == ".apiVersion", path == ".status", strings.HasPrefix(path, ".status."),
		strings.HasPrefix(path, ".status["):
		return true
	case strings.Contains(path, "objectset.rio.cattle.io/"):
		return true
	case strings.HasPrefix(path, ".metadata."):
		switch p.tokens[1] {
		case "labels":
			return object["kind"] == "Namespace" && p.name == "kubernetes.io/metadata.name"
		case "annotations", "finalizers", "ownerReferences":
			return false
		}
		return true
	case strings.HasPrefix(path, ".rules"):
		return object["aggregationRule"] != nil
	case p.name == "caBundle":
		return p.value == "Cg=="
	case strings.HasPrefix(path, ".data."):
		plain, _ := object["stringData"].(map[string]any)
		return plain[p.name] != nil
	case strings.HasPrefix(path, ".subsets"):
		return object["kind"] == "Endpoints" // sorted before they are compared: TestEdges
	}
	return false
}

// filled reports whether the server may write the live value if the manifest states zero.
func filled(p place, live any) bool {
	if !reflect.ValueOf(p.value).IsZero() {
		return false
	}
	f := compare.Field{Struct: p.in, Name: p.name}
	if compute := compare.ComputedDefaults[f]; compute != nil {
		return reflect.DeepEqual(compute(p.siblings), live)
	}
	want, ok := compare.Defaults[f]
	return ok && reflect.DeepEqual(want, live) || compare.Allocated.Has(f)
}
