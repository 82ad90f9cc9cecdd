// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/complete"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/scope"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// parseArgs separates the arguments that name objects from all others, which must be targets.
func parseArgs(args []string) (targets []string, objects []scope.Object, err error) {
	for _, arg := range args {
		kind, _, slash := strings.Cut(arg, "/")
		if !slash || scope.IsTargetKind(kind) {
			targets = append(targets, arg)
			continue
		}
		o, err := scope.ParseObject(arg)
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

// names returns whether the argument names the object.
func names(arg scope.Object, r object.Ref, kinds *source.Kinds) bool {
	if r.Name != arg.Name || arg.Namespace != "" && r.Namespace != arg.Namespace {
		return false
	}
	k, ok := kinds.Preferred(r.GroupVersionKind().GroupKind())
	if !ok {
		k = source.Kind{GroupVersionKind: r.GroupVersionKind()}
	}
	return k.Called(arg.Kind)
}
