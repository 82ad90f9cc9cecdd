// SPDX-License-Identifier: Apache-2.0

package input

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

// scopeParsed returns the flags of a command line.
func scopeParsed(t *testing.T, args ...string) *ScopeFlags {
	t.Helper()
	in := New(cli.Environment{Name: "kubectl fleetdoctor"})
	f := NewScope(in, engine.DesiredRelease)
	c := &cobra.Command{}
	in.AddFlags(c.Flags(), "")
	f.AddFlags(c)
	f.AddDesiredFlag(c)
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTargets(t *testing.T) {
	repo := evaluate.Target{Kind: evaluate.TargetGitRepo, Name: "guestbook"}
	for _, tc := range []struct {
		args []string
		want []evaluate.Target // nil if it is refused
	}{
		{[]string{"gitrepo/guestbook"}, []evaluate.Target{repo}},
		{[]string{"gitrepos/guestbook"}, []evaluate.Target{repo}},
		{[]string{"GitRepo/guestbook"}, []evaluate.Target{repo}},
		{[]string{"gitrepos.fleet.cattle.io/guestbook"}, []evaluate.Target{repo}},
		{[]string{"gitrepo", "guestbook"}, []evaluate.Target{repo}},
		{[]string{"gitrepo/fleet-local/guestbook"}, []evaluate.Target{{Kind: evaluate.TargetGitRepo,
			Name: "fleet-local/guestbook"}}},
		{[]string{"gitrepo", "fleet-local/guestbook"},
			[]evaluate.Target{{Kind: evaluate.TargetGitRepo, Name: "fleet-local/guestbook"}}},
		{[]string{"bundle", "a", "b"}, []evaluate.Target{{Kind: evaluate.TargetBundle, Name: "a"},
			{Kind: evaluate.TargetBundle, Name: "b"}}},
		// a name, not a kind
		{[]string{"bundle", "a", "cluster"}, []evaluate.Target{{Kind: evaluate.TargetBundle, Name: "a"},
			{Kind: evaluate.TargetBundle, Name: "cluster"}}},
		{[]string{"gitrepo", "guestbook", "bd/a", "cluster", "b"}, []evaluate.Target{repo,
			{Kind: evaluate.TargetBundleDeployment, Name: "a"}, {Kind: evaluate.TargetCluster, Name: "b"}}},
		{[]string{"helmop/nginx", "bundle/b"}, []evaluate.Target{{Kind: evaluate.TargetHelmOp, Name: "nginx"},
			{Kind: evaluate.TargetBundle, Name: "b"}}},
		{[]string{"guestbook"}, nil},
		{[]string{"gitrepo"}, []evaluate.Target{{Kind: evaluate.TargetGitRepo}}},
		{[]string{"gitrepo/"}, nil},
		{[]string{"/guestbook"}, nil},
		{[]string{"gitrepo", ""}, nil},
		{[]string{"gitrepo", "bundle/b"}, []evaluate.Target{{Kind: evaluate.TargetGitRepo},
			{Kind: evaluate.TargetBundle, Name: "b"}}},
		{[]string{"pod/a"}, nil},
		{[]string{"gitrepo/guestbook", "more"}, nil},
		{[]string{""}, nil},
	} {
		got, err := scopeParsed(t).ToOptions(tc.args)
		if (err == nil) != (tc.want != nil) {
			t.Errorf("%q: error %v", tc.args, err)
			continue
		}
		if diff := cmp.Diff(tc.want, got.Scope.Targets); err == nil && diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.args, diff)
		}
	}
}

// TestScopeFlags checks which flags narrow the scope, and which are refused.
func TestScopeFlags(t *testing.T) {
	for _, tc := range []struct {
		args                []string
		namespace, selector string
		refused             bool
	}{
		{args: nil},
		{args: []string{"-n", "fleet-local"}, namespace: "fleet-local"},
		{args: []string{"-l", "a=b"}, selector: "a=b"},
		{args: []string{"-l", "a in ("}, refused: true},
	} {
		o, err := scopeParsed(t, tc.args...).ToOptions(nil)
		got := o.Scope
		if tc.refused != (err != nil) || err == nil && got.Namespace != tc.namespace {
			t.Errorf("%q: namespace %q, error %v", tc.args, got.Namespace, err)
		}
		if selector := got.Selector; err == nil && (selector != nil) != (tc.selector != "") || err == nil &&
			selector != nil && selector.String() != tc.selector {
			t.Errorf("%q: selector %v, want %q", tc.args, selector, tc.selector)
		}
	}
}

// TestCheckNamespace checks which values of --namespace are refused, alone and with --all-namespaces.
func TestCheckNamespace(t *testing.T) {
	for _, tc := range []struct {
		namespace string
		all       bool
		refused   bool
	}{
		{"", false, false},
		{"", true, false},
		{"fleet-local", false, false},
		{"fleet-local", true, true},
		{"Fleet", false, true},
		{"a,b", false, true},
		{"a/b", false, true},
	} {
		if err := CheckNamespace(tc.namespace, tc.all); tc.refused != (err != nil) {
			t.Errorf("%q, all namespaces %t: error %v", tc.namespace, tc.all, err)
		}
	}
}
