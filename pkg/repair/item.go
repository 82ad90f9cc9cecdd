// SPDX-License-Identifier: Apache-2.0

// Package repair repairs what an audit found, and undoes that. A plan is a pure function of the result of an audit: a
// list of steps. Adopting an object, which assigns it to the bundle that desires it, is one of them. Apply makes the
// steps through a small interface. A receipt records what an undo needs.
package repair

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Item is one object of a plan: the part that is shown, and the data that a write needs.
type Item struct {
	report.RepairedObject
	// On is the cluster that is written to.
	On object.ClusterID
	// ResourceVersion is the version of the object that was read for the plan.
	ResourceVersion string
	// Before is the ownership metadata that was read for the plan, After the desired one, of an adoption.
	Before, After ownership.Metadata
	// Unanswered says that the write was interrupted before the server answered. The server may have stored it. The
	// outcome is Failed.
	Unanswered bool
	// Unchanged requires that the object is still that of ResourceVersion when it is written: the plan depends on its
	// fields.
	Unchanged bool

	// makesWay is true if a deploy of the bundle deployment is refused as long as this step is not made.
	makesWay bool
	// do makes the step; nil for one that writes only ownership metadata.
	do maker
	// undo is true if the item undoes a step.
	undo bool
}

// wave is the position of the item: those of a wave are written after those of the previous one. Namespaces and
// definitions of kinds are created before what needs them.
func (i *Item) wave() int {
	out := 2 * slices.Index(remedy.StepKinds(), i.Step)
	if i.Kind != "Namespace" && i.Kind != "CustomResourceDefinition" {
		out++
	}
	if r, ok := i.do.(interface{ first() bool }); ok && r.first() {
		out--
	}
	if i.undo {
		return -out
	}
	return out
}

// actions are what the plan does, by the steps.
var actions = map[remedy.StepKind]report.Action{
	remedy.StepUnblock:  report.ActionUnblock,
	remedy.StepAdopt:    report.ActionAdopt,
	remedy.StepCreate:   report.ActionCreate,
	remedy.StepRestore:  report.ActionRestore,
	remedy.StepRecreate: report.ActionRecreate,
	remedy.StepRemove:   report.ActionRemove,
	remedy.StepResume:   report.ActionResume,
	remedy.StepDeploy:   report.ActionDeploy,
}

// maker makes a step.
type maker interface {
	// prepare reads what the step changes, and asks the server whether it would accept it.
	prepare(ctx context.Context, c Client, i *Item) error
	// try makes the step. It is called again after an error that may be temporary.
	try(ctx context.Context, c Client, i *Item) error
}

// recorder is a step that can be undone.
type recorder interface {
	// record adds what an undo needs.
	record(i *Item, e *Entry)
}

// Options of a plan.
type Options struct {
	Policy ownership.Policy // IfUnowned if it is empty
	// TakeFrom names owners from which objects may be taken: a bundle, a bundle deployment, a set id or a release
	// ("namespace/name").
	TakeFrom []string
	// Pick selects objects; nil selects all. It is called for every desired object.
	Pick func(object.Ref) bool
	// Codes are those of the findings to repair; without any, all are repaired.
	Codes []string
	// Allow are the values of remedy.StepKind.Allowed that are permitted.
	Allow []string
}

// Allowed are the values of Options.Allow.
func Allowed() []string {
	return []string{remedy.StepDeploy.Allowed(), remedy.StepRecreate.Allowed(), remedy.StepRemove.Allowed()}
}

// newItem returns the item of a step that writes a desired object.
func newItem(d *evaluate.BundleDeployment, x *evaluate.Object, step remedy.StepKind) Item {
	out := Item{On: d.ClusterID, RepairedObject: report.RepairedObject{Ref: x.Ref, Cluster: string(d.ClusterID), Step: step,
		BundleDeployment: d.Key(), Release: d.Ownership.Release(), Action: actions[step]}}
	if x.Live != nil {
		out.UID, out.ResourceVersion = x.Live.UID, x.Live.ResourceVersion
	}
	return out
}

// refuse makes the item one that is not written.
func (i *Item) refuse(reasons ...string) {
	if len(reasons) > 0 {
		i.Action, i.Refusals, i.Effects, i.Overwrites = report.ActionRefuse, append(i.Refusals, reasons...), nil, nil
	}
}

// sortItems orders items by bundle deployment, and then as they are written.
func sortItems(items []Item) {
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.On, b.On), cmp.Compare(a.BundleDeployment, b.BundleDeployment),
			cmp.Compare(a.wave(), b.wave()), a.Compare(b.Ref))
	})
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
			o.Overwrites, o.Restores = withoutTimes(o.Overwrites), withoutTimes(o.Restores)
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

func (i *Item) fail(message string) { i.Outcome, i.Message = report.OutcomeFailed, message }

func withoutTimes(differences []report.Difference) []report.Difference {
	out := slices.Clone(differences)
	for i := range out {
		out[i].Time = ""
	}
	return out
}

// Writes says whether the item changes the object.
func (i Item) Writes() bool { return writes(i.Action) }

func writes(a report.Action) bool { return a != report.ActionRefuse && a != report.ActionNone }
