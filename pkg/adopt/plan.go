// SPDX-License-Identifier: Apache-2.0

// Package adopt makes objects that exist their bundles', and takes that back. A plan is made first, and is a pure function of what an audit
// found out; applying it writes through a small interface, five keys an object and nothing else; a receipt holds what each object had
// before. It prints nothing and asks nobody.
package adopt

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

// Options of a plan.
type Options struct {
	Policy Policy // IfUnowned where it is empty
	// TakeFrom names holders from whom objects may be taken: a bundle, a bundle deployment, a set id or a release ("namespace/name").
	TakeFrom []string
	// Pick says which objects are meant; nil means all.
	Pick func(object.Ref) bool
}

// Item is one object of a plan: what is shown of it, and what writing it needs.
type Item struct {
	report.AdoptedObject
	// ResourceVersion is that of the object as the plan saw it.
	ResourceVersion string
	// Before are its five keys as the plan saw them, After as they are to be.
	Before, After ownership.Stamps
}

// Plan says for every unowned object of a case what is to be done with it, ordered by bundle deployment and object.
func Plan(c *evaluate.Result, o Options) []Item {
	o.Policy = cmp.Or(o.Policy, IfUnowned)
	var out []Item
	for _, d := range c.Deployments {
		for i := range d.Objects {
			x := &d.Objects[i]
			if x.State == evaluate.Unowned && (o.Pick == nil || o.Pick(x.Ref)) {
				out = append(out, planned(d, x, o))
			}
		}
	}
	Sort(out)
	refuseTwice(out)
	return out
}

// refuseTwice refuses an object that would be adopted for more than one bundle, because all who want it were named.
func refuseTwice(items []Item) {
	by := map[object.Key][]*Item{}
	for i := range items {
		if items[i].Writes() {
			by[items[i].Key()] = append(by[items[i].Key()], &items[i])
		}
	}
	for _, same := range by {
		for _, i := range same {
			if len(same) > 1 {
				i.Action, i.Effects, i.Overwrites = report.ActionRefuse, nil, nil
				i.Refusals = append(i.Refusals, "--dangerous-take-from names all who want it: it can be adopted for one of them")
			}
		}
	}
}

// NotHolding returns those of the names in o.TakeFrom that nobody has who is named by an unowned object's marks: a name that is mistyped
// must not pass for one that was heeded.
func NotHolding(c *evaluate.Result, o Options) []string {
	out := slices.Clone(o.TakeFrom)
	for _, d := range c.Deployments {
		for i := range d.Objects {
			if len(out) == 0 || d.Objects[i].State != evaluate.Unowned {
				continue
			}
			for _, h := range Holders(d.BundleDeployment, &d.Objects[i]) {
				out = slices.DeleteFunc(out, func(name string) bool { return h.named([]string{name}) })
			}
		}
	}
	return out
}

// Sort orders items by bundle deployment and object.
func Sort(items []Item) {
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.BundleDeployment, b.BundleDeployment), a.Compare(b.Ref))
	})
}

func planned(d *evaluate.BundleDeployment, x *evaluate.Object, o Options) Item {
	out := Item{AdoptedObject: report.AdoptedObject{
		Ref: x.Ref, BundleDeployment: d.Key(), Release: d.Ownership.Release(), Reason: x.Reason, Owner: report.NewOwner(x.Owner), Action: report.ActionAdopt,
	}}
	others := Holders(d.BundleDeployment, x)
	situation, refusals := decide(o, ownership.Reason(x.Reason), others)
	out.Situation = string(situation)
	out.Refusals = append(never(d, x), refusals...)
	if live := x.Live; live != nil {
		out.UID, out.ResourceVersion = live.UID, live.ResourceVersion
		out.Before, out.After = live.Stamps, d.Ownership.Stamps()
		out.Changes = changes(out.Before, out.After)
	}
	if len(out.Refusals) > 0 {
		out.Action = report.ActionRefuse
		return out
	}
	out.Overwrites = report.Differences(x.Differences) // they are masked in place before they are shown
	out.Effects = effects(d, x, others)
	if x.Message != "" { // why what a deploy would change could not be foreseen
		out.Effects = append(out.Effects, x.Message)
	}
	return out
}

// never are the reasons for which an object is not adopted whoever holds it.
func never(d *evaluate.BundleDeployment, x *evaluate.Object) []string {
	var out []string
	if fleet.IsAgentBundle(d.Name) {
		out = append(out, "its bundle is one of Fleet's agent, which the manager applies by itself")
	}
	if target := d.Options().TargetNamespace; !x.Namespaced && target != "" {
		out = append(out, fmt.Sprintf("it is cluster-scoped and the bundle has the targetNamespace %q: every deploy of it fails", target))
	}
	out = append(out, unproven(d)...)
	if len(d.Rendering.Unresolved) > 0 && (d.From == resolve.FromBundle || d.From == resolve.FromFiles) {
		out = append(out, "what its bundle wants is not surely known: "+strings.Join(d.Rendering.Unresolved, "; "))
	}
	l := x.Live
	if l == nil {
		return append(out, "nothing is known of the live object")
	}
	if l.Deleting {
		out = append(out, "it is being deleted")
	}
	if l.Controller != "" {
		out = append(out, fmt.Sprintf("it is controlled by %s, which may delete or rewrite it at any time", l.Controller))
	}
	return out
}

// unproven says why nothing vouches for the set that would be written: nothing is written by a scope that is only declared, or that is disputed.
func unproven(d *evaluate.BundleDeployment) []string {
	const remedy = "; --agent-scope=VALUE states the scope of the agent, '' that it has none"
	switch s := d.Scope; {
	case s.Proven():
		return nil
	case s.Evidence == "":
		return []string{"the scope of the agent that deploys its bundle is not known: no running agent and no release shows it" + remedy}
	case d.Disputed:
		return []string{fmt.Sprintf("%s, and no running agent shows which is right", d.DisputeOf()) + remedy}
	case s.Evidence == resolve.EvidenceReleases && d.Stated.SetID == "":
		return []string{fmt.Sprintf("only %s show %s: no running agent does, and the bundle has no release of its own", s.Source, s) + remedy}
	case s.Evidence == resolve.EvidenceDeclared:
		return []string{fmt.Sprintf("only %s says that the agent has %s: no running agent and no release shows it", s.Source, s) + remedy}
	}
	return nil
}

// decide asks the policy about each holder; the first that is not to be taken from gives the situation, else the first of all.
func decide(o Options, reason ownership.Reason, others []Holder) (Situation, []string) {
	own := NoMark
	switch reason {
	case ownership.HelmOnly:
		own = OwnRelease
	case ownership.HashStripped, ownership.Inconsistent:
		own = OwnID
	}
	if len(others) == 0 {
		return own, nil
	}
	situation := others[0].Situation
	var refusals []string
	for _, h := range others {
		if h.named(o.TakeFrom) {
			continue
		}
		switch answer(o.Policy, h.Situation) {
		case Leave:
			refusals = append(refusals, fmt.Sprintf("it carries marks of %s, which is not on this cluster any more; --policy=%s takes it", h.Title, IfUnowned))
		case OnlyNamed:
			refusals = append(refusals, h.refusal())
		default:
			continue
		}
		if len(refusals) == 1 {
			situation = h.Situation
		}
	}
	return situation, refusals
}

func (h Holder) refusal() string {
	take := fmt.Sprintf("; --dangerous-take-from=%s takes it all the same", h.Name())
	switch h.Situation {
	case Contested:
		return h.Title + " wants it too: take it out of one of the two bundles" + take
	case Undecided:
		return fmt.Sprintf("it carries marks of %s, and not every release record could be read: whether that is gone is not known", h.Title) + take
	case SystemSet:
		return fmt.Sprintf("it carries marks of %s, which is none of a bundle: Fleet itself or another program applies it", h.Title) + take
	}
	return "it is held by " + h.Title + take
}

// changes lists the keys that differ, as they are shown.
func changes(before, after ownership.Stamps) []report.KeyChange {
	var out []report.KeyChange
	for _, c := range ownership.Changes(before, after) {
		out = append(out, report.KeyChange{Field: c.Field(), Key: c.Name, Old: c.Old, New: c.New})
	}
	return out
}

// Digest stands for what the items would write: sha256, in hex, over bundle deployment, object, uid, situation and keys of those that are
// to be changed. It holds no resourceVersion: a plan stays the same while a controller writes an object's status.
func Digest(items []Item) string {
	h := sha256.New()
	e := json.NewEncoder(h)
	for _, i := range items {
		if i.Writes() {
			_ = e.Encode([]any{i.BundleDeployment, i.Ref, i.UID, i.Situation, i.Action, i.Changes}) // of these nothing can fail
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Writes says whether the object is to be changed.
func (i Item) Writes() bool {
	return i.Action == report.ActionAdopt || i.Action == report.ActionRestore
}
