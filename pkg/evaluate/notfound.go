// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// NotFoundError reports that a target does not exist.
type NotFoundError struct {
	Target    Target
	Namespace string
	// Unread is the kind of the target if not every object of it was read; empty otherwise.
	Unread string
	// Known are the names of the targets of this kind that exist, sorted. They have a namespace if the name of the
	// target has one. If its name exists in other namespaces, Elsewhere are the targets there, sorted.
	Known, Elsewhere []string
}

// Error implements error.
func (e *NotFoundError) Error() string {
	text := e.Target.String() + " not found"
	if e.Namespace != "" {
		text += " in namespace " + e.Namespace
	}
	if e.Unread != "" {
		text += fmt.Sprintf(": no bundle deployment is part of it, and not every %s was read", e.Unread)
	}
	return text
}

// Errors are the errors about several names, one for each.
type Errors []error

// Error implements error. The messages are lines.
func (e Errors) Error() string { return errors.Join(e...).Error() }

// Unwrap returns the errors.
func (e Errors) Unwrap() []error { return e }

// Join returns the errors about names as one error, nil without any.
func Join(each []error) error {
	switch len(each) {
	case 0:
		return nil
	case 1:
		return each[0]
	}
	return Errors(each)
}

// NotFound returns the error that a target does not exist in a namespace, or in any if it is empty.
func NotFound(desired *directory.Directory, t Target, namespace string) *NotFoundError {
	e := &NotFoundError{Target: t, Namespace: namespace}
	stated, bare, named := strings.Cut(t.Name, "/")
	if !named {
		stated, bare = namespace, t.Name
	}
	known, elsewhere := map[string]bool{}, map[string]bool{}
	add := func(ns, name string) {
		another := func(than string) bool { return than != "" && ns != "" && ns != than }
		if another(stated) && name == bare {
			elsewhere[t.Kind+"/"+ns+"/"+name] = true
		}
		switch {
		case name == "" || another(namespace):
		case named && ns != "":
			known[ns+"/"+name] = true
		default:
			known[name] = true
		}
	}
	for _, k := range state.Subjects {
		if !t.is(k.Name) || desired.Fleet == nil {
			continue
		}
		for _, o := range k.Of(desired.Fleet) {
			add(o.GetNamespace(), o.GetName())
		}
		if k.Name != state.BundleDeployment && !desired.Read(k.Name, stated) {
			e.Unread = k.Name
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
	e.Known, e.Elsewhere = slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(elsewhere))
	return e
}
