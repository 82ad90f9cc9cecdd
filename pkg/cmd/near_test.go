// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"
)

// TestNearMisses checks that an argument that is not known comes with a similar one that is: verbs, flags, values,
// kinds, and the names of objects.
func TestNearMisses(t *testing.T) {
	for _, tc := range []struct {
		args, want string // want is "" for no suggestion
		status     int
	}{
		{"audti", `"audit"`, 2},
		{"webhook instal", `"install"`, 2},
		{"audit --namspace x", `"--namespace"`, 2},
		{"webhook install --imgae x", `"--image"`, 2},
		{"audit --quite-something-else", "", 2},
		{"audit -Z", "", 2},
		{"audit --fail-on=warnings", `"--fail-on=warning"`, 2},
		{"adopt --dry-run=sever", `"--dry-run=server"`, 2},
		{"audit -o yml", `"-o yaml"`, 2},
		{"audit gitreop/guestbook", `"gitrepo/guestbook"`, 2},
		{"audit gitreop guestbook", `"gitrepo"`, 2},
		{"audit bundle/", "", 2},
		{"audit bundle/guestbok-guestbook", `"bundle/guestbook-guestbook"`, 3},
		{"audit bundle/guestbook", `"bundle/guestbook-guestbook"`, 3},
		{"audit bundle/quite-something-else", "", 3},
		{"audit bundledeployment/guestbok-guestbook", `"bundledeployment/guestbook-guestbook"`, 3},
		{"why cluster/fleet-local/locl", `"cluster/fleet-local/local"`, 3},
		{"targets bundle/guestbok-guestbook", `"bundle/guestbook-guestbook"`, 3},
		{"impact gitrepo/guestbok", `"gitrepo/guestbook"`, 3},
		{"impact gitreop/guestbook", `"gitrepo/guestbook"`, 2},
		{"targets bundel/guestbook", `"bundle/guestbook"`, 2},
		{"preflight bundle/guestbok-guestbook", `"bundle/guestbook-guestbook"`, 3},
		{"adopt bundle/guestbok-guestbook", `"bundle/guestbook-guestbook"`, 3},
		{"adopt bundel/guestbook-guestbook", `"bundle/guestbook-guestbook"`, 2},
		{"adopt service/fronted", `"service/frontend"`, 3},
		{"adopt service/guestbook/fronted", `"service/guestbook/frontend"`, 3},
		{"adopt servce/frontend", `"service/frontend"`, 3},
		{"agents lcal", `"cluster/local"`, 3},
		{"agents local -n guestbook", `"cluster/fleet-local/local"`, 3},
		{"owner service/fronted", `"service/frontend"`, 3},
		{"owner servce/frontend", `"service/frontend"`, 3},
		{"owner deploy/frontend -n nosuch", `"deploy/guestbook/frontend"`, 3},
		{"owner deploy/nosuch/frontend", `"deploy/guestbook/frontend"`, 3},
		{"adopt service/frontend -n fleet-local", `"service/guestbook/frontend"`, 3},
		{"why bundle/guestbook-guestbook -n nosuch", `"bundle/fleet-local/guestbook-guestbook"`, 3},
		{"impact bundle/guestbook-guestbook -n nosuch", `"bundle/fleet-local/guestbook-guestbook"`, 3},
		{"owner service/quite-something-else", "", 3},
		{"explain FD1011", `"FD101"`, 2},
	} {
		args := strings.Fields(tc.args)
		if verb := args[0]; verb != "audti" && verb != "webhook" && verb != "explain" {
			args = append(args, "--snapshot", sick)
		}
		got := run(t, args...)
		_, suggested, found := strings.Cut(got.errOut, "Did you mean ")
		if got.status != tc.status || got.out != "" || found != (tc.want != "") ||
			!strings.Contains(suggested, tc.want) {
			t.Errorf("%s: status %d, want %d and %s: %s", tc.args, got.status, tc.status, tc.want, got.errOut)
		}
	}
}

// TestRemoved checks that a command, a flag or a format of the previous version comes with its replacement, and with
// nothing else.
func TestRemoved(t *testing.T) {
	for args, want := range map[string]string{
		"audit --from-metrics=http://x": "--from-metrics was removed: the dashboards of the auditor show this",
		"audit --from-metrics-match=x -o json": "--from-metrics-match was removed: the dashboards of the " +
			"auditor show this",
		"why bundle/x --no-pager": "--no-pager was removed: the output never goes through a pager",
		"completion --install":    "--install was removed: docs/install.md shows how to complete kubectl fleetdoctor",
		"audit --as-version=0.13": "--as-version was removed: use compare --as-version",
		"audit --baseline b.json": "--baseline was removed: compare shows what changed since a report, and " +
			"the ignore file leaves known findings out",
		"tree --compact":      "tree was removed: use audit -o tree",
		"audit -o prometheus": "-o prometheus was removed: the auditor exports metrics",
		"audit -o=github": "-o github was removed: use -o markdown for the summary of a job, or -o sarif for " +
			"code scanning",
		"auditor install --adopt=unmarked": "--adopt was removed: use the admission webhook, or the verb adopt",
		"webhook test deploy/a -n x":       "test was removed: use webhook status, which sends the same requests",
		"webhook enable":                   "enable was removed: use webhook install",
		"webhook disable --dry-run=server": "disable was removed: delete the webhook configurations " +
			"(docs/webhook.md), or use webhook uninstall",
	} {
		got := run(t, strings.Fields(args)...)
		if lines := "error: " + want + "\nSee 'kubectl-fleetdoctor "; got.status != 2 || got.out != "" ||
			!strings.HasPrefix(got.errOut, lines) || strings.Count(got.errOut, "\n") != 2 {
			t.Errorf("%s: status %d: %s%s", args, got.status, got.out, got.errOut)
		}
	}
}

// TestFlagsOfOtherCommands checks that an unknown flag that other commands have comes with the names of these commands.
func TestFlagsOfOtherCommands(t *testing.T) {
	for args, want := range map[string]string{
		"why bundle/x -w":         "-w is a flag of audit.",
		"adopt bundle/x --all":    "--all is a flag of agents, audit, compare and other commands.",
		"webhook --image=x":       "--image is a flag of auditor install and webhook install.",
		"explain --snapshot=x":    " other commands.",
		"why --quite-unknown":     "",
		"audit -Z":                "",
		"version --policy if-any": "--policy is a flag of adopt and repair.",
	} {
		got := run(t, strings.Fields(args)...)
		if got.status != 2 || !strings.Contains(got.errOut, want) ||
			strings.Contains(got.errOut, "is a flag of") != (want != "") {
			t.Errorf("%s: status %d: %s, want %q", args, got.status, got.errOut, want)
		}
	}
}
