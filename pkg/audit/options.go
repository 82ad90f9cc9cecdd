// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
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

// Cluster is a cluster that is read in addition to the source.
type Cluster struct {
	// Name is the name that the user gives it, or "namespace/name" of its Cluster object.
	Name string
	// Open opens its source. If it returns an error, the cluster is not read, which is a gap.
	Open func(context.Context) (source.Source, error)
	// Commands are the commands that findings on this cluster suggest.
	Commands remedy.Commands
}

// Memory is what audits of one cluster remember of its objects. nil remembers nothing.
type Memory struct {
	evaluated *evaluate.Memory
	searched  collect.SecretMemory
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{evaluated: evaluate.NewMemory()} }

func (m *Memory) objects() *evaluate.Memory {
	if m == nil {
		return nil
	}
	return m.evaluated
}

func (m *Memory) secrets() *collect.SecretMemory {
	if m == nil {
		return nil
	}
	return &m.searched
}

// statuses reports whether the audit compares what the statuses of Fleet state with the objects that Fleet itself
// keeps. Predictions and audits of files or of the status alone do not.
func (o Options) statuses() bool { return !o.StatusOnly && !o.Predict && o.Files == nil }
