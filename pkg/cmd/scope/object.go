// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"fmt"
	"slices"
	"strings"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

// Object is an object on the command line: KIND/NAME or KIND/NAMESPACE/NAME.
type Object = engine.Named

// ParseObject parses an argument that names an object. No part may be empty: an empty namespace, from a variable that is not set, would
// select all namespaces. Its errors are usage errors.
func ParseObject(arg string) (Object, error) {
	parts := strings.Split(arg, "/")
	switch {
	case slices.Contains(parts, ""):
	case len(parts) == 2:
		return Object{Kind: parts[0], Name: parts[1]}, nil
	case len(parts) == 3:
		return Object{Kind: parts[0], Namespace: parts[1], Name: parts[2]}, nil
	}
	return Object{}, exit.UsageError(fmt.Errorf("parsing argument %q: it must be KIND/NAME or KIND/NAMESPACE/NAME", arg))
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

// ClusterName returns the name in an argument that is NAME, cluster/NAME or cluster/NAMESPACE/NAME.
func ClusterName(arg string) string {
	if kind, name, ok := strings.Cut(arg, "/"); ok && targetKind(kind) == evaluate.TargetCluster {
		return name
	}
	return arg
}

// IsBundle reports whether a word names the kind Bundle.
func IsBundle(word string) bool { return targetKind(word) == evaluate.TargetBundle }
