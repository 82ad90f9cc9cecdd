// SPDX-License-Identifier: Apache-2.0

package input

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// Flags mirror the flags that name the source. Make them with New.
type Flags struct {
	cli.Environment
	// Config has kubectl's own flags.
	Config *genericclioptions.ConfigFlags
	// Snapshots are the paths of captured clusters; without any, a live cluster is read.
	Snapshots []string
	// NoProgress omits the progress line.
	NoProgress bool
	// Changed reports whether a flag of the verb is on the command line.
	Changed func(flag string) bool

	agentScope string
}

// New returns the flags of a verb that may read a cluster or a snapshot.
func New(env cli.Environment) *Flags {
	config := genericclioptions.NewConfigFlags(true)
	config.CacheDir = nil // a cached discovery may be outdated
	return &Flags{Environment: env, Config: config, Changed: func(string) bool { return false }}
}

// AddFlags adds the flags that name a cluster or a snapshot, and --namespace with the verb's own usage.
func (f *Flags) AddFlags(fs *pflag.FlagSet, namespaceUsage string) {
	f.Changed = fs.Changed
	f.Config.AddFlags(fs)
	if namespace := fs.Lookup("namespace"); namespace != nil { // a verb may leave it out
		namespace.Usage = namespaceUsage
	}
	fs.StringArrayVar(&f.Snapshots, "snapshot", nil, "Read a snapshot instead of the cluster: a folder, file, "+
		".tar, .tgz or .zip, or - for standard input. May be repeated. "+
		"--context then only names its cluster in the commands that are suggested")
}

// ConnectionFlags returns new flags of kubectl for the connection to a cluster: those of every verb with a cluster.
func ConnectionFlags() *pflag.FlagSet {
	config := genericclioptions.NewConfigFlags(true)
	config.CacheDir, config.Namespace = nil, nil
	fs := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	config.AddFlags(fs)
	return fs
}

// Connects reports whether a flag of a verb is one of the ConnectionFlags. --cluster of some verbs is not: it names a
// cluster to read in addition.
func Connects(connection *pflag.FlagSet, flag *pflag.Flag) bool {
	kubectls := connection.Lookup(flag.Name)
	return kubectls != nil && kubectls.Value.Type() == flag.Value.Type()
}

const agentScopeFlag = "agent-scope"

// AddAgentScopeFlag adds the flag for the scope of agents that the source does not show.
func (f *Flags) AddAgentScopeFlag(fs *pflag.FlagSet) {
	fs.StringVar(&f.agentScope, agentScopeFlag, "",
		"Scope (AGENT_SCOPE) of the agents if no running agent shows it; '' means no scope")
}

// AgentScope parses --agent-scope; nil if it is not given.
func (f *Flags) AgentScope() (*string, error) {
	if !f.Changed(agentScopeFlag) {
		return nil, nil
	}
	if wrong := validation.IsDNS1123Label(f.agentScope); f.agentScope != "" && len(wrong) > 0 {
		return nil, fmt.Errorf("parsing --%s %q: %s", agentScopeFlag, f.agentScope, strings.Join(wrong, "; "))
	}
	return &f.agentScope, nil
}

// Captured reports whether a snapshot is read instead of a cluster.
func (f *Flags) Captured() bool { return len(f.Snapshots) > 0 }
