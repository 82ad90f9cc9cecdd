// SPDX-License-Identifier: Apache-2.0

// Package adopt assigns existing objects to the bundles that desire them, and undoes that. Plan is a pure function of
// the result of an audit. Apply writes ownership metadata, and no other field, through a small interface. A receipt
// records the previous metadata of each object.
package repair

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Options of a plan.
type Options struct {
	Policy ownership.Policy // IfUnowned if it is empty
	// TakeFrom names owners from which objects may be taken: a bundle, a bundle deployment, a set id or a release
	// ("namespace/name").
	TakeFrom []string
	// Pick selects objects; nil selects all unowned objects. It is called for every desired object.
	Pick func(object.Ref) bool
}

// Item is one object of a plan: the part that is shown, and the data that a write needs.
type Item struct {
	report.RepairedObject
	// ResourceVersion is the version of the object that was read for the plan.
	ResourceVersion string
	// Before is the ownership metadata that was read for the plan, After the desired one.
	Before, After ownership.Metadata
	// Unanswered says that the write was interrupted before the server answered. The server may have stored it. The
	// outcome is Failed.
	Unanswered bool
	// Unchanged requires that the object is still that of ResourceVersion when it is written: the plan depends on its
	// fields.
	Unchanged bool
}

// Plan decides about each unowned object of a result that has predictions, and about picked objects in other states.
// The items are ordered by bundle deployment and object. notOwners are the names in TakeFrom that are not of an owner
// of an unowned object: they are mistyped.
func Plan(c *evaluate.Result, o Options) (items []Item, notOwners []string) {
	o.Policy, notOwners = cmp.Or(o.Policy, ownership.IfUnowned), slices.Clone(o.TakeFrom)
	for _, d := range c.Deployments {
		for i := range d.Objects {
			x := &d.Objects[i]
			picked := o.Pick != nil && o.Pick(x.Ref)
			if x.State != evaluate.Unowned && !d.HelmRefuses(x) {
				if picked {
					items = append(items, unchanged(d, x))
				}
				continue
			}
			owners := c.Desired.On(d.On).Owners(&d.Deployment, x.Key(), x.Metadata)
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
	writes := map[object.Key]int{}
	for _, i := range items {
		if i.Writes() {
			writes[i.Key()]++
		}
	}
	for n := range items {
		if i := &items[n]; i.Writes() && writes[i.Key()] > 1 {
			i.Action, i.Effects, i.Overwrites = report.ActionRefuse, nil, nil
			i.Refusals = append(i.Refusals,
				"--dangerous-take-from names all bundles that desire it: only one of them can adopt it")
		}
	}
}

// sortItems orders items by bundle deployment and object.
func sortItems(items []Item) {
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.BundleDeployment, b.BundleDeployment), a.Compare(b.Ref))
	})
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
	return Item{RepairedObject: report.RepairedObject{Ref: x.Ref, BundleDeployment: d.Key(),
		Release: d.Ownership.Release(), Action: report.ActionNone, Message: why}}
}

func planned(d *evaluate.BundleDeployment, x *evaluate.Object, owners ownership.Result, o Options) Item {
	differs := difference(d, x)
	owners.Same = differs == ""
	situation, err := owners.Decide(o.Policy, o.TakeFrom)
	out := Item{Unchanged: o.Policy == ownership.IfNoDiff, ResourceVersion: x.Live.ResourceVersion, Before: x.Metadata,
		After: d.Ownership, RepairedObject: report.RepairedObject{
			Ref: x.Ref, UID: x.Live.UID, BundleDeployment: d.Key(), Release: d.Ownership.Release(), Reason: x.Reason,
			Situation: string(situation),
			Owner:     x.Owner, Action: report.ActionAdopt, Changes: changes(x.Metadata, d.Ownership),
			Refusals: slices.Concat(d.NeverAdopted(x), d.Uncertain(), refusals(err, differs)),
		}}
	if len(out.Refusals) > 0 {
		out.Action = report.ActionRefuse
	} else {
		out.Effects, out.Overwrites = effects(d, x, owners.Owners), x.Differences
	}
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

// Digest identifies a plan without secrets, as it is shown: sha256, in hex, over the objects to write with their
// changes and effects, the notes, the gaps, and whether the fields must be unchanged: a plan of the policy if-no-diff
// does not confirm one of another policy. It excludes what changes all the time without an effect: the times of writes,
// and the details of gaps, which are messages of servers.
func Digest(plan *report.Repair) string {
	h := sha256.New()
	e := json.NewEncoder(h)
	for _, o := range plan.Objects {
		if writes(o.Action) {
			o.Overwrites = slices.Clone(o.Overwrites)
			for i := range o.Overwrites {
				o.Overwrites[i].Time = ""
			}
			_ = e.Encode(o) // encoding these cannot fail
		}
	}
	gaps := slices.Clone(plan.Gaps)
	for i := range gaps {
		gaps[i].Detail = ""
	}
	_ = e.Encode([]any{plan.Notes, gaps, plan.Policy == string(ownership.IfNoDiff)})
	return hex.EncodeToString(h.Sum(nil))
}

// Writes says whether the item changes the object.
func (i Item) Writes() bool { return writes(i.Action) }

func writes(a report.Action) bool { return a == report.ActionAdopt || a == report.ActionRestore }
