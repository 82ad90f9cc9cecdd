// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Adoptions decides about each unowned object of a result that has predictions, and about picked objects in other
// states. The items are ordered by bundle deployment and object. notOwners are the names in TakeFrom that are not of an
// owner of an unowned object: they are mistyped.
func Adoptions(c *evaluate.Result, o Options) (items []Item, notOwners []string) {
	o.Policy, notOwners = cmp.Or(o.Policy, ownership.IfUnowned), slices.Clone(o.TakeFrom)
	for _, d := range c.Deployments {
		for i := range d.Objects {
			x := &d.Objects[i]
			picked := o.Pick != nil && o.Pick(x.Ref)
			if x.State != evaluate.Unowned && !d.HelmRefuses(x) && !x.IDMismatch {
				if picked {
					items = append(items, unchanged(d, x))
				}
				continue
			}
			owners := c.Desired.On(d.ClusterID).Owners(&d.Deployment, x.Key(), x.Metadata)
			for _, owner := range owners.Owners {
				notOwners = slices.DeleteFunc(notOwners, func(name string) bool {
					return slices.Contains(owner.Names(), name)
				})
			}
			if picked || o.Pick == nil {
				items = append(items, planned(d, x, owners, o))
			}
		}
	}
	sortItems(items)
	refuseTwice(items)
	return items, notOwners
}

// refuseTwice refuses an object that would be adopted for several bundles, because TakeFrom names all bundles that
// desire it.
func refuseTwice(items []Item) {
	writes := map[object.ID]int{}
	for _, i := range items {
		if i.Writes() {
			writes[object.ID{Cluster: i.On, Key: i.Key()}]++
		}
	}
	for n := range items {
		if i := &items[n]; i.Writes() && writes[object.ID{Cluster: i.On, Key: i.Key()}] > 1 {
			i.refuse("--dangerous-take-from names all bundles that desire it: only one of them can adopt it")
		}
	}
}

// unchanged is the item of an object that needs no adoption.
func unchanged(d *evaluate.BundleDeployment, x *evaluate.Object) Item {
	why := "the bundle owns the object already"
	switch x.State {
	case evaluate.Missing:
		why = "the object does not exist: there is nothing to adopt"
	case evaluate.Unknown:
		if why = x.Message; x.Reason == evaluate.Unconfirmed {
			break
		}
		why = "the object could not be read (" + x.Reason + "): its owner is unknown"
	}
	out := newItem(d, x, remedy.StepAdopt)
	out.UID, out.Action, out.Message = "", report.ActionNone, why
	return out
}

func planned(d *evaluate.BundleDeployment, x *evaluate.Object, owners ownership.Result, o Options) Item {
	differs := difference(d, x)
	owners.Same = differs == ""
	situation, err := owners.Decide(o.Policy, o.TakeFrom)
	out := newItem(d, x, remedy.StepAdopt)
	out.Unchanged, out.Before, out.After = o.Policy == ownership.IfNoDiff, x.Metadata, d.Ownership
	out.Reason, out.Situation, out.Owner = x.Reason, string(situation), x.Owner
	out.Changes = changes(x.Metadata, d.Ownership)
	out.Effects, out.Overwrites = effects(d, x, owners.Owners), x.Differences
	out.refuse(slices.Concat(d.NeverAdopted(x), d.Uncertain(), refusals(err, differs))...)
	return out
}

// refusals lists the owners and the differences that prevent the adoption, each with the remedy.
func refusals(err error, differs string) []string {
	refusal, ok := errors.AsType[*ownership.RefusalError](err)
	if !ok {
		return nil
	}
	var out []string
	for _, c := range refusal.Conflicts {
		remedy := fmt.Sprintf("; --dangerous-take-from=%s takes it anyway", c.Name())
		switch {
		case c.Situation == ownership.Differs:
			out = append(out, differs+fmt.Sprintf("; --policy=%s takes it", c.AllowedBy))
			continue
		case c.AllowedBy != "":
			remedy = fmt.Sprintf("; --policy=%s takes it", c.AllowedBy)
		case c.Situation == ownership.Contested:
			remedy = ": remove it from one of the two bundles" + remedy
		}
		out = append(out, "it "+c.Describe()+remedy)
	}
	return out
}

// changes lists the keys that differ, as the report shows them.
func changes(before, after ownership.Metadata) []report.KeyChange {
	var out []report.KeyChange
	for _, c := range ownership.Changes(before, after) {
		out = append(out, report.KeyChange{Field: c.Field(), Key: c.Name, Old: c.Old, New: c.New})
	}
	return out
}
