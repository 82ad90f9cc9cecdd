// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// NotFoundError reports that a target does not exist.
type NotFoundError struct {
	Target    Target
	Namespace string
	// Known are the names of the targets of this kind that exist, sorted. They have a namespace if the name of the target has one.
	Known []string
}

// Error implements error.
func (e *NotFoundError) Error() string {
	where := ""
	if e.Namespace != "" {
		where = " in namespace " + e.Namespace
	}
	return fmt.Sprintf("finding %s%s: not found, or without a bundle deployment", e.Target, where)
}

// NotFound returns the error that a target does not exist in a namespace, or in any if it is empty.
func NotFound(desired *resolve.DesiredState, t Target, namespace string) *NotFoundError {
	known := map[string]bool{}
	add := func(ns, name string) {
		switch {
		case name == "" || namespace != "" && ns != "" && ns != namespace:
		case strings.Contains(t.Name, "/") && ns != "":
			known[ns+"/"+name] = true
		default:
			known[name] = true
		}
	}
	for _, k := range state.Kinds {
		if t.is(k.Name) && desired.Fleet != nil {
			for _, o := range k.Of(desired.Fleet) {
				add(o.GetNamespace(), o.GetName())
			}
		}
	}
	for _, d := range desired.Deployments { // on a downstream cluster, only releases are known
		if t.is(state.BundleDeployment) {
			add(d.Namespace, d.Name)
		}
		for kind, key := range d.Parents() {
			if ns, name, ok := strings.Cut(key, "/"); t.is(kind) && ok {
				add(ns, name)
			}
		}
	}
	return &NotFoundError{Target: t, Namespace: namespace, Known: slices.Sorted(maps.Keys(known))}
}
