// SPDX-License-Identifier: Apache-2.0

package input

import (
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// program is how a command for users begins. It does not depend on how this process was called, so that a report is the
// same everywhere.
const program = "kubectl fleetdoctor"

// Command returns the beginning of a command line of this program that reads the same source: "kubectl fleetdoctor
// adopt --context prod". It has no token and no password.
func (f *Flags) Command(name string) string {
	command := program + " " + name
	for _, s := range f.Snapshots {
		command += " --snapshot " + escape.Shell(repeatable(s))
	}
	connect, _ := f.connectArgs()
	return command + connect
}

// evaluating returns the beginning of a command line, as Command does, with the same agent scope.
func (f *Flags) evaluating(name string) string {
	command := f.Command(name)
	if f.Changed(agentScopeFlag) {
		command += " --" + agentScopeFlag + "=" + escape.Shell(f.agentScope)
	}
	return command
}

// savedInput is the placeholder for a file with the data of a pipe.
const savedInput = "SAVED-INPUT"

// repeatable is the path of a snapshot for a command that can be repeated. A pipe cannot be read again: the user has to
// save its data to a file.
func repeatable(snapshot string) string {
	if snapshot == "-" || snapshot == "/dev/stdin" || strings.HasPrefix(snapshot, "/dev/fd/") {
		return savedInput
	}
	return snapshot
}

// capturedCluster is the placeholder for the context of a captured cluster. Every shell refuses a command with it: the
// file name between "<" and "|" is missing. A placeholder such as <CONTEXT> would be two redirections.
const capturedCluster = "<|captured cluster|>"

// Commands returns the commands that findings suggest. Those of this program read the same source when they are copied
// into a shell. For a snapshot, those of kubectl and Helm need the context of the captured cluster: without it, they
// would act on the current cluster of the reader.
func (f *Flags) Commands() remedy.Commands {
	kubectl, helm := f.connectArgs()
	if f.Captured() && *f.Config.Context == "" {
		kubectl, helm = " --context="+capturedCluster+kubectl, " --kube-context="+capturedCluster+helm
	}
	return remedy.Commands{Audit: f.evaluating("audit"), PrintRole: f.Command("audit") + " --print-rbac",
		Adopt: f.evaluating("adopt"), Repair: f.evaluating("repair"),
		Owner:     f.Command("owner"),
		Preflight: f.evaluating("preflight"), Targets: f.Command("targets"), Why: f.Command("why"), Kubectl: "kubectl" +
			kubectl, Helm: "helm" + helm}
}

// InWorkspace returns the commands for a workspace: the role is then one for this namespace. An empty workspace
// changes nothing.
func InWorkspace(c remedy.Commands, workspace string) remedy.Commands {
	if workspace != "" {
		c.PrintRole += " -n " + escape.Shell(workspace)
	}
	return c
}

// connectArgs are the flags that configure the connection to the cluster, for kubectl and for Helm.
func (f *Flags) connectArgs() (kubectl, helm string) {
	for _, flag := range []struct {
		value      *string
		name, helm string
	}{
		{f.Config.KubeConfig, "--kubeconfig", "--kubeconfig"},
		{f.Config.Context, "--context", "--kube-context"},
		{f.Config.APIServer, "--server", "--kube-apiserver"},
		{f.Config.ClusterName, "--cluster", ""},
		{f.Config.AuthInfoName, "--user", ""},
		{f.Config.Impersonate, "--as", "--kube-as-user"},
	} {
		if flag.value == nil || *flag.value == "" {
			continue
		}
		if flag.value == f.Config.APIServer && hasCredentials(*flag.value) {
			continue
		}
		value := " " + escape.Shell(*flag.value)
		kubectl += " " + flag.name + value
		if flag.helm != "" {
			helm += " " + flag.helm + value
		}
	}
	return kubectl, helm
}

// hasCredentials reports whether an address has more than a server, such as a user, a password or a token. A string
// that is not an address can contain any of them.
func hasCredentials(server string) bool { return escape.Address(server) != server }
