// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// TestAdoptUsage holds that what contradicts itself, or makes no sense, ends with 2, says what, and prints nothing.
func TestAdoptUsage(t *testing.T) {
	snapshot := []string{"--snapshot", sick}
	for name, tc := range map[string]struct {
		args []string
		says string
	}{
		"undoing nothing":                {[]string{"--undo=", "--yes"}, "--undo is empty"},
		"confirming nothing":             {[]string{"--confirm=", "--yes"}, "--confirm is empty"},
		"both ways to agree":             {[]string{"--yes", "--confirm=abc"}, "--yes and --confirm"},
		"writing to a snapshot":          {append([]string{"--yes"}, snapshot...), "a snapshot can be planned for, not written to"},
		"confirming for a snapshot":      {append([]string{"--confirm=abc"}, snapshot...), "a snapshot can be planned for"},
		"asking a snapshot's server":     {append([]string{"--dry-run=server"}, snapshot...), "a snapshot can be planned for"},
		"undoing and a bundle":           {[]string{"--undo=x", "bundle/a"}, `"bundle/a" is not wanted`},
		"undoing and a policy":           {[]string{"--undo=x", "--policy=unmarked"}, "--undo and --policy"},
		"undoing and a namespace":        {[]string{"--undo=x", "-n", "web"}, "--undo and --namespace"},
		"undoing and files":              {[]string{"--undo=x", "-f", "dir"}, "--undo and --filename"},
		"undoing and a receipt":          {[]string{"--undo=x", "--receipt=y"}, "--undo and --receipt"},
		"a policy that is none":          {[]string{"--policy=all"}, "if-unowned, unmarked"},
		"a dry run that is none":         {[]string{"--dry-run=yes"}, "none, client, server"},
		"files without a directory":      {append([]string{"--desired=files"}, snapshot...), "-f"},
		"a directory and the release":    {append([]string{"--desired=release", "-f", "dir"}, snapshot...), "-f and --desired=release"},
		"a repository without directory": {append([]string{"--gitrepo=apps"}, snapshot...), "--gitrepo"},
		"a name alone":                   {append([]string{"guestbook"}, snapshot...), `"guestbook"`},
		"an object of no namespace":      {append([]string{"service//edge"}, snapshot...), "service//edge"},
		"an object of no name":           {append([]string{"service/ingress/"}, snapshot...), "KIND/NAMESPACE/NAME"},
		"undoing and no object":          {[]string{"--undo=x", "a//b"}, "a//b"},
		"owner without an object":        {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"adopt"}, tc.args...)
			if tc.args == nil {
				args, tc.says = []string{"owner"}, "KIND/NAME"
			}
			got := run(t, args...)
			if got.status != 2 || got.out != "" || !strings.Contains(got.errOut, tc.says) || !strings.Contains(got.errOut, "--help") {
				t.Errorf("status %d, want 2 and %q: %s%s", got.status, tc.says, got.out, got.errOut)
			}
		})
	}
}

// TestAdoptPolicyHelp checks that the help of --policy names each value beside what it takes.
func TestAdoptPolicyHelp(t *testing.T) {
	help := strings.Join(strings.Fields(run(t, "adopt", "--help").out), " ")
	want := "those without another owner and those whose owner is gone (if-unowned), or only those without another owner (unmarked)"
	if !strings.Contains(help, want) {
		t.Errorf("no %q in:\n%s", want, help)
	}
}

// TestAdoptPlans holds what planning for a snapshot ends with: it never writes, so there is always something left to be done, or nothing.
func TestAdoptPlans(t *testing.T) {
	for _, tc := range []struct {
		args   []string
		status int
		out    string // a part of it
		errOut string
	}{
		{nil, 1, "3 objects to adopt.", ""},
		{[]string{"--policy=unmarked"}, 1, "2 objects to adopt, 1 refused.", ""},
		{[]string{"bundle/guestbook-guestbook"}, 1, "1 object to adopt.", ""},
		{[]string{"svc/edge"}, 1, "service ingress/edge", ""},
		{[]string{"service/ingress/edge", "clusterrole/edge-reader", "--policy=unmarked"}, 1, "1 object to adopt, 1 refused.", ""},
		{[]string{"clusterrole/edge-reader", "--policy=unmarked"}, 1, "Nothing to adopt, 1 refused.", ""},
		{[]string{"--dry-run=client"}, 0, "3 objects to adopt.", ""},
		{[]string{"--dry-run=client", "--policy=unmarked"}, 1, "1 refused", ""},
		{[]string{"deployment/frontend"}, 0, "It is its bundle's already.", ""},
		{[]string{"configmap/theme"}, 0, "It is not on the cluster: there is nothing to adopt.", ""},
		{[]string{"-o", "name"}, 1, "-n ingress service/edge\n", ""},
		{[]string{"pod/nobody"}, 3, "", "finding pod/nobody: no bundle in scope wants such an object"},
		{[]string{"bundle/nobody"}, 3, "", "finding bundle/nobody"},
		{[]string{"--dangerous-take-from=nobody"}, 1, "", "--dangerous-take-from=nobody names no owner of an object in scope"},
		{[]string{"--undo", "not-there.jsonl"}, 3, "", "not-there.jsonl"},
		{[]string{"-f", "../../test/testdata/sick"}, 3, "", "../../test/testdata/sick"},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			got := run(t, append([]string{"adopt", "--snapshot", sick}, tc.args...)...)
			if got.status != tc.status || !strings.Contains(got.out, tc.out) || !strings.Contains(got.errOut, tc.errOut) || (tc.out == "") != (got.out == "") {
				t.Errorf("status %d, want %d, %q and %q:\n%s%s", got.status, tc.status, tc.out, tc.errOut, got.out, got.errOut)
			}
		})
	}
	got := run(t, "adopt", "--snapshot", sick, "-o", "json")
	var plan report.Adoption
	if err := json.Unmarshal([]byte(got.out), &plan); err != nil || plan.Kind != report.KindAdoptionPlan || plan.Summary.Change != 3 || len(plan.Digest) != 64 {
		t.Errorf("%+v, error %v", plan, err)
	}
	if again := run(t, "adopt", "--snapshot", sick, "-o", "json"); again.out != got.out {
		t.Error("the same snapshot gives another plan")
	}
}

func TestOwner(t *testing.T) {
	for _, tc := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"deploy/frontend"}, 0, "Fleet counts it as an object of bundle deployment"},
		{[]string{"service", "edge", "-n", "ingress"}, 0, "no ownership labels or annotations"},
		{[]string{"service/ingress/edge", "-o", "yaml"}, 0, "kind: OwnerReport"},
		{[]string{"service/guestbook/edge"}, 3, "finding service/guestbook/edge: not found"},
		{[]string{"service//edge", "-n", "guestbook"}, 2, `"service//edge"`},
		{[]string{"a/b/c/d"}, 2, `"a/b/c/d"`},
		{[]string{"edge"}, 2, `"edge"`},
	} {
		got := run(t, append([]string{"owner", "--snapshot", sick}, tc.args...)...)
		if got.status != tc.status || !strings.Contains(got.out+got.errOut, tc.says) || (got.out == "") != (tc.status > 0) {
			t.Errorf("%q: status %d, want %d and %q:\n%s%s", tc.args, got.status, tc.status, tc.says, got.out, got.errOut)
		}
	}
}
