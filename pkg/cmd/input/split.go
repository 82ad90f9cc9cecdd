// SPDX-License-Identifier: Apache-2.0

package input

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// Split separates the arguments that name objects of Fleet by their kind from all others: KIND/NAME of a deployed
// object, "KIND NAME ...", or one name without a kind. A kind that is similar to one of Fleet stays with the first,
// whose parser suggests the other. namespace is that of --namespace.
func Split(args []string, namespace string) (targets []string, others []Object, err error) {
	if len(args) == 1 && isName(args[0]) {
		return nil, []Object{{Namespace: namespace, Name: args[0]}}, nil
	}
	if len(args) > 0 && isName(args[0]) && NearKind(args[0]) == "" {
		args = KindNames(args)
	}
	inList := false // the argument is a name after a kind
	for _, arg := range args {
		kind, _, slash := strings.Cut(arg, "/")
		switch {
		case IsTargetKind(arg):
			inList = true
		case isTarget(arg), strings.Count(arg, "/") > 1: // no NAME, and no NAMESPACE/NAME
			inList = false
		case !slash && !inList && len(others) > 0:
			return nil, nil, cli.UsageError(fmt.Errorf("parsing argument %q: it must be KIND/NAME", arg))
		}
		namesTarget := IsTargetKind(kind) || NearKind(arg) != ""
		if inList || !slash || namesTarget {
			targets = append(targets, arg)
			continue
		}
		named, err := ParseObject(arg, namespace)
		if err != nil {
			return nil, nil, err
		}
		others = append(others, named)
	}
	return targets, others, nil
}

// isName reports whether an argument is a word that is no kind of targets.
func isName(arg string) bool { return arg != "" && !strings.Contains(arg, "/") && !IsTargetKind(arg) }
