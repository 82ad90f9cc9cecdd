// SPDX-License-Identifier: Apache-2.0

package input

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Object is an object on the command line: KIND/NAME or KIND/NAMESPACE/NAME.
type Object = source.Named

// ParseObject parses an argument that names an object. namespace is that of --namespace, for an argument that states
// none. No part may be empty: an empty namespace, from a variable that is not set, would select all namespaces. Its
// errors are usage errors.
func ParseObject(arg, namespace string) (Object, error) {
	parts := strings.Split(arg, "/")
	switch {
	case slices.Contains(parts, ""):
	case len(parts) == 2:
		return Object{Kind: parts[0], Namespace: namespace, Name: parts[1]}, nil
	case len(parts) == 3:
		return Object{Kind: parts[0], Namespace: parts[1], Name: parts[2]}, sameNamespace(arg, parts[1], namespace)
	}
	return Object{}, cli.UsageError(fmt.Errorf("parsing argument %q: it must be KIND/NAME or KIND/NAMESPACE/NAME",
		arg))
}

// ParseObjects parses arguments of the form KIND/NAME or KIND NAME, as ParseObject does.
func ParseObjects(args []string, namespace string) ([]Object, error) {
	var objects []Object
	for _, arg := range KindNames(args) {
		named, err := ParseObject(arg, namespace)
		if err != nil {
			return nil, err
		}
		objects = append(objects, named)
	}
	return objects, nil
}

// sameNamespace returns an error of usage if an argument states a namespace that is not that of --namespace.
func sameNamespace(arg, stated, namespace string) error {
	if namespace == "" || stated == namespace {
		return nil
	}
	err := fmt.Errorf("argument %q is in namespace %s, but --namespace is %s", arg, stated, namespace)
	return &cli.Error{Status: cli.ExitUsage, Err: err, Hint: "Leave out --namespace, or the namespace in the argument."}
}

// KindNames returns the arguments as KIND/NAME. As in kubectl, "KIND NAME ..." is valid too.
func KindNames(args []string) []string {
	if len(args) < 2 || strings.Contains(args[0], "/") {
		return args
	}
	var out []string
	for _, name := range args[1:] {
		out = append(out, args[0]+"/"+name)
	}
	return out
}
