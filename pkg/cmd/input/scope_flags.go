// SPDX-License-Identifier: Apache-2.0

package input

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// ScopeFlags mirror the flags that select bundles and desired objects. Make them with NewScope.
type ScopeFlags struct {
	in       *Flags
	selector string

	desired                  *cli.Enum
	directory, gitRepo, path string
}

// NamespaceUsage is the usage of --namespace for a verb with targets.
const NamespaceUsage = "Workspace of the GitRepos, HelmOps, Bundles and Clusters, or namespace of the " +
	"BundleDeployments; without it, all workspaces"

// ObjectNamespace ends the usage of --namespace for a verb whose arguments may also be deployed objects.
const ObjectNamespace = ". For a deployed object, its namespace"

const (
	desiredFlag   = "desired"
	directoryFlag = "filename"
)

// NewScope returns the flags of a verb; desired is its default source of desired objects.
func NewScope(in *Flags, desired engine.Desired) *ScopeFlags {
	return &ScopeFlags{in: in, desired: cli.NewEnum(string(desired), string(engine.DesiredAuto),
		string(engine.DesiredRelease), string(engine.DesiredBundle), string(engine.DesiredFiles))}
}

// AddFlags adds the flags, but for --desired, which not every verb has.
func (f *ScopeFlags) AddFlags(c *cobra.Command) {
	fs := c.Flags()
	f.AddSelectorFlag(fs)
	f.in.AddAgentScopeFlag(fs)
	fs.StringVarP(&f.directory, directoryFlag, "f", "",
		"Directory of a bundle, with or without a fleet.yaml. Only this bundle "+
			"and those of the directories below with a fleet.yaml are evaluated, with the objects in the directories")
	fs.StringVar(&f.gitRepo, "gitrepo", "",
		"GitRepo of the directory of -f: it names the bundle, unless the fleet.yaml does, and has the targets")
	fs.StringVar(&f.path, "path", "", "Path of the directory of -f in the repository")
}

// AddSelectorFlag adds the flag that selects BundleDeployments by their labels.
func (f *ScopeFlags) AddSelectorFlag(fs *pflag.FlagSet) {
	cli.AddSelector(fs, &f.selector, "BundleDeployments")
}

// Selector parses the flag of AddSelectorFlag. It returns nil without it.
func (f *ScopeFlags) Selector() (labels.Selector, error) { return cli.ParseSelector(f.selector) }

// AddDesiredFlag adds the flag that selects the source of desired objects.
func (f *ScopeFlags) AddDesiredFlag(c *cobra.Command) {
	f.desired.AddTo(c, desiredFlag,
		"Source of the desired objects: the release record, the bundle rendered from its contents, the first of the "+
			"two that is available (auto), or the files of -f")
}
