// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// order is the order in which the states of objects decide the state of their deployment. Fleet tests readiness first
// (docs/fleet-behavior.md, 4.3).
var order = []evaluate.State{evaluate.NotReady, evaluate.Missing, evaluate.Unowned, evaluate.Modified, Orphaned}

func worstFirst(a, b Resource) int {
	return cmp.Or(cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)), a.Compare(b.Ref))
}

// listed returns the objects that the status of a bundle deployment lists, the worst one first, each with what Fleet
// reports of it.
func (in *Input) listed(d *directory.Deployment) []Resource {
	var out []Resource
	add := func(k v1alpha1.ObjectKey, is evaluate.State, as, said string) {
		ref := object.Ref(k)
		out = append(out, Resource{Ref: ref, State: is, Said: said,
			Message: "Fleet reports " + ref.Key().String() + " as " + as})
	}
	status := &d.BD.Status
	if fleet.ReportedState(d.BD) == fleet.NotReady {
		for i := range status.NonReadyStatus {
			o := &status.NonReadyStatus[i]
			add(o.Key(), evaluate.NotReady, "not ready", in.Facts.ReportedOf(d, o))
		}
	}
	for i := range status.ModifiedStatus {
		o := &status.ModifiedStatus[i]
		is, as := reportedAs(o)
		add(o.Key(), is, as, "")
	}
	slices.SortStableFunc(out, worstFirst)
	return out
}

// reportedAs returns the state that Fleet reports of an object, and the words for it. They claim no more than Fleet
// does: an agent that may not read an object also reports it as not owned.
func reportedAs(o *v1alpha1.ModifiedStatus) (is evaluate.State, as string) {
	switch {
	case o.Exist:
		return evaluate.Unowned, "not owned by the bundle"
	case o.Missing:
		return evaluate.Missing, "missing"
	case o.Delete:
		return Orphaned, "extra: the bundle no longer has it"
	}
	fields := patched(o.Patch)
	if len(fields) == 0 {
		return evaluate.Modified, "modified"
	}
	return evaluate.Modified, "modified in " + facts.List(fields)
}

// patched returns the paths of the fields that a merge patch sets or removes; none of a patch that cannot be decoded.
// It leaves out the values: those of a Secret are never shown.
func patched(patch string) []string {
	var fields map[string]any
	if json.Unmarshal([]byte(patch), &fields) != nil {
		return nil
	}
	return leaves(nil, "", fields)
}

// maxPath is the length of a path at which the fields below it are not named. It bounds the memory for a status that
// somebody nested on purpose.
const maxPath = 200

// leaves adds the paths of the fields below a path.
func leaves(out []string, at string, fields map[string]any) []string {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		below, _ := fields[name].(map[string]any)
		if len(below) > 0 && len(at) < maxPath {
			out = leaves(out, at+"."+name, below)
			continue
		}
		out = append(out, at+"."+name)
	}
	return out
}
