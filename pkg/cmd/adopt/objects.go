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

// objectTarget is an object on the command line.
type objectTarget struct {
	scope.Object
	typed string
}

// parseArgs parts the arguments that name objects from those that name targets, or cannot be parsed as either.
func parseArgs(args []string) (targets []string, objects []objectTarget, err error) {
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
		objects = append(objects, objectTarget{o, arg})
	}
	return targets, objects, nil
}

// names says whether the target names an object.
func (t objectTarget) names(r object.Ref, kinds *source.Kinds) bool {
	if r.Name != t.Name || t.Namespace != "" && r.Namespace != t.Namespace {
		return false
	}
	k, ok := kinds.Preferred(r.GroupVersionKind().GroupKind())
	if !ok {
		k = source.Kind{GroupVersionKind: r.GroupVersionKind()}
	}
	return k.Called(t.Kind)
}

// pick selects the named objects; nil selects all.
func pick(targets []objectTarget, kinds *source.Kinds) func(object.Ref) bool {
	if len(targets) == 0 {
		return nil
	}
	return func(r object.Ref) bool {
		return slices.ContainsFunc(targets, func(t objectTarget) bool { return t.names(r, kinds) })
	}
}

// settled adds the named objects that need no adoption, with the reason. If no bundle in scope desires a named object, it returns an error.
func settled(targets []objectTarget, found *engine.Audit, items []adopt.Item) ([]adopt.Item, error) {
	for _, t := range targets {
		var desired []*evaluate.Object
		for _, d := range found.Deployments {
			for i := range d.Objects {
				if t.names(d.Objects[i].Ref, found.Kinds) {
					desired = append(desired, &d.Objects[i])
				}
			}
		}
		if len(desired) == 0 {
			return nil, fmt.Errorf("finding %s: no bundle in scope desires this object", t.typed)
		}
		for _, o := range desired {
			if o.State == evaluate.Unowned {
				continue
			}
			items = append(items, adopt.Item{AdoptedObject: report.AdoptedObject{Ref: o.Ref, BundleDeployment: o.Deployment.Key(),
				Release: o.Deployment.Ownership.Release(), Action: report.ActionNone, Message: because(o)}})
		}
	}
	return items, nil
}

func because(o *evaluate.Object) string {
	switch o.State {
	case evaluate.Missing:
		return "the object does not exist: there is nothing to adopt"
	case evaluate.Unknown:
		return "the object could not be read (" + o.Reason + "): its owner is unknown"
	}
	return "the bundle owns the object already"
}
