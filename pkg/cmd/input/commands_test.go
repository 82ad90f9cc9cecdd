// SPDX-License-Identifier: Apache-2.0

package input

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

// parsed returns the flags of a command line.
func parsed(t *testing.T, args ...string) *Flags {
	t.Helper()
	f := New(cli.Environment{Name: "./kfd"})
	fs := pflag.NewFlagSet("verb", pflag.ContinueOnError)
	f.AddFlags(fs, "")
	fs.StringVar(&f.agentScope, agentScopeFlag, "", "")
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestCommands checks that suggested commands read the same cluster, and have no credentials.
func TestCommands(t *testing.T) {
	plain := remedy.Commands{Audit: "kubectl fleetdoctor audit", Kubectl: "kubectl", Helm: "helm"}
	const kubectl, helm = "kubectl --context=<|captured cluster|>", "helm --kube-context=<|captured cluster|>"
	for _, tc := range []struct {
		args []string
		want remedy.Commands
	}{
		{nil, plain},
		{[]string{"--snapshot", "a b.tgz", "--snapshot", "-"},
			remedy.Commands{Audit: "kubectl fleetdoctor audit --snapshot 'a b.tgz' --snapshot SAVED-INPUT",
				Kubectl: kubectl, Helm: helm}},
		{[]string{"--snapshot", "/dev/fd/63", "--snapshot", "/dev/stdin"},
			remedy.Commands{Audit: "kubectl fleetdoctor audit --snapshot SAVED-INPUT --snapshot SAVED-INPUT",
				Kubectl: kubectl, Helm: helm}},
		{[]string{"--context", "prod", "--kubeconfig", "/k", "--as", "me", "--token", "invented-token", "--cluster",
			"c", "--user", "u"}, remedy.Commands{
			Audit:   "kubectl fleetdoctor audit --kubeconfig /k --context prod --cluster c --user u --as me",
			Kubectl: "kubectl --kubeconfig /k --context prod --cluster c --user u --as me",
			Helm:    "helm --kubeconfig /k --kube-context prod --kube-as-user me"}},
		{[]string{"--snapshot", "dump.tgz", "--context", "prod"},
			remedy.Commands{Audit: "kubectl fleetdoctor audit --snapshot dump.tgz --context prod",
				Kubectl: "kubectl --context prod", Helm: "helm --kube-context prod"}},
		{[]string{"--server", "https://example.com:6443"},
			remedy.Commands{Audit: "kubectl fleetdoctor audit --server https://example.com:6443",
				Kubectl: "kubectl --server https://example.com:6443",
				Helm:    "helm --kube-apiserver https://example.com:6443"}},
		{[]string{"--server", "https://somebody:invented-password@example.com"}, plain},
		{[]string{"--server", "somebody:invented-password@example.com"}, plain},
		{[]string{"--server", "https://somebody@example.com"}, plain},
		{[]string{"--server", "https://example.com/?token=invented-token"}, plain},
		{[]string{"--server", "https://somebody:invented%zzpassword@example.com"}, plain},
	} {
		tc.want.PrintRole, tc.want.Adopt = tc.want.Audit+" --print-rbac", strings.Replace(tc.want.Audit, " audit",
			" adopt", 1)
		tc.want.Repair = strings.Replace(tc.want.Audit, " audit", " repair", 1)
		tc.want.Owner = strings.Replace(tc.want.Audit, " audit", " owner", 1)
		tc.want.Preflight = strings.Replace(tc.want.Audit, " audit", " preflight", 1)
		tc.want.Targets = strings.Replace(tc.want.Audit, " audit", " targets", 1)
		tc.want.Why = strings.Replace(tc.want.Audit, " audit", " why", 1)
		if diff := cmp.Diff(tc.want, parsed(t, tc.args...).Commands()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.args, diff)
		}
	}
	if got, want := parsed(t, "--context", "prod").
		Command("adopt"), "kubectl fleetdoctor adopt --context prod"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestExplain checks the hints. Hints for a snapshot do not mention contexts and roles.
func TestExplain(t *testing.T) {
	for name, tc := range map[string]struct {
		err               error
		cluster, snapshot string // part of the hint, "" for no hint
	}{
		"no Fleet": {fmt.Errorf("%w: x", collect.ErrNoFleet), "current-context", "Name a snapshot of"},
		"nothing read": {fmt.Errorf("%w of Fleet", collect.ErrNothingRead),
			"kubectl fleetdoctor audit --context prod --print-rbac", "Capture it again: kubectl fleetdoctor snapshot"},
		"an unknown bundle": {&evaluate.NotFoundError{Target: evaluate.Target{Kind: evaluate.TargetBundle, Name: "x"}},
			"kubectl --context prod get bundles.fleet.cattle.io -A",
			"kubectl fleetdoctor audit --snapshot dump.tgz -o wide"},
		"an unknown cluster": {&evaluate.NotFoundError{Target: evaluate.Target{Kind: evaluate.TargetCluster,
			Name: "x"}}, "kubectl --context prod get clusters.fleet.cattle.io -A", "-o wide"},
		"another error": {errors.New("reaching the cluster"), "current-context", ""},
	} {
		for args, want := range map[string]string{"--context prod": tc.cluster, "--snapshot dump.tgz": tc.snapshot} {
			var e *cli.Error
			if err := parsed(t, strings.Fields(args)...).Explain(tc.err); !errors.As(err, &e) ||
				e.Status != cli.ExitFailed || !errors.Is(err, tc.err) {
				t.Fatalf("%s, %s: %v", name, args, err)
			}
			if !strings.Contains(e.Hint, want) || (e.Hint == "") != (want == "") {
				t.Errorf("%s, %s: %q, want %q", name, args, e.Hint, want)
			}
			if strings.HasPrefix(args, "--snapshot") && (strings.Contains(e.Hint, "context") ||
				strings.Contains(e.Hint, "--print-rbac")) {
				t.Errorf("%s: the hint for a snapshot is %q", name, e.Hint)
			}
		}
	}
	if err := parsed(t).Explain(nil); err != nil {
		t.Errorf("nil became the error %v", err)
	}
	usage := cli.UsageError(errors.New("wrong"))
	if got := parsed(t).Explain(usage); cli.ExitStatus(got) != cli.ExitUsage {
		t.Errorf("a usage error became %v", got)
	}
}

// TestAgentScopeInCommands checks that commands that evaluate repeat --agent-scope, even if it is empty, and that
// commands that undo do not.
func TestAgentScopeInCommands(t *testing.T) {
	f := parsed(t, "--agent-scope=")
	if scope, err := f.AgentScope(); err != nil || scope == nil || *scope != "" {
		t.Errorf("scope %v, error %v", scope, err)
	}
	if got := f.Commands().Adopt; got != "kubectl fleetdoctor adopt --agent-scope=''" {
		t.Errorf("the suggested command is %q", got)
	}
	if got := f.Command("adopt"); got != "kubectl fleetdoctor adopt" {
		t.Errorf("the command that undoes is %q", got)
	}
}

// TestPlaceholder checks that no shell of this machine runs a command for a captured cluster, whatever follows the
// placeholder, and whatever files and programs have the names in it.
func TestPlaceholder(t *testing.T) {
	t.Parallel()
	dir, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	for _, name := range []string{"kubectl", "helm", "captured", "cluster", "awk"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho \"$0 $*\" >> "+ran+"\n"),
			0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := parsed(t, "--snapshot", "dump.tgz").Commands()
	var tested []string
	for _, shell := range []string{"sh", "bash", "dash", "fish", "zsh"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		tested = append(tested, shell)
		for _, line := range []string{
			c.Kubectl + " -n kube-system delete configmap/x", c.Kubectl + " delete clusterrole/x", c.Kubectl,
			c.Helm + " -n web get manifest x | awk x | " + c.Kubectl + " apply -f -", c.Kubectl + " get x && " +
				c.Kubectl + " delete x",
		} {
			script := filepath.Join(t.TempDir(), "script") // fish -c ends with status 0
			if err := os.WriteFile(script, []byte(line+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			run := exec.CommandContext(t.Context(), path, script)
			run.Dir, run.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
			if out, err := run.CombinedOutput(); err == nil {
				t.Errorf("%s accepts %s: %s", shell, line, out)
			}
		}
	}
	if text, err := os.ReadFile(ran); err == nil {
		t.Errorf("programs ran:\n%s", text)
	}
	if !slices.Contains(tested, "sh") {
		t.Error("there is no sh")
	}
	t.Logf("tested with %s", strings.Join(tested, ", "))
}
