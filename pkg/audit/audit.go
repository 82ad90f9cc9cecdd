// SPDX-License-Identifier: Apache-2.0

// Package audit runs the stages of an audit in order: collect, resolve, evaluate, check, report. It has no flags and
// prints nothing.
package audit

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Options of an audit.
type Options struct {
	Scope evaluate.Scope
	// Names are other names on the command line. What they stand for is added to the targets of Scope.
	Names []source.Named
	// Pick selects the bundle deployments that are evaluated, for a scope; nil is evaluate.Scope.Pick.
	Pick func(evaluate.Scope, *directory.Directory) ([]*directory.Deployment, error)
	// Parents also audits objects of Fleet that have no bundle deployment.
	Parents bool
	// Server makes dry runs of manifests; nil if there is no server.
	Server collect.Server
	// ServerCheck selects the objects for which Server makes dry runs.
	ServerCheck collect.ServerCheck
	// Version is the version of the program. Commands are the commands that findings suggest. Both are only shown.
	Version  string
	Commands remedy.Commands
	// Desired is the source of the desired objects; empty means DesiredRelease. Files are the bundles for DesiredFiles.
	Desired Desired
	Files   []*render.Local
	// AgentScope is the scope that the user states for agents whose running workload does not show one; nil if none is
	// stated.
	AgentScope *string
	// StatusOnly checks only the status that Fleet reports: no release record and no live object is read.
	StatusOnly bool
	// Renderer renders bundles; nil renders them in this process, without limits for templates.
	Renderer collect.Renderer
	// Predict also records the data that adopting or deploying objects needs.
	Predict bool
	// Staged renders the deployments that are staged, instead of those that a rollout has not replaced yet.
	Staged bool
	// KeepManifests keeps the JSON of the desired objects after they were evaluated. Predict implies it.
	KeepManifests bool
	// Memory has what earlier audits of the same cluster evaluated; nil if nothing is remembered.
	Memory *Memory
	// Clusters returns the clusters that are read in addition to the source, for Fleet's objects of the source; nil
	// reads no other cluster.
	Clusters func(*state.Fleet) ([]Cluster, []source.Gap)
	// Pause waits before what findings depend on is read again; nil is Pause.
	Pause func(context.Context) error
	// AsVersion is the version of Fleet for which the data is evaluated; empty for the versions that run.
	AsVersion string
	// Progress receives the progress of the audit; nil if it is not needed. It is called from several goroutines.
	Progress func(collect.Progress)
}

// predictsOnly reports whether no finding is needed: what only findings are about is then not read.
func (o *Options) predictsOnly() bool { return o.Predict && !o.Parents }

// Desired is a source of desired objects.
type Desired string

// The sources. Fleet's agent compares with the release and would install the bundle now. Auto is the release if there
// is one, otherwise the bundle. Files are Options.Files.
const (
	DesiredRelease Desired = "release"
	DesiredAuto    Desired = "auto"
	DesiredBundle  Desired = "bundle"
	DesiredFiles   Desired = "files"
)

// ErrScopeContradicted is returned if the user states an agent scope and a running agent shows another one.
var ErrScopeContradicted = errors.New("the running agent contradicts --agent-scope")

// ErrScopeAmbiguous is returned if the user states one scope and several agents do not show theirs.
var ErrScopeAmbiguous = errors.New("--agent-scope states one scope for several agents")

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

// Run audits a source.
func Run(ctx context.Context, src source.Source, o Options) (*Audit, error) {
	s, err := start(ctx, src, o, false, nil)
	if err != nil {
		return nil, err
	}
	if !o.Predict && !o.KeepManifests {
		if err := Each(ctx, s.reading.Clusters[:len(s.clusters)], func(ctx context.Context, i int) error {
			return s.reading.Clusters[i].Obstacles(ctx, s.clusters[i].evaluated.Deployments)
		}); err != nil {
			return nil, err
		}
	}
	out, err := s.finish(ctx, nil)
	if err != nil || !o.Parents || len(out.Findings) > 0 {
		return out, err
	}
	r := s.reading
	if s := r.options.Scope; len(s.Targets) > 0 && s.Selector == nil && out.Desired.Read(state.Bundle, s.Namespace) {
		return out, nil // what the user names exists, and has none
	}
	_, err = r.options.Scope.Pick(r.Directory) // an empty report is no clean one
	return out, collect.OrUnread(err, r.Description)
}

// start reads and evaluates everything. If keep is true, the evaluation can be changed later. What is the same as in an
// earlier Standing is taken from it; nil stands for none.
func start(ctx context.Context, src source.Source, o Options, keep bool, before *Standing) (*Standing, error) {
	r, err := readFleet(ctx, src, o, before.read())
	if err != nil {
		return nil, err
	}
	b, ofBackground := newBackground(ctx)
	defer b.stop()
	r.management(ofBackground, b)
	if err := r.readState(ctx); err != nil {
		return nil, err
	}
	if err := r.Found(); err != nil {
		return nil, err
	}
	if err := r.statedScope(); err != nil {
		return nil, err
	}
	r.namespaces(ofBackground, b)
	if err := r.SettleDisputes(ctx); err != nil {
		return nil, err
	}
	same, err := r.unchanged(ctx, before)
	if err != nil {
		return nil, err
	}
	scope, renderings, err := r.render(ctx)
	if err != nil {
		return nil, err
	}
	removals, err := r.removals(ctx)
	if err != nil {
		return nil, err
	}
	r.resolve(renderings, removals, before.desired(), same)
	found, scope, err := r.find(scope)
	if err != nil {
		return nil, err
	}
	out := &Standing{reading: r, scope: r.Desired.Select(scope), found: found, keep: keep}
	if keep {
		out.records = r.States[0].InBrief()
	}
	r.States, r.Before = nil, collect.Before{} // release the objects of every revision
	r.hide(b)
	err = out.evaluate(ctx, b, before)
	return out, err
}

// finish turns the evaluation into a result with findings. hold selects those that are certain; nil selects all.
func (s *Standing) finish(ctx context.Context, hold func([]check.Finding) []check.Finding) (*Audit, error) {
	result, err := s.result(ctx)
	if err != nil {
		return nil, err
	}
	r := s.reading
	out := &Audit{Result: result, Kinds: r.Kinds, Secrets: r.Secrets, Found: s.found, options: r.options,
		clusters: r.Clusters, facts: facts.New(result, &r.Secrets.Quotations)}
	out.Findings = check.Run(out.Input())
	if err := out.settle(ctx); err != nil {
		return nil, err
	}
	if hold != nil {
		out.Findings = hold(out.Findings)
	}
	if r.options.Parents && len(out.Scope.Targets) > 0 {
		out.Findings = append(out.Findings, out.Input().Causes().Unexplained(out.Findings)...)
		slices.SortStableFunc(out.Findings, func(a, b check.Finding) int { return cmp.Compare(a.Code, b.Code) })
	}
	if !out.Whole {
		out.Notes = append(out.Notes, out.Input().IgnoredSchedules()...)
	}
	lost := missing(out.Deployments, out.Findings)
	err = Each(ctx, out.clusters, func(ctx context.Context, i int) error {
		return vanished(ctx, out.clusters[i].Source, lost[object.ClusterID(out.clusters[i].Name)])
	})
	if err != nil {
		return nil, err
	}
	out.report = report.NewAudit(out.Result, out.Findings, r.options.Version)
	unread, err := out.quotedSecrets(ctx)
	out.use(out.facts.With(out.WithGaps(unread)))
	out.report.Gaps = report.Gaps(out.Gaps)
	return out, err
}

// use replaces the facts, and the result that they are about.
func (a *Audit) use(f *facts.Facts) { a.facts, a.Result = f, f.Result }

// Report returns the report of the audit, with secrets hidden.
func (a *Audit) Report() *report.Audit { return a.Unmerged().Merged() }

// Unmerged returns the report with a finding for each cluster, with secrets hidden.
func (a *Audit) Unmerged() *report.Audit { return a.report.Redacted(a.Secrets) }

// Again reads the live objects of some bundle deployments again and evaluates them. The desired objects stay the same;
// Options.Predict or Options.KeepManifests must have been set.
// Orphaned objects are not counted, because objects that are not desired are not read.
func (a *Audit) Again(ctx context.Context, scope []object.DeploymentID) ([]*evaluate.BundleDeployment, error) {
	var out []*evaluate.BundleDeployment
	for i, c := range a.Desired.Clusters {
		e := evaluate.New(a.Desired.On(c.ID), a.Desired.Select(scope),
			evaluate.Options{Now: a.clusters[i].Description.TakenAt, Predict: a.options.Predict,
				Masked: a.clusters[i].Description.Unmasked != nil})
		observed, err := a.clusters[i].Live(ctx, e, collect.LiveOptions{Whole: a.Scope.Whole()})
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
		out[c.ID] = a.clusters[i].Source
	}
	return out
}

// PauseLength is the time after which objects are read again.
const PauseLength = 5 * time.Second

// Pause waits for the PauseLength. Its error is that of the context.
func Pause(ctx context.Context) error {
	timer := time.NewTimer(PauseLength)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// pause waits before objects are read again.
func (o Options) pause(ctx context.Context) error {
	if o.Pause == nil {
		return Pause(ctx)
	}
	return o.Pause(ctx)
}

// settle asks the questions of the findings, and drops the findings that the answers contradict. A snapshot cannot be
// read again. Nobody waits for the findings of predictions.
func (a *Audit) settle(ctx context.Context) error {
	if a.clusters[0].Description.Origin != source.OriginCluster {
		return nil
	}
	waits := !a.options.Predict && a.options.Files == nil
	for pause := 1; waits && a.pauses() >= pause; pause++ {
		if err := a.options.pause(ctx); err != nil {
			return err
		}
		if err := a.ask(ctx, func(f check.Finding) bool { return f.Pauses >= pause }); err != nil {
			return err
		}
	}
	err := a.ask(ctx, func(f check.Finding) bool { return f.Pauses == 0 })
	a.use(a.facts.Settled(a.answers))
	return err
}

// pauses is the number of pauses for which findings ask.
func (a *Audit) pauses() int {
	n := 0
	for _, f := range a.Findings {
		n = max(n, f.Pauses)
	}
	return n
}

// ask asks the questions of those findings that are selected.
func (a *Audit) ask(ctx context.Context, selected func(check.Finding) bool) error {
	questions := map[object.ClusterID][]settle.Question{}
	for _, f := range a.Findings {
		if !selected(f) {
			continue
		}
		for _, q := range f.Settle {
			questions[q.Cluster] = append(questions[q.Cluster], q)
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(questions)) {
		i := slices.IndexFunc(a.clusters, func(c ReadCluster) bool { return object.ClusterID(c.Name) == cluster })
		answers, err := settle.Ask(ctx, a.clusters[i].Source, questions[cluster])
		if err != nil {
			return err
		}
		answers.Gaps = a.clusters[i].Named(answers.Gaps)
		a.answers = a.answers.With(answers)
	}
	a.Findings = slices.DeleteFunc(a.Findings, func(f check.Finding) bool { return !a.answers.Hold(f.Settle) })
	return nil
}
