// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"

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

// Close sums the document up and hides secrets; it is called once, last.
func (a *Adoption) Close(s *Secrets) {
	a.APIVersion = APIVersion
	a.Objects, a.Gaps = present(a.Objects), present(a.Gaps)
	a.Summary = AdoptionSummary{Objects: len(a.Objects)}
	for _, o := range a.Objects {
		switch o.Action {
		case ActionRefuse:
			a.Summary.Refused++
		case ActionNone:
			a.Summary.Unchanged++
		default:
			a.Summary.Change++
		}
		switch o.Outcome {
		case OutcomeDone:
			a.Summary.Done++
		case OutcomeFailed, OutcomeChanged:
			a.Summary.Failed++
		}
	}
	s.hide(func(h *hider) { h.adoption(a) }, a.names, func(*published) {})
}

func (h *hider) adoption(a *Adoption) {
	for i := range a.Objects {
		o := &a.Objects[i]
		h.texts(o.Refusals)
		h.texts(o.Effects)
		h.differences(o.Overwrites)
		o.Message = h.replace(o.Message)
	}
	h.texts(a.Notes)
	h.gaps(a.Gaps)
}

// names passes on every name in the document.
func (a *Adoption) names(add func(...string)) {
	for _, o := range a.Objects {
		add(o.Kind, o.Namespace, o.Name, o.BundleDeployment, o.Release)
		if o.Owner != nil {
			add(o.Owner.SetID, o.Owner.Release, o.Owner.BundleDeployment)
		}
	}
}
