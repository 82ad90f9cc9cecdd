// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"
	"strings"

	"reflect"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Count returns a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// List returns up to three names, and the number of the others.
func List(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Ref returns the reference of one of Fleet's own objects.
func Ref(kind, namespace, name string) object.Ref {
	return object.Ref{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Namespace: namespace, Name: name}
}

// RefOf returns the reference of the object of an aggregate.
func RefOf(a *evaluate.Aggregate) object.Ref {
	return Ref(a.Kind, a.Object.GetNamespace(), a.Object.GetName())
}

// Key returns "namespace/name" of an object.
func Key(o v1alpha1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

// RefTo returns the reference of one of Fleet's own objects. The names of its types are those of the kinds.
func RefTo(o v1alpha1.Object) object.Ref {
	return Ref(reflect.TypeOf(o).Elem().Name(), o.GetNamespace(), o.GetName())
}
