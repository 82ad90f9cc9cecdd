// SPDX-License-Identifier: Apache-2.0

// Package audit drives one audit: it reads a source past the inventory, has every desired object judged as it streams past, and makes the
// report. It is the one place where reading, judging and reporting meet; it has no flags and prints nothing.
package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Options of an audit.
type Options struct {
	Scope Scope
	// Server, where there is one, can be asked what it would make of a manifest.
	Server Server
	// ServerCheck says when it is asked.
	ServerCheck ServerCheck
	// Version of the program, and the Commands by which findings suggest what to do: only to be shown.
	Version  string
	Commands check.Commands
	// Desired says where desired objects are taken from; empty is DesiredRelease. Files are those of DesiredFiles.
	Desired Desired
	Files   *render.Input
	// AgentScope is the scope that the user states for agents whose running workload does not show one; nil where none is stated.
	AgentScope *string
	// StatusOnly has only the status checked that Fleet reports: no release record and no live object is read.
	StatusOnly bool
	// Renderer renders bundles; nil renders them in this process, where nothing bounds a template.
	Renderer Renderer
	// Foresee has each unowned object compared too, and what adopting it takes noted, or deploying over it.
	Foresee bool
	// Keep has what the manifests state kept, so that the deployments can be audited again.
	Keep bool
	// Progress, where set, is told what is being done, from several goroutines.
	Progress func(Progress)
}

// Renderer renders a bundle, as render.Render does. It may also return a *render.LimitError. An error of another type than those of package
// render, or of the context, ends the audit. It is called from several goroutines.
type Renderer interface {
	Render(ctx context.Context, in render.Input) (*render.Result, error)
}

// Progress is how far an audit has come.
type Progress struct {
	Doing   string // "reading release records"
	Objects int    // objects read so far
}

// ErrNoFleet is returned where nothing of Fleet was found. Its text says where it was looked for.
var ErrNoFleet = errors.New("no Fleet found here")

// ErrNothingRead is returned where Fleet may be, but nothing of it could be read.
var ErrNothingRead = errors.New("nothing could be read")

// run is one audit under way.
type run struct {
	Options
	src   source.Source
	desc  source.Description
	kinds *source.Kinds

	builder inventory.Builder
	inv     *inventory.Inventory
	hiding  sync.Mutex // guards secrets while bundles are rendered
	secrets report.Secrets
	gaps    []report.Gap
	now     time.Time
	counter counter
	// rendering is what all rendered bundles came to, in bytes.
	rendering int

	records source.Coverage // of the release records
	// agentSecretsRead says that the Secrets of all agents could be read.
	agentSecretsRead bool
	// configMapsRead says that the releases in ConfigMaps could be read.
	configMapsRead bool
	fleet          map[string]source.Coverage // of Fleet's kinds, as far as they are served
}

// Run audits what the source yields. The report is closed: sorted, summed up and free of secrets.
func Run(ctx context.Context, src source.Source, o Options) (*report.Audit, error) {
	f, err := Find(ctx, src, o)
	if err != nil {
		return nil, err
	}
	return f.Report(), nil
}

// Found is what an audit found out, before anything is said of it.
type Found struct {
	Case *check.Case
	// Secrets are the values that must not be shown.
	Secrets *report.Secrets
	// Kinds are those that the source has.
	Kinds *source.Kinds
	run   *run
}

// Find audits what the source yields, for those who make something else of it than a report.
func Find(ctx context.Context, src source.Source, o Options) (*Found, error) {
	r := newRun(src, o)
	if err := r.gather(ctx); err != nil {
		return nil, err
	}
	scoped, err := r.Scope.pick(r.inv)
	if err != nil {
		return nil, err
	}
	if scoped, err = r.desired(ctx, scoped); err != nil {
		return nil, err
	}
	l := r.newLive(scoped)
	if !r.StatusOnly {
		if err := l.read(ctx); err != nil {
			return nil, err
		}
		l.unproven()
		if err := l.confirm(ctx); err != nil {
			return nil, err
		}
	}
	found := &Found{Case: l.asCase(), Secrets: &r.secrets, Kinds: r.kinds, run: r}
	if err := r.quotedSecrets(ctx, found.Case); err != nil {
		return nil, err
	}
	return found, nil
}

// Again audits some of the deployments, by their keys, once more, from live objects that are read anew; what is desired of them is as it was. It needs
// Options.Keep. Of what nobody desires it knows nothing: nothing is counted as orphaned.
func (f *Found) Again(ctx context.Context, keys map[string]bool) ([]*check.Deployment, error) {
	if !f.run.Keep {
		return nil, errors.New("auditing again: what the manifests state was not kept")
	}
	var scoped []*inventory.Deployment
	for _, d := range f.Case.Deployments {
		if keys[d.Key()] {
			scoped = append(scoped, d.Deployment)
		}
	}
	l := f.run.newLive(scoped)
	if err := l.list(ctx, nil); err != nil {
		return nil, err
	}
	out := l.asCase().Deployments
	for _, d := range out {
		d.Counts.Orphaned = 0
	}
	return out, nil
}

// Report is what is to be said of it, closed.
func (f *Found) Report() *report.Audit {
	out := f.run.assemble(f.Case)
	out.Findings = check.Run(f.Case)
	out.Close(f.Secrets)
	return out
}

func newRun(src source.Source, o Options) *run {
	r := &run{Options: o, src: src, fleet: map[string]source.Coverage{}}
	r.counter.report = o.Progress
	if r.Renderer == nil {
		r.Renderer = inProcess{}
	}
	return r
}

// gap notes something that could not be read.
func (r *run) gap(what string, f source.Failure, effect string) {
	reason := string(f.Reason)
	if f.Detail != "" {
		reason += ": " + f.Detail
	}
	r.gaps = append(r.gaps, report.Gap{What: what, Reason: reason, Effect: effect})
}

// deploymentsHidden says whether there may be BundleDeployments of which none could be read, of no cluster. What a damaged snapshot does not
// hold may be what was lost.
func (r *run) deploymentsHidden() bool {
	f, all := r.fleet["BundleDeployment"].Of("")
	switch {
	case all, f.Reason == source.KindNotServed:
		return false
	case f.Reason == source.NotInSnapshot:
		return len(r.desc.Gaps) > 0
	}
	return !slices.ContainsFunc(r.inv.Clusters, func(c *v1alpha1.Cluster) bool { return r.deploymentsRead(c.Status.Namespace) })
}

// found makes sure that there is something to audit.
func (r *run) found() error {
	if len(r.inv.Deployments) > 0 || len(r.inv.Leftovers) > 0 {
		return nil
	}
	if !r.deploymentsHidden() && (len(r.inv.Bundles) > 0 || len(r.inv.Clusters) > 0 || len(r.inv.GitRepos) > 0) {
		return nil
	}
	where := r.desc.Server
	if r.desc.Origin == source.OriginSnapshot {
		where = strings.Join(r.desc.Paths, ", ")
	}
	_, _, served := r.kinds.Lookup(v1alpha1.Kind("BundleDeployment"))
	switch {
	case len(r.gaps) > 0:
		return fmt.Errorf("%w of Fleet in %s: %s", ErrNothingRead, where, r.gaps[0].What+" ("+r.gaps[0].Reason+")")
	case served && r.desc.Origin == source.OriginCluster:
		return nil // Fleet is installed and deploys nothing: that is a clean report
	}
	return fmt.Errorf("%w: %s has neither BundleDeployments nor Helm releases of a Fleet agent", ErrNoFleet, where)
}
