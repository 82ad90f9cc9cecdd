// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
)

// The kinds of an Adoption.
const (
	KindAdoptionPlan   = "AdoptionPlan"   // nothing was written
	KindAdoptionResult = "AdoptionResult" // what came of a plan
)

// Adoption is a plan to make objects their bundles', or to take that back, and what came of it.
type Adoption struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// TakenAt is when the data was taken (RFC 3339).
	TakenAt string `json:"takenAt,omitempty"`
	Tool    Tool   `json:"tool"`
	Source  Source `json:"source"`
	Scope   Scope  `json:"scope"`
	// Undo says that marks are put back to what a receipt recorded; then there is no policy.
	Undo   bool   `json:"undo,omitempty"`
	Policy string `json:"policy,omitempty"`
	// TakeFrom are the holders from whom objects may be taken, as they were named.
	TakeFrom []string `json:"takeFrom,omitempty"`
	// Digest stands for what would be written: sha256 over uid, situation, and old and new keys of every object to be changed.
	Digest  string          `json:"digest"`
	Summary AdoptionSummary `json:"summary"`
	// DryRun is client or server where nothing is to be stored.
	DryRun  string `json:"dryRun,omitempty"`
	Receipt string `json:"receipt,omitempty"` // the file that can take it back

	Objects []AdoptedObject `json:"objects"`
	// Deployments are the fractions of ready objects before and after, of each bundle deployment that was written for.
	Deployments []AdoptedDeployment `json:"bundleDeployments,omitempty"`
	Gaps        []Gap               `json:"gaps"`
	Notes       []string            `json:"notes,omitempty"`
}

// AdoptionSummary counts objects: Objects = Change + Refused + Unchanged. Of those to be changed, Done were written and Failed could not
// be; the rest was not tried.
type AdoptionSummary struct {
	Objects   int `json:"objects"`
	Change    int `json:"change"`
	Refused   int `json:"refused"`
	Unchanged int `json:"unchanged"`
	Done      int `json:"done"`
	Failed    int `json:"failed"`
}

// Action is what is to be done with an object.
type Action string

// The actions.
const (
	ActionAdopt   Action = "Adopt"
	ActionRestore Action = "Restore"
	ActionRefuse  Action = "Refuse"
	ActionNone    Action = "None" // it is as it should be
)

// AdoptedObject is one object of a plan.
type AdoptedObject struct {
	object.Ref
	UID string `json:"uid,omitempty"`
	// BundleDeployment is "namespace/name" of the one that wants it, Release "namespace/name" of its release.
	BundleDeployment string `json:"bundleDeployment,omitempty"`
	Release          string `json:"release,omitempty"`
	// Reason is that of the state Unowned; Situation is the row of the policy's truth table that decided.
	Reason    string `json:"reason,omitempty"`
	Situation string `json:"situation,omitempty"`
	// Owner is who holds it now.
	Owner  *Owner `json:"owner,omitempty"`
	Action Action `json:"action"`
	// Refusals say why not.
	Refusals []string    `json:"refusals,omitempty"`
	Changes  []KeyChange `json:"changes,omitempty"`
	// Effects are what follows, in sentences.
	Effects []string `json:"effects,omitempty"`
	// Overwrites are the fields that the next deploy of the release puts back to what the bundle states.
	Overwrites []Difference `json:"overwrites,omitempty"`
	// Outcome is what came of it.
	Outcome Outcome `json:"outcome,omitempty"`
	Message string  `json:"message,omitempty"`
}

// KeyChange is one label or annotation that changes. Old is null where it is not there, New where it is taken away.
type KeyChange struct {
	Field string  `json:"field"` // label or annotation
	Key   string  `json:"key"`
	Old   *string `json:"old"`
	New   *string `json:"new"`
}

// Outcome is what came of one object.
type Outcome string

// The outcomes.
const (
	OutcomeDone     Outcome = "Done"
	OutcomeChanged  Outcome = "Changed"  // it is not what it was when the plan was made: left alone
	OutcomeFailed   Outcome = "Failed"   // the server refused, or could not be reached
	OutcomeNotTried Outcome = "NotTried" // interrupted before
)

// AdoptedDeployment is what an adoption changed for one bundle deployment, in objects that are ready of those desired.
type AdoptedDeployment struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Before    Counts `json:"before"`
	After     Counts `json:"after"`
}

// Closed returns the document added up and with secrets hidden.
func (a *Adoption) Closed(s *redact.Secrets) *Adoption {
	out := newHider(s, a).adoption(a)
	out.APIVersion = APIVersion
	out.Objects, out.Gaps = present(out.Objects), present(out.Gaps)
	out.Summary = AdoptionSummary{Objects: len(out.Objects)}
	for _, o := range out.Objects {
		switch o.Action {
		case ActionRefuse:
			out.Summary.Refused++
		case ActionNone:
			out.Summary.Unchanged++
		default:
			out.Summary.Change++
		}
		switch o.Outcome {
		case OutcomeDone:
			out.Summary.Done++
		case OutcomeFailed, OutcomeChanged:
			out.Summary.Failed++
		}
	}
	return out
}

func (h *hider) adoption(a *Adoption) *Adoption {
	out := *a
	out.Objects = each(a.Objects, func(o AdoptedObject) AdoptedObject {
		o.Refusals, o.Effects, o.Overwrites, o.Message = h.texts(o.Refusals), h.texts(o.Effects), h.differences(o.Overwrites), h.replace(o.Message)
		return o
	})
	out.Notes, out.Gaps = h.texts(a.Notes), h.gaps(a.Gaps)
	return &out
}

// Texts implements redact.Document.
func (a *Adoption) Texts(add func(...string)) { reader(add).adoption(a) }

// Published implements redact.Document.
func (*Adoption) Published(*redact.Published) {}

// Names implements redact.Document.
func (a *Adoption) Names(add func(...string)) {
	for _, o := range a.Objects {
		names(o.Ref, add)
		add(o.BundleDeployment, o.Release)
		if o.Owner != nil {
			add(o.Owner.SetID, o.Owner.Release, o.Owner.BundleDeployment)
		}
	}
}
