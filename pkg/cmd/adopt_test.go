// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// TestAdoptUsage checks that mutually exclusive flags and arguments are wrong usage, that the error names them, and
// that nothing is printed.
func TestAdoptUsage(t *testing.T) {
	snapshot := []string{"--snapshot", sick}
	for name, tc := range map[string]struct {
		args    []string
		message string
	}{
		"an empty --undo":                {[]string{"--undo=", "--yes"}, "--undo is empty"},
		"an empty --confirm":             {[]string{"--confirm=", "--yes"}, "--confirm is empty"},
		"two confirmations":              {[]string{"--yes", "--confirm=abc"}, "--yes and --confirm"},
		"writing to a snapshot":          {append([]string{"--yes"}, snapshot...), "--snapshot"},
		"confirming for a snapshot":      {append([]string{"--confirm=abc"}, snapshot...), "--snapshot"},
		"a server dry run of a snapshot": {append([]string{"--dry-run=server"}, snapshot...), "--snapshot"},
		"undoing and a bundle":           {[]string{"--undo=x", "bundle/a"}, "--undo"},
		"undoing and a policy":           {[]string{"--undo=x", "--policy=unmarked"}, "--undo and --policy"},
		"undoing and a namespace":        {[]string{"--undo=x", "-n", "web"}, "--undo and --namespace"},
		"undoing and files":              {[]string{"--undo=x", "-f", "dir"}, "--undo and --filename"},
		"undoing and a receipt":          {[]string{"--undo=x", "--receipt=y"}, "--undo and --receipt"},
		"an unknown policy":              {[]string{"--policy=all"}, "if-unowned, unmarked"},
		"an unknown dry run":             {[]string{"--dry-run=yes"}, "none, client, server"},
		"files without a directory":      {append([]string{"--desired=files"}, snapshot...), "-f"},
		"a directory and the release": {append([]string{"--desired=release", "-f", "dir"}, snapshot...),
			"-f and --desired=release"},
		"a repository without directory":    {append([]string{"--gitrepo=apps"}, snapshot...), "--gitrepo"},
		"a name without a kind":             {append([]string{"guestbook"}, snapshot...), `"guestbook"`},
		"an object with an empty namespace": {append([]string{"service//edge"}, snapshot...), "service//edge"},
		"an object with an empty name":      {append([]string{"service/ingress/"}, snapshot...), "KIND/NAMESPACE/NAME"},
		"undoing and a malformed object":    {[]string{"--undo=x", "a//b"}, "a//b"},
		"owner without an object":           {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"adopt"}, tc.args...)
			if tc.args == nil {
				args, tc.message = []string{"owner"}, "KIND/NAME"
			}
			got := run(t, args...)
			if got.status != 2 || got.out != "" || !strings.Contains(got.errOut, tc.message) ||
				!strings.Contains(got.errOut, "--help") {
				t.Errorf("status %d, want 2 and %q: %s%s", got.status, tc.message, got.out, got.errOut)
			}
		})
	}
}

// TestAdoptPolicyHelp checks that the help of --policy describes each value.
func TestAdoptPolicyHelp(t *testing.T) {
	help := strings.Join(strings.Fields(run(t, "adopt", "--help").out), " ")
	want := "objects without another owner (unmarked); also objects of an owner that is gone (if-unowned); the " +
		"objects of if-unowned, but only if all of their fields have the values of the bundle (if-no-diff)"
	if !strings.Contains(help, want) {
		t.Errorf("no %q in:\n%s", want, help)
	}
}

// TestAdoptPlans checks the plans for a snapshot and their exit status: nothing is written, so the objects to adopt
// remain.
func TestAdoptPlans(t *testing.T) {
	for _, tc := range []struct {
		args                       []string
		status                     int
		change, refused, unchanged int
	}{
		{nil, 1, 3, 0, 0},
		{[]string{"--policy=unmarked"}, 1, 2, 1, 0},
		{[]string{"bundle/guestbook-guestbook"}, 1, 1, 0, 0},
		{[]string{"svc/edge"}, 1, 1, 0, 0},
		{[]string{"service/ingress/edge", "clusterrole/edge-reader", "--policy=unmarked"}, 1, 1, 1, 0},
		{[]string{"clusterrole/edge-reader", "--policy=unmarked"}, 1, 0, 1, 0},
		{[]string{"--dry-run=client"}, 0, 3, 0, 0},
		{[]string{"--dry-run=client", "--policy=unmarked"}, 1, 2, 1, 0},
		{[]string{"deployment/frontend"}, 0, 0, 0, 1},
		{[]string{"configmap/theme"}, 0, 0, 0, 1},
		// the namespace of the object, not a workspace
		{[]string{"service/frontend", "-n", "guestbook"}, 1, 1, 0, 0},
		{[]string{"clusterrole/edge-reader", "-n", "guestbook"}, 1, 1, 0, 0}, // it has no namespace
		{[]string{"bundle/ingress-ingress", "clusterrole/edge-reader", "-n", "fleet-local"}, 1, 1, 0, 0},
		{[]string{"deployment/frontend", "deploy/guestbook/frontend"}, 0, 0, 0, 1}, // the same object
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			got := run(t, append([]string{"adopt", "--snapshot", sick, "-o", "json"}, tc.args...)...)
			var plan report.Repair
			if err := json.Unmarshal([]byte(got.out), &plan); err != nil || plan.Kind != report.KindAdoptionPlan ||
				len(plan.Digest) != 64 {
				t.Fatalf("%+v, error %v", plan, err)
			}
			want := report.RepairSummary{Objects: tc.change + tc.refused + tc.unchanged, Change: tc.change,
				Refused: tc.refused, Unchanged: tc.unchanged}
			if got.status != tc.status || plan.Summary != want {
				t.Errorf("status %d, want %d; %+v, want %+v", got.status, tc.status, plan.Summary, want)
			}
			for _, o := range plan.Objects {
				if o.Action == report.ActionNone && o.Message == "" {
					t.Errorf("%s needs no adoption, and the reason is missing", o.Key())
				}
			}
		})
	}
	first, again := run(t, "adopt", "--snapshot", sick, "-o", "json"), run(t, "adopt", "--snapshot", sick, "-o", "json")
	if first != again {
		t.Error("two plans for the same snapshot differ")
	}
	if got := run(t, "adopt", "--snapshot", sick, "-o", "name", "svc/edge"); got.status != 1 ||
		got.out != "-n ingress service/edge\n" {
		t.Errorf("status %d: %q", got.status, got.out)
	}
}

// TestAdoptFails checks that an error names the argument, and that nothing is printed.
func TestAdoptFails(t *testing.T) {
	for _, tc := range []struct {
		args   []string
		status int
		names  string
	}{
		{[]string{"pod/unknown"}, 3, "pod/unknown"},
		{[]string{"bundle/unknown"}, 3, "bundle/unknown"},
		{[]string{"--dangerous-take-from=unknown"}, 1, "--dangerous-take-from=unknown"},
		{[]string{"--undo", "not-there.jsonl"}, 3, "not-there.jsonl"},
		// no fleet.yaml names the bundle
		{[]string{"-f", "../../test/testdata/preflights"}, 2, "../../test/testdata/preflights"},
		{[]string{"-f", "../../test/testdata/sick"}, 3, "it has no file to deploy"},
	} {
		if got := run(t, append([]string{"adopt", "--snapshot", sick}, tc.args...)...); got.status != tc.status ||
			got.out != "" || !strings.Contains(got.errOut, tc.names) {
			t.Errorf("%q: status %d, want %d: %s%s", tc.args, got.status, tc.status, got.out, got.errOut)
		}
	}
}

func TestOwner(t *testing.T) {
	for _, tc := range []struct {
		args    []string
		status  int
		message string
	}{
		{[]string{"deploy/frontend", "-o", "jsonpath={.objects[0].holder.gitRepo}"}, 0, "fleet-local/guestbook"},
		{[]string{"service", "edge", "-n", "ingress", "-o", "jsonpath={.objects[*].desiredBy[0].reason}"}, 0,
			"Unmarked"},
		{[]string{"service/ingress/edge", "-o", "yaml"}, 0, "kind: OwnerReport"},
		{[]string{"service/guestbook/edge"}, 3, "service/guestbook/edge not found"},
		{[]string{"service//edge", "-n", "guestbook"}, 2, `"service//edge"`},
		{[]string{"a/b/c/d"}, 2, `"a/b/c/d"`},
		{[]string{"edge"}, 2, `"edge"`},
	} {
		got := run(t, append([]string{"owner", "--snapshot", sick}, tc.args...)...)
		if got.status != tc.status || !strings.Contains(got.out+got.errOut, tc.message) ||
			(got.out == "") != (tc.status > 0) {
			t.Errorf("%q: status %d, want %d and %q:\n%s%s", tc.args, got.status, tc.status, tc.message, got.out,
				got.errOut)
		}
	}
}
