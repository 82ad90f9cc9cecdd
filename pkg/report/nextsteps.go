// SPDX-License-Identifier: Apache-2.0

package report

import (
	"path"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
)

// programs are the programs of commands. A remediation that begins with another word is a sentence.
var programs = []string{"kubectl", "kubectl-fleetdoctor", "helm"}

// NextSteps returns the ways to proceed after a finding, the safest one first: its remedies, those of each of its
// clusters, or the remediation of a report that has no remedies.
func (f *Finding) NextSteps() []Remedy {
	switch {
	case len(f.PerCluster) > 0:
		return inTurn(f.onEach())
	case len(f.Remedies) > 0 || f.Remediation == "":
		return f.Remedies
	}
	if program, _, _ := strings.Cut(f.Remediation, " "); slices.Contains(programs, path.Base(program)) {
		return []Remedy{{Command: f.Remediation}}
	}
	return []Remedy{{Text: f.Remediation}}
}

// FirstSteps returns the safest way to proceed, on each of its clusters.
func (f *Finding) FirstSteps() []Remedy {
	if len(f.PerCluster) > 0 {
		return at(f.onEach(), 0)
	}
	steps := f.NextSteps()
	return steps[:min(1, len(steps))]
}

// onEach returns the remedies on each cluster.
func (f *Finding) onEach() [][]Remedy {
	out := make([][]Remedy, len(f.PerCluster))
	for i, c := range f.PerCluster {
		out[i] = c.Remedies
	}
	return out
}

// inTurn returns the first remedy of each list, then the second ones, and so on; each remedy once.
func inTurn(lists [][]Remedy) []Remedy {
	var out []Remedy
	for i := 0; ; i++ {
		steps := at(lists, i)
		if len(steps) == 0 {
			return out
		}
		out = append(out, steps...)
	}
}

// at returns the remedy at a place of each list; each remedy once.
func at(lists [][]Remedy, place int) []Remedy {
	var out []Remedy
	for _, list := range lists {
		if place < len(list) && !slices.Contains(out, list[place]) {
			out = append(out, list[place])
		}
	}
	return out
}

// NextSteps returns the ways to proceed after a cause, the safest one first: those of at most so many of its
// deployments, with 0 of all. Deployments with the same cause on several clusters have their own commands.
func (c *WhyCause) NextSteps(most int) []Remedy {
	out := [][]Remedy{c.Remedies}
	for i, d := range c.Deployments {
		if most == 0 || i < most {
			out = append(out, d.Remedies)
		}
	}
	return inTurn(out)
}

// OnEach returns the finding as it is on each of its clusters.
func (f *Finding) OnEach() []Finding {
	if len(f.PerCluster) == 0 {
		return f.onClusters()
	}
	out := make([]Finding, len(f.PerCluster))
	for i, c := range f.PerCluster {
		out[i] = *f
		x := &out[i]
		x.Cluster, x.ID, x.BundleDeployment = c.Cluster, c.ID, c.BundleDeployment
		x.Evidence, x.Remedies = c.Evidence, c.Remedies
		x.Clusters, x.IDs, x.PerCluster, x.Remediation = nil, nil, nil, first(c.Remedies)
	}
	return out
}

// onClusters returns the finding of an earlier report, which knows only the clusters and the identities, on each
// cluster.
func (f *Finding) onClusters() []Finding {
	if len(f.Clusters) == 0 {
		return []Finding{*f}
	}
	out := make([]Finding, len(f.Clusters))
	for i, cluster := range f.Clusters {
		out[i] = *f
		out[i].Cluster, out[i].Clusters, out[i].IDs = cluster, nil, nil
		if i < len(f.IDs) {
			out[i].ID = f.IDs[i]
		}
	}
	return out
}

// Described returns the evidence. Of a finding on several clusters, a sentence that is not true of all of them names
// the cluster.
func (f *Finding) Described() []string {
	return each(f.Evidence, func(e string) string {
		if slices.ContainsFunc(f.PerCluster, func(c ClusterFinding) bool { return !slices.Contains(c.Evidence, e) }) {
			return "on " + f.Cluster + ": " + e
		}
		return e
	})
}

// SeenMark ends each sentence of the evidence about a request that the admission webhook saw.
const SeenMark = " (seen by the webhook)"

// Brief returns the evidence of a finding with a code, without ownership metadata: up to five labels and annotations,
// which the verb adopt shows.
func Brief(code string, evidence []string) []string {
	if !codes.Is(code, codes.AboutOwnership) {
		return evidence
	}
	return slices.DeleteFunc(slices.Clone(evidence), func(e string) bool { return !strings.HasSuffix(e, SeenMark) })
}

// KindWhy is the kind of a Why.
const KindWhy = "WhyReport"

// Why reports why objects of Fleet are not ready.
type Why struct {
	Head    `text:"keep"`
	Objects []WhyObject `json:"objects"`
	Gaps    []Gap       `json:"gaps"`
	// Notes are information for the reader that is not a gap.
	Notes []string `json:"notes,omitempty" text:"redact"`
}

// WhyObject is an object of Fleet or a deployed object, and why it is not ready.
type WhyObject struct {
	object.Ref `text:"name"`
	// State is Ready, NotReady or Unknown.
	State State `json:"state" text:"keep"`
	// Answer is one sentence.
	Answer string `json:"answer" text:"redact"`
	// Reported is the status that Fleet reports.
	Reported *Reported `json:"reported,omitempty" text:"keep"`
	// Summary counts the deployments of the object: the pairs of a bundle and a cluster.
	Summary WhySummary `json:"summary"`
	// Causes are those for which it is not ready, or for which that is not known; the one with the most deployments
	// first. A state that is Unknown only because objects were not read that Fleet reports as ready has no cause.
	Causes []WhyCause `json:"causes"`
	Notes  []string   `json:"notes,omitempty" text:"redact"`
}

// WhySummary counts the deployments of an object.
type WhySummary struct {
	Deployments int `json:"deployments"`
	Ready       int `json:"ready"`
	NotReady    int `json:"notReady"`
	Unknown     int `json:"unknown"`
	// FromStatus are those of the ready ones whose objects were not read: Fleet reports them as ready. With any of
	// them, the object is never Ready.
	FromStatus int `json:"fromStatus"`
}

// WhyCause is one root cause, with the chain of steps that leads to it.
type WhyCause struct {
	// Root is the kind of the last step.
	Root check.StepKind `json:"root" text:"word"`
	// State is NotReady, or Unknown if the data does not show whether the deployments are ready.
	State State `json:"state" text:"keep"`
	// Steps begin at the object. Each step is the reason of the one before it. For several deployments, they are those
	// of the first one.
	Steps []WhyStep `json:"steps"`
	// Deployments have this cause. The list is empty if the cause is one of the object itself, for all of its
	// deployments.
	Deployments []WhyDeployment `json:"deployments"`
	// Remedies are ways to proceed, the safest one first. For several deployments, they are those of the first one.
	// Next is the first of them as one text: its command, or its sentence.
	Remedies []Remedy `json:"remedies,omitempty"`
	Next     string   `json:"next,omitempty" text:"redact"`
	// Findings are the codes of the findings of an audit about the last step.
	Findings []string `json:"findings,omitempty" text:"keep"`
}

// WhyDeployment is a bundle on a cluster.
type WhyDeployment struct {
	Bundle  string `json:"bundle,omitempty" text:"name"`  // "namespace/name"
	Cluster string `json:"cluster,omitempty" text:"name"` // "namespace/name"
	// BundleDeployment is "namespace/name"; empty without one.
	BundleDeployment string `json:"bundleDeployment,omitempty" text:"name"`
	// Remedies are ways to proceed on this cluster. They are absent if they are those of the cause.
	Remedies []Remedy `json:"remedies,omitempty"`
}

// WhyStep is one step of a chain.
type WhyStep struct {
	Kind check.StepKind `json:"kind" text:"word"`
	// Object is what the step is about. Name is its name for people: that of the bundle for a BundleDeployment.
	Object  object.Ref `json:"object" text:"name"`
	Name    string     `json:"name" text:"name"`
	Cluster string     `json:"cluster,omitempty" text:"name"`
	// Message is a sentence about it.
	Message string `json:"message" text:"redact"`
	// Since is when that began, AsOf when it was last reported (RFC 3339).
	Since string `json:"since,omitempty" text:"word"`
	AsOf  string `json:"asOf,omitempty" text:"word"`
	// Evidence is how that is known.
	Evidence []string `json:"evidence,omitempty" text:"redact"`
	// Resources are the deployed objects that are not as desired or not ready, and Clusters those that use up the limit
	// of a rollout.
	Resources []Resource `json:"resources,omitempty"`
	Clusters  []string   `json:"clusters,omitempty" text:"name"`
}

// Complete sets the fields that follow from the others. Call it once, after all objects were added.
func (w *Why) Complete() {
	complete(w)
	for _, o := range w.Objects {
		for i := range o.Causes {
			o.Causes[i].Next = first(o.Causes[i].Remedies)
		}
	}
}

// Redacted returns a copy in which secrets are hidden.
func (w *Why) Redacted(s *secret.Values) *Why { return redacted(s, w, nil) }

func (c *WhyCause) follow() { c.Next = first(c.Remedies) }
