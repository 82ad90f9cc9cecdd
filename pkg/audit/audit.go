// SPDX-License-Identifier: Apache-2.0

// Package audit runs the stages of an audit in order: collect, resolve, evaluate, check, report. It has no flags and
// prints nothing.
package audit

import (
	"context"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Audit is the result of an audit.
type Audit struct {
	*evaluate.Result
	Findings []check.Finding
	// Secrets are the values that must not be shown.
	Secrets *secret.Values
	// Kinds are the kinds of the source.
	Kinds *source.Kinds
	// Found are the names of the options, with what they stand for.
	Found []*evaluate.Found

	options  Options
	clusters []ReadCluster
	// answers are those to the questions of the findings.
	answers settle.Answers
	facts   *facts.Facts
	// report has values of Secrets.
	report *report.Audit
}

// Input returns the input of checks and predictions.
func (a *Audit) Input() *check.Input {
	commands := map[object.ClusterID]remedy.Commands{}
	for i, c := range a.clusters {
		commands[a.Desired.Clusters[i].ID] = c.Commands
	}
	return check.New(a.facts, a.options.Commands, commands)
}

// use replaces the facts, and the result that they are about.
func (a *Audit) use(f *facts.Facts) { a.facts, a.Result = f, f.Result }

// Report returns the report of the audit, with secrets hidden.
func (a *Audit) Report() *report.Audit { return a.Unmerged().Merged() }

// Unmerged returns the report with a finding for each cluster, with secrets hidden.
func (a *Audit) Unmerged() *report.Audit { return a.report.Redacted(a.Secrets) }

// Due is when findings may change although nothing else does, because an object is no longer new; zero if none is.
func (a *Audit) Due() time.Time { return a.facts.Due() }

// Again reads the live objects of some bundle deployments again and evaluates them. The desired objects stay the same;
// Options.Predict or Options.KeepManifests must have been set.
// Orphaned objects are not counted, because objects that are not desired are not read.
func (a *Audit) Again(ctx context.Context, scope []object.DeploymentID) ([]*evaluate.BundleDeployment, error) {
	var out []*evaluate.BundleDeployment
	for i, c := range a.Desired.Clusters {
		e := evaluate.New(a.Desired.On(c.ID), a.Desired.Select(scope),
			evaluate.Options{Now: a.clusters[i].Reader.Description.TakenAt, Predict: a.options.Predict,
				Masked: a.clusters[i].Reader.Description.Unmasked != nil})
		observed, err := a.clusters[i].Reader.Live(ctx, e, collect.LiveOptions{Whole: a.Scope.Whole()})
		if err != nil {
			return nil, err
		}
		for _, d := range e.Evaluate(observed).Deployments() {
			d.Counts.Orphaned = 0
			out = append(out, d)
		}
	}
	return out, nil
}

// Sources returns the sources of the clusters that were read.
func (a *Audit) Sources() map[object.ClusterID]source.Source {
	out := map[object.ClusterID]source.Source{}
	for i, c := range a.Desired.Clusters {
		out[c.ID] = a.clusters[i].Reader.Source
	}
	return out
}

// OrUnread joins errors that objects were not found. They name the first gap of a damaged source, which may have lost
// the objects.
func (a *Audit) OrUnread(missing []error) error {
	return collect.OrUnread(evaluate.Join(missing), a.Source)
}
