// SPDX-License-Identifier: Apache-2.0

// Package origin is what every verb shares of saying where its data comes from: the flags that name a cluster or a snapshot, the scope
// within it, the commands that lead back to it, and what a terminal shows while it is read. It judges nothing and prints no report.
package origin

import (
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Environment is what verbs take from the root.
type Environment struct {
	Streams genericiooptions.IOStreams
	Now     func() time.Time
	Name    string // how the program was called: "kubectl fleetdoctor"
	Version string
	// Interruption is how a verb keeps the process from ending it; nil where nothing would.
	Interruption *Interruption
	// Renderer renders bundles; nil renders them in this process, where nothing bounds a template.
	Renderer collect.Renderer
}

// Flags mirror the part of a command line that says what to read. Make them with New.
type Flags struct {
	Environment
	// Config are kubectl's own flags.
	Config *genericclioptions.ConfigFlags
	// Snapshots are the paths of captured clusters; none means a live one.
	Snapshots []string

	selector      string
	agentScope    string
	allNamespaces bool
	given         *pflag.FlagSet // that they were added to: it knows what was typed
}

// New makes the flags of a verb that may read a cluster or a snapshot.
func New(env Environment) *Flags {
	config := genericclioptions.NewConfigFlags(true)
	config.CacheDir = nil // discovery is asked anew each time: a cached answer may be of yesterday
	return &Flags{Environment: env, Config: config, given: pflag.NewFlagSet("none", pflag.ContinueOnError)}
}

// AddFlags adds the flags that name a cluster or a snapshot, and --namespace, whose usage a verb may say in its own words.
func (f *Flags) AddFlags(fs *pflag.FlagSet) {
	f.given = fs
	f.Config.AddFlags(fs)
	fs.StringArrayVar(&f.Snapshots, "snapshot", nil, "Read a captured cluster instead: a folder, file, .tar, .tgz or .zip, or - for standard input. May be given several times")
}

// Captured says whether a snapshot is read, and no cluster.
func (f *Flags) Captured() bool { return len(f.Snapshots) > 0 }
