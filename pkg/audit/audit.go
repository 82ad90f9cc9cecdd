// SPDX-License-Identifier: Apache-2.0

// Package audit runs the stages of an audit in order: collect, resolve, evaluate, check, report. It has no flags and prints nothing.
package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Options of an audit.
type Options struct {
	Scope evaluate.Scope
	// Pick selects the bundle deployments that are evaluated; nil selects those of Scope.
	Pick func(*directory.Directory) ([]*directory.Deployment, error)
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
	// AgentScope is the scope that the user states for agents whose running workload does not show one; nil if none is stated.
	AgentScope *string
	// StatusOnly checks only the status that Fleet reports: no release record and no live object is read.
	StatusOnly bool
	// Renderer renders bundles; nil renders them in this process, without limits for templates.
	Renderer collect.Renderer
	// Predict also records the data that adopting or deploying objects needs.
	Predict bool
	// Clusters returns the clusters that are read in addition to the source, for Fleet's objects of the source; nil reads no other cluster.
	Clusters func(*state.Fleet) ([]Cluster, []source.Gap)
	// Pause waits before values Secrets that seem to be missing or different, and numbers that seem to be wrong, are read again; nil is collect.Pause.
	Pause func(context.Context) error
	// AsVersion is the version of Fleet for which the data is evaluated; empty for the versions that run.
	AsVersion string
	// AllManifests also reads the manifests of the newest revisions, which an uninstall uses.
	AllManifests bool
	// Progress receives the progress of the audit; nil if it is not needed. It is called from several goroutines.
	Progress func(collect.Progress)
}

// Desired is a source of desired objects.
type Desired string

// The sources. Fleet's agent compares with the release and would install the bundle now. Auto is the release if there is one, otherwise the
// bundle. Files are Options.Files.
const (
	DesiredRelease Desired = "release"
	DesiredAuto    Desired = "auto"
	DesiredBundle  Desired = "bundle"
	DesiredFiles   Desired = "files"
)

// ErrNoFleet is returned if no trace of Fleet was found. The message names the source.
var ErrNoFleet = errors.New("no Fleet found here")

// ErrNothingRead is returned if Fleet may be installed, but nothing of it could be read.
var ErrNothingRead = errors.New("no object of Fleet could be read")

// ErrScopeContradicted is returned if the user states an agent scope and a running agent shows another one.
var ErrScopeContradicted = errors.New("the running agent contradicts --agent-scope")

// ErrScopeAmbiguous is returned if the user states one scope and several agents do not show theirs.
var ErrScopeAmbiguous = errors.New("--agent-scope states one scope for several agents")

// Audit is the result of an audit.
type Audit struct {
	*evaluate.Result
	Findings []check.Finding
	// Secrets are the values that must not be shown.
	Secrets *redact.Secrets
	// Kinds are the kinds of the source.
	Kinds *source.Kinds

	options  Options
	clusters []readCluster
}

// Input returns the input of checks and predictions.
func (a *Audit) Input() *check.Input {
	commands := map[object.ClusterID]remedy.Commands{}
	for i, c := range a.clusters {
		commands[a.Desired.Clusters[i].ID] = c.Commands
	}
	return check.New(facts.New(a.Result, &a.Secrets.Quotations), a.options.Commands, commands)
}

// Run audits a source.
func Run(ctx context.Context, src source.Source, o Options) (*Audit, error) {
	r, err := readFleet(ctx, src, o)
	if err != nil {
		return nil, err
	}
	b, ofBackground := newBackground(ctx)
	defer b.stop()
	r.management(ofBackground, b)
	if err := r.readState(ctx); err != nil {
		return nil, err
	}
	if err := r.found(); err != nil {
		return nil, err
	}
	if err := r.statedScope(); err != nil {
		return nil, err
	}
	r.namespaces(ofBackground, b)
	if err := r.settleDisputes(ctx); err != nil {
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
	r.resolve(renderings, removals)
	r.states = nil // release the objects of every revision
	r.hide(b)
	result, err := r.evaluate(ctx, b, r.desired.Select(scope))
	if err != nil {
		return nil, err
	}
	if err := r.copies(ctx, result); err != nil {
		return nil, err
	}
	out := &Audit{Result: result, Kinds: r.Kinds, Secrets: &r.Secrets.Secrets, options: o, clusters: r.clusters}
	out.Findings = check.Run(out.Input())
	if err := out.settleLag(ctx, r.Reader); err != nil {
		return nil, err
	}
	if err := out.confirm(ctx, r.Reader); err != nil {
		return nil, err
	}
	gaps, err := out.quotedSecrets(ctx)
	result.Gaps = append(result.Gaps, gaps...)
	return out, err
}

// reading is the data that was read, and the desired state that follows from it.
type reading struct {
	// Reader reads Fleet's own objects. clusters read the clusters of the desired state, in its order.
	*collect.Reader
	clusters []readCluster
	options  Options
	fleet    *state.Fleet
	// states are those of the clusters, with their release records; nil once the desired state is known.
	states    []*state.Cluster
	directory *directory.Directory
	desired   *resolve.DesiredState
	// secrets are the Secrets in manifests, as JSON: their values must not be shown.
	secrets [][]byte
	gaps    []source.Gap
	notes   []string
}

// read reads Fleet's objects and the state of the clusters.
func read(ctx context.Context, src source.Source, o Options) (*reading, error) {
	r, err := readFleet(ctx, src, o)
	if err != nil {
		return nil, err
	}
	if err := r.readState(ctx); err != nil {
		return nil, err
	}
	r.gaps = append(r.gaps, r.stateGaps(r.directory.Deployments)...)
	return r, nil
}

// readFleet reads Fleet's objects.
func readFleet(ctx context.Context, src source.Source, o Options) (*reading, error) {
	r := &reading{options: o}
	var err error
	if r.Reader, err = collect.Open(ctx, src, &collect.Secrets{}, o.Progress); err != nil {
		return nil, err
	}
	f, gaps, err := r.Fleet(ctx, o.Scope.Namespace)
	if err != nil {
		return nil, err
	}
	r.gaps = slices.Concat(r.Description.Gaps, gaps)
	r.fleet = f
	return r, nil
}

// readState reads the agents and the release records of the clusters, and finds the bundle deployments on them.
func (r *reading) readState(ctx context.Context) error {
	if err := r.readClusters(ctx, r.fleet); err != nil {
		return err
	}
	for _, c := range r.states {
		// A BundleDeployment of the management cluster may also quote those of a cluster that is dropped.
		r.secrets = append(r.secrets, c.Secrets()...)
	}
	r.notes = r.asVersion()
	r.dropRepeated()
	r.directory = directory.Build(directory.Input{Fleet: r.fleet, Clusters: r.states, StatedScope: r.options.AgentScope})
	r.dropReadGaps()
	r.gaps = append(r.gaps, fleetGaps(r.fleet, r.within)...)
	for i, c := range r.directory.Clusters {
		r.gaps = append(r.gaps, r.clusters[i].unidentified(r.fleet, c)...)
	}
	return nil
}

// resolve computes the desired state. It is called once.
func (r *reading) resolve(renderings []*resolve.Rendering, removals []*resolve.Removal) {
	r.desired = resolve.Resolve(resolve.Input{
		Directory: r.directory, Clusters: r.states, Renderings: renderings, Removals: removals,
	})
	r.secrets = append(r.secrets, r.desired.Secrets()...)
}

// found returns an error if there is nothing to audit.
func (r *reading) found() error {
	d := r.directory
	leftovers := func(c *directory.Cluster) bool { return len(c.Leftovers) > 0 }
	if len(d.Deployments) > 0 || d.Any() || slices.ContainsFunc(d.Clusters, leftovers) {
		return nil
	}
	where := place(r.Description)
	gaps := slices.Concat(r.gaps, r.stateGaps(nil))
	_, _, served := r.Kinds.Lookup(v1alpha1.Kind(state.BundleDeployment))
	switch {
	case len(gaps) > 0:
		return nothingRead(where, gaps[0])
	case served && !r.Description.Partial():
		return nil // Fleet is installed and deploys nothing: the report is empty
	}
	return fmt.Errorf("%w: %s has neither BundleDeployments nor Helm releases of a Fleet agent", ErrNoFleet, where)
}

// statedScope returns an error if every running agent contradicts the scope that the user states.
func (r *reading) statedScope() error {
	if r.options.AgentScope == nil {
		return nil
	}
	stated := *r.options.AgentScope
	var hidden []string // the agents that do not show a scope
	var shown []directory.AgentScope
	for _, c := range r.directory.Clusters {
		for _, agent := range c.Agents() {
			if s := c.Scopes[agent]; s.Evidence == directory.EvidenceRunning {
				shown = append(shown, s)
			} else {
				hidden = append(hidden, agent)
			}
		}
	}
	switch {
	case len(hidden) > 1:
		return fmt.Errorf("%w: no running workload shows the scope of the agents in namespaces %s", ErrScopeAmbiguous, strings.Join(hidden, ", "))
	case len(hidden) == 0 && len(shown) > 0 && !slices.ContainsFunc(shown, func(s directory.AgentScope) bool { return s.Scope == stated }):
		return fmt.Errorf("%w=%q: %s shows %s", ErrScopeContradicted, stated, shown[0].Source, shown[0])
	}
	return nil
}

// settleDisputes counts live objects to choose between the scope that a spec declares and the one that releases state.
func (r *reading) settleDisputes(ctx context.Context) error {
	all := map[directory.DisputeKey]directory.Carriers{}
	var mu sync.Mutex // guards all
	if err := each(ctx, r.clusters, func(ctx context.Context, i int) error {
		carriers, err := r.clusters[i].Carriers(ctx, r.directory, r.states[i])
		mu.Lock()
		defer mu.Unlock()
		maps.Copy(all, carriers)
		return err
	}); err != nil {
		return err
	}
	r.directory = r.directory.Settle(all)
	return nil
}

// scope returns the bundle deployments that are audited, without those of files.
func (r *reading) scope() ([]*directory.Deployment, error) {
	pick := r.options.Scope.Pick
	if r.options.Pick != nil {
		pick = r.options.Pick
	}
	picked, err := pick(r.directory)
	return picked, orUnread(err, r.Description)
}
