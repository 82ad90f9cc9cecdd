// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"errors"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TypeError returns a field of a manifest, given as JSON, whose value has a type that a built-in kind does not accept,
// as a sentence that does not quote the value. It is empty if the types are correct, or if the kind is not built in.
func TypeError(gvk schema.GroupVersionKind, manifest []byte) string {
	t := typeOf(gvk)
	if t == nil {
		return ""
	}
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](json.Unmarshal(manifest, reflect.New(t).Interface()))
	if !ok {
		return ""
	}
	return "." + wrong.Field + " has a value that is not of type " + wrong.Type.String()
}
