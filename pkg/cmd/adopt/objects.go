// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/adopt"
	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/origin"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// objectTarget is one object that was named.
type objectTarget struct {
	origin.Object
	typed string
}

// checkObjects refuses arguments that name an object and cannot be read.
func checkObjects(_ *cobra.Command, args []string) error {
	for _, arg := range args {
		if kind, _, slash := strings.Cut(arg, "/"); !slash || origin.IsTargetKind(kind) {
			continue
		}
		if _, err := origin.ParseObject(arg); err != nil {
			return err
		}
	}
	return nil
}

// objectTargets parts the arguments that name objects from those that name something of Fleet's, or nothing that can be read.
func objectTargets(args []string) (targets []string, objects []objectTarget) {
	for _, arg := range args {
		o, err := origin.ParseObject(arg)
		if err != nil || origin.IsTargetKind(o.Kind) {
			targets = append(targets, arg)
			continue
		}
		objects = append(objects, objectTarget{o, arg})
	}
	return targets, objects
}

// names says whether an object is meant.
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

// pick takes the named objects, nil where none was named.
func pick(targets []objectTarget, kinds *source.Kinds) func(object.Ref) bool {
	if len(targets) == 0 {
		return nil
	}
	return func(r object.Ref) bool {
		return slices.ContainsFunc(targets, func(t objectTarget) bool { return t.names(r, kinds) })
	}
}

// settled says of each named object that needs no adoption why. One that no bundle in scope wants is an error that names it.
func settled(targets []objectTarget, found *engine.Audit, items []adopt.Item) ([]adopt.Item, error) {
	for _, t := range targets {
		var wanted []*evaluate.Object
		for _, d := range found.Deployments {
			for i := range d.Objects {
				if t.names(d.Objects[i].Ref, found.Kinds) {
					wanted = append(wanted, &d.Objects[i])
				}
			}
		}
		if len(wanted) == 0 {
			return nil, fmt.Errorf("finding %s: no bundle in scope wants such an object", t.typed)
		}
		for _, o := range wanted {
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
		return "it is not on the cluster: there is nothing to adopt"
	case evaluate.Unknown:
		return "it could not be read (" + o.Reason + "): whose it is is not known"
	}
	return "it is its bundle's already"
}
