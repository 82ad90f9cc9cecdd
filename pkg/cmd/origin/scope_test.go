// SPDX-License-Identifier: Apache-2.0

package origin

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
)

// typed are the flags as a command line has them.
func typed(t *testing.T, args ...string) *Flags {
	t.Helper()
	f := New(Environment{Name: "kubectl fleetdoctor"})
	fs := pflag.NewFlagSet("verb", pflag.ContinueOnError)
	f.AddFlags(fs)
	f.AddScopeFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTargets(t *testing.T) {
	repo := evaluate.Target{Kind: evaluate.TargetGitRepo, Name: "guestbook"}
	for _, tc := range []struct {
		args []string
		want []evaluate.Target // nil where it is refused
	}{
		{[]string{"gitrepo/guestbook"}, []evaluate.Target{repo}},
		{[]string{"gitrepos/guestbook"}, []evaluate.Target{repo}},
		{[]string{"GitRepo/guestbook"}, []evaluate.Target{repo}},
		{[]string{"gitrepos.fleet.cattle.io/guestbook"}, []evaluate.Target{repo}},
		{[]string{"gitrepo", "guestbook"}, []evaluate.Target{repo}},
		{[]string{"gitrepo/fleet-local/guestbook"}, []evaluate.Target{{Kind: evaluate.TargetGitRepo, Name: "fleet-local/guestbook"}}},
		{[]string{"gitrepo", "fleet-local/guestbook"}, []evaluate.Target{{Kind: evaluate.TargetGitRepo, Name: "fleet-local/guestbook"}}},
		{[]string{"bundle", "a", "b"}, []evaluate.Target{{Kind: evaluate.TargetBundle, Name: "a"}, {Kind: evaluate.TargetBundle, Name: "b"}}},
		{[]string{"bundle", "a", "cluster"}, []evaluate.Target{{Kind: evaluate.TargetBundle, Name: "a"}, {Kind: evaluate.TargetBundle, Name: "cluster"}}}, // a name like any other
		{[]string{"gitrepo", "guestbook", "bd/a", "cluster", "b"}, []evaluate.Target{repo,
			{Kind: evaluate.TargetBundleDeployment, Name: "a"}, {Kind: evaluate.TargetCluster, Name: "b"}}},
		{[]string{"helmop/nginx", "bundle/b"}, []evaluate.Target{{Kind: evaluate.TargetHelmOp, Name: "nginx"}, {Kind: evaluate.TargetBundle, Name: "b"}}},
		{[]string{"guestbook"}, nil},
		{[]string{"gitrepo"}, nil},
		{[]string{"gitrepo/"}, nil},
		{[]string{"/guestbook"}, nil},
		{[]string{"gitrepo", ""}, nil},
		{[]string{"gitrepo", "bundle/b"}, nil},
		{[]string{"pod/a"}, nil},
		{[]string{"gitrepo/guestbook", "more"}, nil},
		{[]string{""}, nil},
	} {
		got, err := typed(t).Scope(tc.args)
		if (err == nil) != (tc.want != nil) || err != nil && exit.Status(err) != exit.Usage {
			t.Errorf("%q: error %v", tc.args, err)
			continue
		}
		if diff := cmp.Diff(tc.want, got.Targets); err == nil && diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.args, diff)
		}
	}
}

// TestScopeFlags holds which flags narrow the scope, and which are refused.
func TestScopeFlags(t *testing.T) {
	for _, tc := range []struct {
		args                []string
		namespace, selector string
		refused             bool
	}{
		{args: nil},
		{args: []string{"-A"}},
		{args: []string{"-n", "fleet-local"}, namespace: "fleet-local"},
		{args: []string{"-n", "fleet-local", "--all-namespaces=false"}, namespace: "fleet-local"},
		{args: []string{"-l", "a=b"}, selector: "a=b"},
		{args: []string{"-n", "fleet-local", "-A"}, refused: true},
		{args: []string{"-n", "Fleet"}, refused: true},
		{args: []string{"-n", "a,b"}, refused: true},
		{args: []string{"-n", "a/b"}, refused: true},
		{args: []string{"-l", "a in ("}, refused: true},
	} {
		got, err := typed(t, tc.args...).Scope(nil)
		if tc.refused != (exit.Status(err) == exit.Usage) || got.Namespace != tc.namespace {
			t.Errorf("%q: namespace %q, error %v", tc.args, got.Namespace, err)
		}
		if selector := got.Selector; (selector != nil) != (tc.selector != "") || selector != nil && selector.String() != tc.selector {
			t.Errorf("%q: selector %v, want %q", tc.args, selector, tc.selector)
		}
	}
}

// TestAgentScopeInCommands holds that what evaluates repeats --agent-scope, an empty one too, and what undoes does not.
func TestAgentScopeInCommands(t *testing.T) {
	f := New(Environment{Name: "kubectl fleetdoctor"})
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.AddFlags(fs)
	f.AddAgentScopeFlag(fs)
	if err := fs.Parse([]string{"--agent-scope="}); err != nil {
		t.Fatal(err)
	}
	if scope, err := f.AgentScope(); err != nil || scope == nil || *scope != "" {
		t.Errorf("scope %v, error %v", scope, err)
	}
	if got := f.Commands().Adopt; got != "kubectl fleetdoctor adopt --agent-scope=''" {
		t.Errorf("it suggests %q", got)
	}
	if got := f.Command("adopt"); got != "kubectl fleetdoctor adopt" {
		t.Errorf("it undoes with %q", got)
	}
}
