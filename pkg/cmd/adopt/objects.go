// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/complete"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/scope"
)

// parseArgs separates the arguments that name objects from all others, which must be targets. namespace is that of
// --namespace.
func parseArgs(args []string, namespace string) (targets []string, objects []scope.Object, err error) {
	for _, arg := range args {
		kind, _, slash := strings.Cut(arg, "/")
		if !slash || scope.IsTargetKind(kind) {
			targets = append(targets, arg)
			continue
		}
		o, err := scope.ParseObject(arg, namespace)
		if err != nil {
			return nil, nil, err
		}
		objects = append(objects, o)
	}
	return targets, objects, nil
}

// completeArgs completes targets and objects.
func completeArgs(c *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if kind, _, slash := strings.Cut(toComplete, "/"); slash && !scope.IsTargetKind(kind) {
		return complete.Objects(c, args, toComplete)
	}
	return scope.CompleteTargets(c, args, toComplete)
}
