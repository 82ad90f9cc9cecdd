// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
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
			writes[object.ID{Cluster: i.ClusterID, Key: i.Key()}]++
		}
	}
	for n := range items {
		if i := &items[n]; i.Writes() && writes[object.ID{Cluster: i.ClusterID, Key: i.Key()}] > 1 {
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
	out.Reason, out.PolicyRow, out.Situation, out.Owner = x.Reason, situation.Row(), string(situation), x.Owner
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

// effects lists the consequences of an adoption: the owner that loses the object, the uninstall that deletes it, the
// fields that the next deploy changes, and the state that Fleet reports.
func effects(d *evaluate.BundleDeployment, x *evaluate.Object, owners []ownership.Owner) []string {
	var out []string
	for _, o := range owners {
		switch {
		case o.Situation == ownership.Contested: // it does not own the object: nothing changes for it
		case len(o.Bundles) > 0:
			out = append(out, o.String()+" loses it: while it desires the object, Fleet will report the object "+
				"there as \"not owned by us\". Its next deploy takes the object back, and its uninstall deletes the "+
				"object by its name")
		case o.Situation == ownership.ExistingRelease:
			out = append(out, o.String()+" loses it: its next upgrade restores Helm's label and annotations, and "+
				"uninstalling it deletes the object by its name")
		case o.Exists():
			out = append(out, o.String()+" loses it: the program that applies it may take it back")
		case x.Metadata.Hash != "" && x.Metadata.Hash == d.ReleaseOwnership.Hash:
			out = append(out, fmt.Sprintf("release %s states the set that the object has now: if the agent runs with "+
				"another scope than the one used here (%s), Fleet will report the object as not owned",
				d.Release.Release(), d.Scope))
		default:
			out = append(out, "no owner loses it: "+o.String()+" is not on this cluster any more")
		}
	}
	out = append(out, uninstall(d, x))
	if n := len(x.Differences); n > 0 {
		out = append(out, overwritten(d, n))
		if owners := d.Conflicting(x.Differences); len(owners) > 0 {
			out = append(out, fmt.Sprintf("the release is applied server-side, and %s owns fields that differ: the "+
				"next deploy may fail on the conflict",
				strings.Join(owners, " and ")))
		}
	}
	if paths := x.Live.Excused; len(paths) > 0 {
		out = append(out, fmt.Sprintf("the next deploy also overwrites %s, which the comparePatches of the bundle "+
			"ignore", shortened(paths)))
	}
	if paths := x.Live.LastApplied; len(paths) > 0 {
		out = append(out, fmt.Sprintf("its annotation kubectl.kubernetes.io/last-applied-configuration states %s, "+
			"which the bundle does not state: until the annotation is removed, Fleet will report the object as "+
			"modified, although it is not", strings.Join(paths, ", ")))
	}
	if x.Message != "" { // why the changes of the next deploy could not be predicted
		out = append(out, x.Message)
	}
	return out
}

func uninstall(d *evaluate.BundleDeployment, x *evaluate.Object) string {
	release := "release " + d.Ownership.Release()
	switch {
	case x.Live.Keep:
		return "uninstalling " + release + " leaves it: it has the annotation helm.sh/resource-policy: keep"
	case d.KeepResources, d.Release.Revision == 0 && d.Options().KeepResources: // as it will be installed
		return "uninstalling " + release + " leaves it: the bundle has keepResources"
	}
	return "uninstalling " + release + " deletes it"
}

func overwritten(d *evaluate.BundleDeployment, n int) string {
	fields, them := "1 field differs", "it"
	if n > 1 {
		fields, them = fmt.Sprintf("%d fields differ", n), "them"
	}
	if correct := d.Options().CorrectDrift; correct != nil && correct.Enabled {
		return fields + " from the bundle: correctDrift is on, Fleet overwrites " + them + " at once"
	}
	return fields + " from the bundle: the next deploy overwrites " + them
}

// difference describes why the policy if-no-diff does not take an object; it is "" if the object is proven to be as the
// bundle desires it. A field that comparePatches ignore is a difference here: the next deploy overwrites it.
func difference(d *evaluate.BundleDeployment, x *evaluate.Object) string {
	const unknown = "it is not known whether it differs from the bundle: "
	var paths []string
	for _, diff := range x.Differences {
		paths = append(paths, diff.Path)
	}
	switch live := x.Live; {
	case len(paths) > 0:
		return "it differs from the bundle in " + shortened(paths)
	case !live.Compared && x.Message != "":
		return unknown + x.Message
	case !live.Compared:
		return unknown + "fields of its manifest differ each time the bundle is rendered"
	case len(live.Excused) > 0:
		return "it differs from the bundle in " + shortened(live.Excused) +
			", which the comparePatches of the bundle ignore and the next deploy overwrites"
	case len(live.LastApplied) > 0:
		return fmt.Sprintf("its last-applied annotation states %s, which the bundle does not have: Fleet reports it "+
			"as modified", strings.Join(live.LastApplied, ", "))
	}
	if why := outdated(d); why != "" {
		return unknown + why
	}
	return ""
}

// outdated describes why the desired objects of a bundle deployment may be older than the bundle: the next deploy may
// then change objects that equal them. It is "" if they are those of the bundle.
func outdated(d *evaluate.BundleDeployment) string {
	switch {
	case d.From == desired.FromFiles:
		return ""
	case d.BD == nil:
		return fmt.Sprintf("the BundleDeployment of release record %s was not read, so the bundle may be newer than "+
			"the record", d.Release)
	case d.BD.Spec.DeploymentID != d.BD.Spec.StagedDeploymentID:
		return "the newest deployment of the bundle waits for its rollout"
	case d.From != desired.FromRelease:
		return ""
	case d.BD.Spec.DeploymentID != d.BD.Status.AppliedDeploymentID:
		return fmt.Sprintf("release record %s is of an earlier deployment of the bundle; --desired=%s compares with "+
			"the bundle itself", d.Release, desired.FromBundle)
	}
	newer := slices.IndexFunc(d.RecordProblems, func(p directory.RecordProblem) bool {
		return p.Record.Revision > d.Release.Revision
	})
	if newer >= 0 {
		return fmt.Sprintf("release record %s is not the newest one: %s", d.Release, d.RecordProblems[newer].Detail)
	}
	return ""
}

// shortened lists paths, but only the first ones of many.
func shortened(paths []string) string {
	const most = 3
	if len(paths) > most+1 {
		return fmt.Sprintf("%s and %d more fields", strings.Join(paths[:most], ", "), len(paths)-most)
	}
	return strings.Join(paths, ", ")
}
