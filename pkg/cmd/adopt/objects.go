// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/adopt"
	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/scope"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
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

// pick selects the named objects; nil selects all.
func pick(args []scope.Object, kinds *source.Kinds) func(object.Ref) bool {
	if len(args) == 0 {
		return nil
	}
	return func(r object.Ref) bool {
		return slices.ContainsFunc(args, func(arg scope.Object) bool { return names(arg, r, kinds) })
	}
}

// addNamed adds the named objects that need no adoption, with the reason. It returns an error if no bundle in scope desires a named object.
func addNamed(args []scope.Object, found *engine.Audit, items []adopt.Item) ([]adopt.Item, error) {
	for _, arg := range args {
		desired := false
		for _, d := range found.Deployments {
			for i := range d.Objects {
				o := &d.Objects[i]
				if !names(arg, o.Ref, found.Kinds) {
					continue
				}
				desired = true
				if o.State != evaluate.Unowned {
					items = append(items, adopt.Item{AdoptedObject: report.AdoptedObject{Ref: o.Ref, BundleDeployment: d.Key(),
						Release: d.Ownership.Release(), Action: report.ActionNone, Message: because(o)}})
				}
			}
		}
		if !desired {
			return nil, fmt.Errorf("finding %s: no bundle in scope desires this object", arg)
		}
	}
	return items, nil
}

// because returns why the object needs no adoption.
func because(o *evaluate.Object) string {
	switch o.State {
	case evaluate.Missing:
		return "the object does not exist: there is nothing to adopt"
	case evaluate.Unknown:
		return "the object could not be read (" + o.Reason + "): its owner is unknown"
	}
	return "the bundle owns the object already"
}
