// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
)

// The kinds of a Repair: of the verb adopt, and of the verb repair.
const (
	KindAdoptionPlan   = "AdoptionPlan"   // the plan; nothing was written
	KindAdoptionResult = "AdoptionResult" // the result of writing it
	KindRepairPlan     = "RepairPlan"
	KindRepairResult   = "RepairResult"
)

// Repair is a plan to repair objects, or to undo that, and its result. An adoption is a repair with only the step
// adopt.
type Repair struct {
	Head  `text:"keep"`
	Scope Scope `json:"scope" text:"keep"`
	// Undo is true if the plan restores the values of a receipt; then there is no policy.
	Undo   bool   `json:"undo,omitempty"`
	Policy string `json:"policy,omitempty" text:"keep"`
	// Codes limit the plan to the findings with these codes; without any, all findings are repaired.
	Codes []string `json:"codes,omitempty" text:"keep"`
	// Allowed are the kinds of steps that --allow permits.
	Allowed []string `json:"allowed,omitempty" text:"keep"`
	// TakeFrom are the owners from whom objects may be taken, as given by --dangerous-take-from.
	TakeFrom []string `json:"takeFrom,omitempty" text:"keep"`
	// Digest identifies the plan: sha256 of the objects to change with their changes and effects, of the notes, and of
	// the gaps.
	Digest  string        `json:"digest" text:"keep"`
	Summary RepairSummary `json:"summary"`
	// DryRun is client or server if nothing is stored.
	DryRun  string `json:"dryRun,omitempty" text:"keep"`
	Receipt string `json:"receipt,omitempty" text:"keep"` // the file with the previous values

	Objects []RepairedObject `json:"objects"`
	// Deployments are the counts before and after, for each bundle deployment with objects that were written.
	Deployments []RepairedDeployment `json:"bundleDeployments,omitempty" text:"keep"`
	Gaps        []Gap                `json:"gaps"`
	Notes       []string             `json:"notes,omitempty" text:"redact"`
}

// RepairSummary counts objects: Objects = Change + Refused + Unchanged. Of the objects to change, Done were written
// and Failed could not be written; the others were not tried.
type RepairSummary struct {
	Objects   int `json:"objects"`
	Change    int `json:"change"`
	Refused   int `json:"refused"`
	Unchanged int `json:"unchanged"`
	Done      int `json:"done"`
	Failed    int `json:"failed"`
}

// RepairStep is the kind of a step of a plan.
type RepairStep = remedy.StepKind

// The steps that ask controllers and agents of Fleet.
const (
	StepResume = remedy.StepResume
	StepDeploy = remedy.StepDeploy
)

// Action is what the plan does with an object.
type Action string

// The actions. Except for the last two, those of a repair are the steps.
const (
	ActionAdopt    Action = "Adopt"
	ActionCreate   Action = "Create"
	ActionRestore  Action = "Restore"
	ActionRecreate Action = "Recreate"
	ActionRemove   Action = "Remove"
	ActionResume   Action = "Resume"
	ActionDeploy   Action = "Deploy"
	ActionUnblock  Action = "Unblock"
	ActionRefuse   Action = "Refuse"
	ActionNone     Action = "None" // nothing to do
)

// RepairedObject is one object of a plan.
type RepairedObject struct {
	object.Ref `text:"name"`
	UID        string `json:"uid,omitempty" text:"keep"`
	// Cluster is the name of the cluster that it is on; empty if it is on the source.
	Cluster string `json:"cluster,omitempty" text:"name"`
	// Step is the step that the plan makes or refuses; Codes are those of the findings that it repairs.
	Step  RepairStep `json:"step,omitempty" text:"keep"`
	Codes []string   `json:"codes,omitempty" text:"keep"`
	// BundleDeployment is "namespace/name" of the one that desires the object, Release that of its release.
	BundleDeployment string `json:"bundleDeployment,omitempty" text:"name"`
	Release          string `json:"release,omitempty" text:"name"`
	// Reason is the reason of the state Unowned; Situation is the row of the policy table that applied.
	Reason    string `json:"reason,omitempty" text:"keep"`
	Situation string `json:"situation,omitempty" text:"keep"`
	// Owner is the present owner.
	Owner  *Owner `json:"owner,omitempty"`
	Action Action `json:"action" text:"keep"`
	// Refusals are the reasons of the action Refuse.
	Refusals []string    `json:"refusals,omitempty" text:"redact"`
	Changes  []KeyChange `json:"changes,omitempty" text:"keep"`
	// Effects are the consequences of the adoption, as sentences.
	Effects []string `json:"effects,omitempty" text:"redact"`
	// Overwrites are the fields that the next deploy of the release overwrites with the values of the bundle.
	Overwrites []Difference `json:"overwrites,omitempty"`
	// Restores are the fields that get their desired values, or that are removed.
	Restores []Difference `json:"restores,omitempty"`
	// Outcome is the result of the write.
	Outcome Outcome `json:"outcome,omitempty" text:"keep"`
	Message string  `json:"message,omitempty" text:"redact"`
}

// KeyChange is one label or annotation that changes. Old is null if it does not exist, New if it is removed.
type KeyChange struct {
	Field string  `json:"field"` // label or annotation
	Key   string  `json:"key"`
	Old   *string `json:"old" jsonschema:"nullable"`
	New   *string `json:"new" jsonschema:"nullable"`
}

// Outcome is the result of writing one object.
type Outcome string

// The outcomes.
const (
	OutcomeDone     Outcome = "Done"
	OutcomeChanged  Outcome = "Changed"  // changed since the plan: not written
	OutcomeFailed   Outcome = "Failed"   // the server refused the write, or did not answer
	OutcomeNotTried Outcome = "NotTried" // interrupted before the write
)

// RepairedDeployment has the counts of one bundle deployment before and after an adoption.
type RepairedDeployment struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Before    Counts `json:"before"`
	After     Counts `json:"after"`
	// Failed is what Fleet reports about the last deploy, if that failed: nothing is deployed before the next one, for
	// which the remedies ask.
	Failed   string   `json:"failed,omitempty" text:"redact"`
	Remedies []Remedy `json:"remedies,omitempty"`
}

// Redacted returns a complete copy of the document, with its summary, in which secrets are hidden.
func (a *Repair) Redacted(s *secret.Values) *Repair {
	out := redacted(s, a, nil)
	out.APIVersion = APIVersion
	complete(out)
	n := countBy(out.Objects, func(o RepairedObject) Action { return o.Action })
	tried := countBy(out.Objects, func(o RepairedObject) Outcome { return o.Outcome })
	refused, unchanged := n[ActionRefuse], n[ActionNone]
	out.Summary = RepairSummary{len(out.Objects), len(out.Objects) - refused - unchanged, refused, unchanged,
		tried[OutcomeDone], tried[OutcomeFailed] + tried[OutcomeChanged]}
	return out
}
