// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/blocker"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
)

// KindWhy is the kind of a Why.
const KindWhy = "WhyReport"

// Why reports why objects of Fleet are not ready.
type Why struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// TakenAt is when the data was taken (RFC 3339).
	TakenAt string      `json:"takenAt,omitempty"`
	Tool    Tool        `json:"tool"`
	Source  Source      `json:"source"`
	Objects []WhyObject `json:"objects"`
	Gaps    []Gap       `json:"gaps"`
	// Notes are information for the reader that is not a gap.
	Notes []string `json:"notes,omitempty"`
}

// WhyObject is an object of Fleet, and why it is not ready.
type WhyObject struct {
	object.Ref
	// State is Ready, NotReady or Unknown.
	State State `json:"state"`
	// Answer is one sentence.
	Answer string `json:"answer"`
	// Reported is the status that Fleet reports.
	Reported *Reported `json:"reported,omitempty"`
	// Summary counts the deployments of the object: the pairs of a bundle and a cluster.
	Summary WhySummary `json:"summary"`
	// Causes are those for which it is not ready, or for which that is not known; the one with the most deployments first. A state that is Unknown only
	// because objects were not read that Fleet reports as ready has no cause.
	Causes []WhyCause `json:"causes"`
	Notes  []string   `json:"notes,omitempty"`
}

// WhySummary counts the deployments of an object.
type WhySummary struct {
	Deployments int `json:"deployments"`
	Ready       int `json:"ready"`
	NotReady    int `json:"notReady"`
	Unknown     int `json:"unknown"`
	// FromStatus are those of the ready ones whose objects were not read: Fleet reports them as ready. With any of them, the object is never Ready.
	FromStatus int `json:"fromStatus"`
}

// WhyCause is one root cause, with the chain of steps that leads to it.
type WhyCause struct {
	// Root is the kind of the last step.
	Root blocker.Kind `json:"root"`
	// State is NotReady, or Unknown if the data does not show whether the deployments are ready.
	State State `json:"state"`
	// Steps begin at the object. Each step is the reason of the one before it. For several deployments, they are those of the first one.
	Steps []WhyStep `json:"steps"`
	// Deployments have this cause. The list is empty if the cause is one of the object itself, for all of its deployments.
	Deployments []WhyDeployment `json:"deployments"`
	// Remedies are ways to proceed, the safest one first. For several deployments, they are those of the first one. Next
	// is the first of them as one text: its command, or its sentence.
	Remedies []Remedy `json:"remedies,omitempty"`
	Next     string   `json:"next,omitempty"`
	// Findings are the codes of the findings of an audit about the last step.
	Findings []string `json:"findings,omitempty"`
}

// WhyDeployment is a bundle on a cluster.
type WhyDeployment struct {
	Bundle  string `json:"bundle,omitempty"`  // "namespace/name"
	Cluster string `json:"cluster,omitempty"` // "namespace/name"
	// BundleDeployment is "namespace/name"; empty without one.
	BundleDeployment string `json:"bundleDeployment,omitempty"`
	// Remedies are ways to proceed on this cluster. They are absent if they are those of the cause.
	Remedies []Remedy `json:"remedies,omitempty"`
}

// WhyStep is one step of a chain.
type WhyStep struct {
	Kind blocker.Kind `json:"kind"`
	// Object is what the step is about. Name is its name for people: that of the bundle for a BundleDeployment.
	Object  object.Ref `json:"object"`
	Name    string     `json:"name"`
	Cluster string     `json:"cluster,omitempty"`
	// Message is a sentence about it.
	Message string `json:"message"`
	// Since is when that began, AsOf when it was last reported (RFC 3339).
	Since string `json:"since,omitempty"`
	AsOf  string `json:"asOf,omitempty"`
	// Evidence is how that is known.
	Evidence []string `json:"evidence,omitempty"`
	// Resources are the deployed objects that are not as desired or not ready, and Clusters those that use up the limit of a rollout.
	Resources []Resource `json:"resources,omitempty"`
	Clusters  []string   `json:"clusters,omitempty"`
}

// Complete sets the fields that follow from the others. Call it once, after all objects were added.
func (w *Why) Complete() {
	w.APIVersion, w.Kind = APIVersion, KindWhy
	w.Objects, w.Gaps = present(w.Objects), present(w.Gaps)
	for i := range w.Objects {
		o := &w.Objects[i]
		o.Causes = present(o.Causes)
		for j := range o.Causes {
			c := &o.Causes[j]
			c.Steps, c.Deployments, c.Next = present(c.Steps), present(c.Deployments), first(c.Remedies)
		}
	}
}

// Redacted returns a copy in which secrets are hidden.
func (w *Why) Redacted(s *redact.Secrets) *Why { return newRedactor(s, w).why(w) }

// Texts implements redact.Document.
func (w *Why) Texts(add func(...string)) { reader(add).why(w) }

// Names implements redact.Document.
func (w *Why) Names(add func(...string)) {
	for _, o := range w.Objects {
		names(o.Ref, add)
		for _, c := range o.Causes {
			for _, d := range c.Deployments {
				add(d.Bundle, d.Cluster, d.BundleDeployment)
			}
			for _, s := range c.Steps {
				names(s.Object, add)
				add(s.Cluster, s.Name)
				add(s.Clusters...)
				for _, r := range s.Resources {
					names(r.Ref, add)
				}
			}
		}
	}
}

// Published implements redact.Document.
func (w *Why) Published(p *redact.Published) {
	for _, o := range w.Objects {
		for _, c := range o.Causes {
			p.Sentence(string(c.Root), nil)
			for _, s := range c.Steps {
				p.Sentence(string(s.Kind)+"\x00"+s.Since+"\x00"+s.AsOf, nil)
			}
		}
	}
}

func (h *redactor) why(w *Why) *Why {
	out := *w
	out.Objects = each(w.Objects, func(o WhyObject) WhyObject {
		o.Answer, o.Notes = h.replace(o.Answer), h.texts(o.Notes)
		o.Causes = each(o.Causes, func(c WhyCause) WhyCause {
			c.Remedies = h.remedies(c.Remedies)
			c.Deployments = each(c.Deployments, func(d WhyDeployment) WhyDeployment {
				d.Remedies = h.remedies(d.Remedies)
				return d
			})
			c.Next = first(c.Remedies)
			c.Steps = each(c.Steps, func(s WhyStep) WhyStep {
				s.Message, s.Evidence = h.replace(s.Message), h.texts(s.Evidence)
				s.Resources = each(s.Resources, func(r Resource) Resource {
					r.Message, r.Differences = h.replace(r.Message), h.differences(r.Differences)
					return r
				})
				return s
			})
			return c
		})
		return o
	})
	out.Notes, out.Gaps = h.texts(w.Notes), h.gaps(w.Gaps)
	return &out
}
