// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// mergedInto returns the live object after the changes between it and the desired one are merged into it, as Helm and
// Fleet's agent do. typ is the type of a built-in kind, nil for any other kind.
func mergedInto(typ reflect.Type, desired, live object.Content) (object.Content, error) {
	d, dErr := json.Marshal(withoutNull(desired))
	l, lErr := json.Marshal(live)
	if err := errors.Join(dErr, lErr); err != nil {
		return nil, err
	}
	raw, err := merge(typ, d, l)
	if err != nil {
		return nil, err
	}
	out, _, err := object.Decode(raw)
	return out, err
}

func merge(typ reflect.Type, desired, live []byte) ([]byte, error) {
	if typ == nil {
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(desired, desired, live)
		if err != nil {
			return nil, err
		}
		return jsonpatch.MergePatch(live, patch)
	}
	like := reflect.New(typ).Interface()
	meta, err := strategicpatch.NewPatchMetaFromStruct(like)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(desired, desired, live, meta, true)
	if err != nil {
		return nil, err
	}
	return strategicpatch.StrategicMergePatch(live, patch, like)
}

// volatile are the fields of metadata that a server sets at each write.
var volatile = []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"}

// MergePatch returns the JSON merge patch that changes one state of an object into another one. It ignores what a
// server sets, and the status.
func MergePatch(from, to object.Content) ([]byte, error) {
	a, aErr := json.Marshal(Stored(from))
	b, bErr := json.Marshal(Stored(to))
	if err := errors.Join(aErr, bErr); err != nil {
		return nil, err
	}
	return jsonpatch.CreateMergePatch(a, b)
}

// HasMerged reports whether a JSON merge patch changes nothing in an object.
func HasMerged(content object.Content, patch []byte) bool {
	before, err := json.Marshal(Stored(content))
	if err != nil {
		return false
	}
	after, err := jsonpatch.MergePatch(before, patch)
	return err == nil && jsonpatch.Equal(before, after)
}

// Stored returns an object without its status and what a server sets.
func Stored(content object.Content) object.Content {
	out := make(object.Content, len(content))
	for name, v := range content {
		if name != "status" {
			out[name] = v
		}
	}
	if m, ok := out["metadata"].(map[string]any); ok {
		kept := make(map[string]any, len(m))
		for name, v := range m {
			if !slices.Contains(volatile, name) {
				kept[name] = v
			}
		}
		out["metadata"] = kept
	}
	return out
}

// withoutNull returns a value without the fields that are null: in a merge they would remove what is there.
func withoutNull(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			if member != nil {
				out[name] = withoutNull(member)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutNull(v[i])
		}
		return out
	}
	return v
}

// Inverse returns the JSON merge patch that undoes another one on an object.
func Inverse(content object.Content, patch []byte) ([]byte, error) {
	before, err := json.Marshal(Stored(content))
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return nil, err
	}
	return jsonpatch.CreateMergePatch(after, before)
}
