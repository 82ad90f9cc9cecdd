// SPDX-License-Identifier: Apache-2.0

package origin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
)

// TargetArgs is how a verb's usage writes its targets. "bundle a b" is taken too, as kubectl does.
const TargetArgs = "[gitrepo/NAME | helmop/NAME | bundle/NAME | cluster/NAME | bundledeployment/NAME ...]"

// kinds are those of targets, in the order in which they are said.
var kinds = []string{evaluate.TargetGitRepo, evaluate.TargetHelmOp, evaluate.TargetBundle, evaluate.TargetCluster, evaluate.TargetBundleDeployment}

// AddScopeFlags adds the flags that narrow a verb down to a part of the source: with --namespace, all of them.
func (f *Flags) AddScopeFlags(fs *pflag.FlagSet) {
	fs.StringVarP(&f.selector, "selector", "l", "", "Only the BundleDeployments with these labels")
	fs.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "All workspaces, which is the default")
}

const agentScopeFlag = "agent-scope"

// AddAgentScopeFlag adds the flag by which the user states the scope of agents that do not show it.
func (f *Flags) AddAgentScopeFlag(fs *pflag.FlagSet) {
	fs.StringVar(&f.agentScope, agentScopeFlag, "", "Scope (AGENT_SCOPE) of the agents, where no running agent shows it; '' states that they have none")
}

// AgentScope reads --agent-scope; nil where it is not given. Its error is a usage error.
func (f *Flags) AgentScope() (*string, error) {
	if !f.given.Changed(agentScopeFlag) {
		return nil, nil
	}
	if wrong := validation.IsDNS1123Label(f.agentScope); f.agentScope != "" && len(wrong) > 0 {
		return nil, exit.UsageError(fmt.Errorf("parsing --%s %q: %s", agentScopeFlag, f.agentScope, strings.Join(wrong, "; ")))
	}
	return &f.agentScope, nil
}

// Scope reads --namespace, --selector and the targets. Its errors are usage errors.
func (f *Flags) Scope(args []string) (evaluate.Scope, error) {
	s, err := f.scope(args)
	if err != nil {
		return evaluate.Scope{}, exit.UsageError(err)
	}
	return s, nil
}

func (f *Flags) scope(args []string) (evaluate.Scope, error) {
	s := evaluate.Scope{Namespace: *f.Config.Namespace}
	if s.Namespace != "" {
		if f.allNamespaces {
			return s, errors.New("--namespace and --all-namespaces exclude each other")
		}
		if wrong := validation.IsDNS1123Label(s.Namespace); len(wrong) > 0 {
			return s, fmt.Errorf("parsing --namespace %q: %s", s.Namespace, strings.Join(wrong, "; "))
		}
	}
	if f.selector != "" {
		sel, err := labels.Parse(f.selector)
		if err != nil {
			return s, fmt.Errorf("parsing selector %q: %w", f.selector, err)
		}
		s.Selector = sel
	}
	var err error
	s.Targets, err = targets(args)
	return s, err
}

// targets reads "gitrepo/a bundle/b" and "bundle a b": after a kind alone, what follows are its names, up to the next KIND/NAME.
func targets(args []string) ([]evaluate.Target, error) {
	var out []evaluate.Target
	for len(args) > 0 {
		first := args[0]
		kind, name, slash := strings.Cut(first, "/")
		names := []string{name}
		args = args[1:]
		if known := targetKind(kind); known != "" && !slash {
			end := slices.IndexFunc(args, isTarget)
			if end < 0 {
				end = len(args)
			}
			names, args = args[:end], args[end:]
		}
		if targetKind(kind) == "" || len(names) == 0 || slices.Contains(names, "") {
			return nil, fmt.Errorf("reading argument %q: want KIND/NAME, with one of the kinds %s", first, strings.Join(kinds, ", "))
		}
		for _, name := range names {
			out = append(out, evaluate.Target{Kind: targetKind(kind), Name: name})
		}
	}
	return out, nil
}

// isTarget says whether an argument is a KIND/NAME. A NAMESPACE/NAME is none.
func isTarget(arg string) bool {
	kind, _, slash := strings.Cut(arg, "/")
	return slash && targetKind(kind) != ""
}

// IsTargetKind says whether a word names a kind of targets.
func IsTargetKind(s string) bool { return targetKind(s) != "" }

// targetKind is the kind that a word names in any of the ways that kubectl takes, "" where it names none.
func targetKind(s string) string {
	s = strings.ToLower(s)
	for kind, others := range evaluate.TargetKinds() {
		if s == kind || slices.Contains(others, s) {
			return kind
		}
	}
	return ""
}

// CompleteTargets offers the kinds of targets to a shell. It asks no cluster for names.
func CompleteTargets(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	offered := make([]string, len(kinds))
	for i, kind := range kinds {
		offered[i] = kind + "/"
	}
	return offered, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
