// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// TestReadFlags checks which verbs that only read have which of the shared flags, and that a flag has one usage.
//
// owner, targets, impact and why have no --selector: their arguments name the objects, and a part of the bundle
// deployments would not be an answer. compare has none: a report is of the scope with which it was made.
func TestReadFlags(t *testing.T) {
	const all = "all color namespace no-headers output quiet snapshot "
	read := map[string]string{
		"audit": all + "selector", "why": all, "owner": all, "agents": all + "selector",
		"targets": all, "impact": all, "preflight": all + "selector", "compare": all,
	}
	// The kinds that verbs select and the formats of a verb differ.
	differs := []string{"namespace", "output", "selector"}
	root := New("kubectl-fleetdoctor", cli.Environment{Streams: genericiooptions.NewTestIOStreamsDiscard()})
	usages := map[string]string{}
	for name, want := range read {
		c, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		for _, flag := range strings.Fields(all + "selector") {
			f := c.Flags().Lookup(flag)
			if has := f != nil; has != strings.Contains(" "+want+" ", " "+flag+" ") {
				t.Errorf("%s: --%s exists: %t", name, flag, has)
			}
			if f == nil || count(differs, flag) > 0 {
				continue
			}
			if usages[flag] == "" {
				usages[flag] = f.Usage
			}
			if f.Usage != usages[flag] {
				t.Errorf("%s: --%s has the usage %q, and elsewhere %q", name, flag, f.Usage, usages[flag])
			}
		}
		usage := c.Flags().Lookup("output").Usage
		if !strings.HasPrefix(usage, "Output format: one of table, wide, json") {
			t.Errorf("%s: --output has the usage %q", name, usage)
		}
	}
}

// TestSelectors checks that --selector narrows audit and agents, and that nothing selected is an error.
func TestSelectors(t *testing.T) {
	for args, want := range map[string]struct {
		status   int
		out, err string
	}{
		"audit -o tree -l fleet.cattle.io/repo-name=ingress": {1, "gitrepo fleet-local/ingress", ""},
		"audit -o tree -l fleet.cattle.io/repo-name=none":    {3, "", "no bundle deployment matches"},
		"audit -o tree -l !": {2, "", `parsing --selector "!"`},
		"agents -l management.cattle.io/cluster-name=none": {3, "", "no Cluster has the labels"},
		"agents -l a!=b": {3, "fleet-local/local", "imports an agent again (1 of 1)"},
		"agents -l !":    {2, "", `parsing --selector "!"`},
	} {
		got := run(t, append(strings.Fields(args), "--snapshot", sick)...)
		printed := strings.Contains(got.out, want.out) && strings.Contains(got.errOut, want.err)
		if got.status != want.status || !printed || strings.Contains(got.out, "fleet-local/guestbook") {
			t.Errorf("%s: status %d, want %d, %q and %q:\n%s\n%s", args, got.status, want.status, want.out, want.err,
				got.out, got.errOut)
		}
	}
}
