// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// failing are the statuses with which a condition states an error, by its type.
var failing = map[string]string{"Ready": "False", "Installed": "False", "Deployed": "False", "Monitored": "False",
	"Accepted": "False", "Polled": "False", "GitPolling": "False", "Imported": "False", "Processed": "False",
	"Stalled": "True"}

// errorIn returns the message of a condition that states an error; empty if it states none.
func errorIn(conditions []v1alpha1.Condition, kind string) string {
	c := v1alpha1.ConditionOf(conditions, kind)
	if c.Status != failing[kind] {
		return ""
	}
	return c.Message
}

// Quotable returns all texts that findings, and the explanations of the objects of Fleet, can quote.
func (f *Facts) Quotable() []string {
	var out []string
	add := func(text string) {
		if text != "" { // as for nearly all objects
			out = append(out, text)
		}
	}
	for _, k := range state.Kinds {
		for _, o := range k.List(f.Result.Desired.Fleet) {
			for _, text := range errorsOf(o) {
				add(text)
			}
		}
	}
	for _, d := range f.Result.Deployments {
		for i := range d.Objects {
			add(d.Objects[i].Trial.Refusal)
			add(d.Objects[i].Trial.Warnings)
		}
	}
	for _, c := range f.Result.Desired.Clusters {
		for _, r := range c.State.Latest {
			add(r.Description)
		}
	}
	for _, d := range f.Result.Desired.Deployments {
		for _, p := range d.RecordProblems {
			add(p.Reported)
		}
	}
	return out
}

// errorsOf returns all errors in the status of an object.
func errorsOf(o v1alpha1.Object) []string {
	var out []string
	for kind := range failing {
		if text := errorIn(ConditionsOf(o), kind); text != "" {
			out = append(out, text)
		}
	}
	if bd, ok := o.(*v1alpha1.BundleDeployment); ok {
		for _, r := range bd.Status.NonReadyStatus {
			out = append(out, r.Words())
		}
	}
	return out
}

// Quote returns a reference to a text that may quote Secrets of some places, as the end of a sentence: ": TEXT";
// empty without a text.
func (f *Facts) Quote(text string, places ...secret.Place) string {
	if text == "" {
		return ""
	}
	return ": " + f.Quotations.Add(text, places...)
}

// Said returns the error in a condition of an object, as the end of a sentence; empty without an error. It may quote
// the Secrets with which Fleet clones a repository, loads a chart or computes values.
func (f *Facts) Said(o v1alpha1.Object, kind string) string {
	text := errorIn(ConditionsOf(o), kind)
	b, ok := o.(*v1alpha1.Bundle)
	if ok && b.Spec.ValuesHash == "" {
		return f.Quote(text)
	}
	return f.Quote(text, secret.Place{Namespace: o.GetNamespace()})
}

// Errors returns the errors in conditions of an object, as sentences.
func (f *Facts) Errors(o v1alpha1.Object, kinds ...string) []string {
	var out []string
	for _, kind := range kinds {
		if text := f.Said(o, kind); text != "" {
			out = append(out, "its condition "+kind+text)
		}
	}
	return slices.Compact(out)
}

// SaidOf returns the error in a condition of a bundle deployment, as the end of a sentence; empty without an error.
func (f *Facts) SaidOf(d *directory.Deployment, kind string) string {
	return f.Quote(errorIn(d.BD.Status.Conditions, kind), f.SecretsOf(d)...)
}

// ReportedOf returns the sentences that Fleet reports about an object of a bundle deployment that is not ready; empty
// without any.
func (f *Facts) ReportedOf(d *directory.Deployment, o *v1alpha1.NonReadyStatus) string {
	return f.Quote(o.Words(), f.SecretsOf(d)...)
}

// SecretsOf returns the places of the Secrets that an error about a bundle deployment may quote: those of its values,
// and all of its release. API servers never quote the data of a Secret. An error on a cluster that is not read can
// therefore only have values that Helm read there.
func (f *Facts) SecretsOf(d *directory.Deployment) []secret.Place {
	var out []secret.Place
	if d.BD != nil && ownSecrets(&d.BD.Spec) {
		out = append(out, secret.Place{Namespace: d.Namespace})
	}
	cluster := f.Result.Desired.IndexOf(d)
	if cluster >= 0 {
		namespace := cmp.Or(d.Ownership.ReleaseNamespace, d.Options().ReleaseNamespace())
		out = append(out, secret.Place{Cluster: cluster, Namespace: namespace})
	}
	for _, ref := range d.ValuesSecrets() {
		out = append(out, secret.Place{Cluster: cluster, Namespace: ref.Namespace})
	}
	return out
}

// ownSecrets reports whether a BundleDeployment has Secrets in its namespace: values, or credentials for a registry.
func ownSecrets(s *v1alpha1.BundleDeploymentSpec) bool {
	return s.ValuesHash != "" || s.OCIContents || len(s.HelmChartOptions) > 0
}

// Refusal is a condition with which a controller of Fleet states that it does not process an object.
type Refusal struct {
	// Condition is its type: "Accepted".
	Condition string
	// What is the end of a sentence about the object: "is not accepted".
	What string
	// Since is when the condition changed; zero if Fleet did not write it.
	Since time.Time
}

// refusals are the conditions that state an error, by the kind of the object. The first one that does is the cause of
// the others. failing has the status of each. Source: docs/fleet-behavior.md, 4.12.
var refusals = map[string][]Refusal{
	state.GitRepo: {
		{Condition: "Accepted", What: "is not accepted"},
		{Condition: "GitPolling", What: "cannot be polled"},
		{Condition: Stalled, What: "has a Job that failed"},
	},
	state.HelmOp: {
		{Condition: "Accepted", What: "is not accepted"},
		{Condition: "Polled", What: "cannot be polled"},
	},
	state.ClusterKind: {
		{Condition: "Processed", What: "cannot be processed"},
		{Condition: "Imported", What: "has no agent, because its import failed"},
	},
	state.ClusterGroup: {{Condition: "Processed", What: "cannot be processed"}},
}

// The gitJobStatus of a GitRepo while a Job runs, and after one that failed or succeeded.
const (
	JobInProgress = "InProgress"
	JobFailed     = "Failed"
	JobSucceeded  = "Current"
)

// Refusals returns why a controller of Fleet does not process an object, the cause first. It is empty if no condition
// states an error. Fleet writes no time into some conditions, and repeats some messages.
func Refusals(o v1alpha1.Object) []Refusal {
	if Deleting(o) {
		return nil
	}
	kind := RefTo(o).Kind
	var out []Refusal
	var said []string
	for _, r := range refusals[kind] {
		c := v1alpha1.ConditionOf(ConditionsOf(o), r.Condition)
		repeated := c.Message != "" && slices.Contains(said, c.Message)
		if repeated || !states(o, c, r.Condition) {
			continue
		}
		said = append(said, c.Message)
		r.Since = Parsed(c.LastUpdateTime)
		out = append(out, r)
	}
	return out
}

// Stalled is the condition of a GitRepo that has the error of its Job.
const Stalled = "Stalled"

// states reports whether a condition states an error that has not passed. Fleet clears the errors of polls only with
// the next poll, and the condition Stalled only with the next Job. Without polls, the error of one is believed if no
// commit was ever read.
func states(o v1alpha1.Object, c v1alpha1.Condition, kind string) bool {
	failed := c.Status == failing[kind]
	switch o := o.(type) {
	case *v1alpha1.GitRepo:
		switch kind {
		case Stalled:
			return o.Status.GitJobStatus == JobFailed
		case "GitPolling":
			neverRead := o.Status.Commit == "" && o.Status.GitJobStatus != JobSucceeded
			return failed && (neverRead || !o.Spec.DisablePolling)
		}
	case *v1alpha1.HelmOp:
		if kind == "Polled" {
			return failed && polls(o)
		}
	case *v1alpha1.Cluster: // an agent that reports was installed by another import, or in another way
		if kind == "Imported" {
			return failed && o.Status.Agent.LastSeen == ""
		}
	}
	return failed
}

// polls reports whether Fleet polls the repository of a HelmOp: it does for a range of versions.
func polls(h *v1alpha1.HelmOp) bool {
	chart := h.Spec.Helm
	interval, err := time.ParseDuration(h.Spec.PollingInterval)
	if err != nil || interval == 0 || strings.HasSuffix(strings.ToLower(chart.Chart), ".tgz") {
		return false
	}
	_, err = semver.StrictNewVersion(chart.Version)
	return err != nil
}

// LeftOver reports whether the targets of its bundle do not expect a bundle deployment; certain is false if that is not
// known, or if Fleet may still have to delete it.
func (f *Facts) LeftOver(d *evaluate.BundleDeployment) (left, certain bool) {
	b, c := f.Bundle(d.Bundle), f.ClusterIn(d.Namespace)
	if b == nil || c == nil || d.BD == nil {
		return false, false
	}
	// Fleet writes no bundle without targets, so a capture may have left them out.
	if Deleting(d.BD) || d.Name != b.Name || len(b.Spec.Targets) == 0 {
		return false, false
	}
	switch r, ok := f.Targets(b).On(c.Namespace, c.Name); {
	case !ok || r.Outcome == targeting.Unknown:
		return false, false
	case r.Outcome != targeting.Excluded:
		return false, true
	}
	if Deleting(b) || Deleting(c) {
		return true, false
	}
	return true, Observed(b) && !f.Young(d.BD)
}

// Pauses returns what pauses a bundle deployment: its GitRepo, its Bundle or its Cluster; ok is false if none of them
// that were read does.
func (f *Facts) Pauses(d *directory.Deployment) (r object.Ref, ok bool) {
	if b := f.Bundle(d.Bundle); b != nil && b.Spec.Paused {
		if g := f.GitRepo(b.Namespace + "/" + b.Labels[fleet.RepoLabel]); g != nil && g.Spec.Paused {
			return RefTo(g), true
		}
		return Ref(state.Bundle, b.Namespace, b.Name), true
	}
	if c := f.ClusterIn(d.Namespace); c != nil && c.Spec.Paused {
		return Ref(state.ClusterKind, c.Namespace, c.Name), true
	}
	return object.Ref{}, false
}

// Controller is the version of the controller, which writes the Secrets.
func (f *Facts) Controller() values.Controller {
	return values.ControllerOf(f.Result.Desired.ControllerVersion)
}

// ValuesOf returns the state of the values Secret of a BundleDeployment.
func (f *Facts) ValuesOf(d *directory.Deployment) (values.Facts, values.Result) {
	facts := f.Result.Desired.Values.Facts(state.DeploymentKey(d.BD), state.DeploymentOwner(d.BD, f.Bundle(d.Bundle)))
	return facts, values.Classify(facts, f.Result.Now(), f.Controller())
}

// LostValues reports whether a bundle deployment has staged values and no current ones: a deploy of the same deployment
// id would install the defaults of the chart.
func (f *Facts) LostValues(d *evaluate.BundleDeployment) bool {
	facts, _ := f.ValuesOf(&d.Deployment)
	return facts.Secret != nil && facts.Secret.Emptied && facts.Owner.Current
}

// BlocksHelm reports whether a pending or uninstalled revision makes Helm refuse every deploy, and the agent does not
// resolve that by itself (docs/fleet-behavior.md, 1.7).
func (f *Facts) BlocksHelm(d *directory.Deployment, t directory.RecordProblem) bool {
	if t.Status == "uninstalled" {
		return true
	}
	if !d.Placed || !pending(t) {
		return false
	}
	if t.Predecessor || f.InProgress(d, t) {
		return false
	}
	agent, known := fleet.ParseVersion(d.AgentVersion)
	if agent.Minor == 14 {
		return known && agent.Before(14, 4)
	}
	return known && agent.Before(13, 10)
}

// InProgress reports whether a live cluster has a pending revision that is so young that it is that of a deploy in
// progress. In a capture it can as well be one that was interrupted, and nobody can read it again.
func (f *Facts) InProgress(d *directory.Deployment, t directory.RecordProblem) bool {
	if !pending(t) || t.Since.IsZero() {
		return false
	}
	return f.sourceOf(d.ClusterID).Source.Live() && !f.LongAgo(t.Since)
}

func pending(t directory.RecordProblem) bool { return strings.HasPrefix(t.Status, "pending-") }
