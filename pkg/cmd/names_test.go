// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// TestNames checks what arguments that are not KIND/NAME of an object of Fleet stand for.
func TestNames(t *testing.T) {
	const data = "../../test/testdata/impact/"
	for _, tc := range []struct {
		args     string
		status   int
		out, err string // parts of the output
	}{
		// one match
		{"audit theme", 1, "Bundle fleet-local/guestbook-guestbook desires configmap guestbook/theme.", ""},
		{"audit theme -n guestbook", 1, "desires configmap guestbook/theme.", ""},
		{"audit guestbook-guestbook", 1, `The name "guestbook-guestbook" is that of bundle/fleet-local/guestbook-`, ""},
		{"audit guestbook -n fleet-local", 1, "1 of 5 objects ready", ""},
		{"audit guestbook", 1, `The name "guestbook" is that of gitrepo/fleet-local/guestbook, and also that of
  serviceaccount/guestbook/guestbook.`, ""},
		{"audit guestbook -n guestbook", 1, "desires serviceaccount guestbook/guestbook.", ""},
		{"audit local", 1, `The name "local" is that of cluster/fleet-local/local.`, ""},
		{"audit deploy/frontend", 1, "1 of 5 objects ready", ""},
		{"audit deployment frontend", 1, "1 of 5 objects ready", ""},
		{"audit bundle/ingress-ingress configmap/theme", 1, "2 of 8 objects ready", ""},
		{"audit service/operator --snapshot " + data + "management.yaml --cluster-snapshot edge-1=" + data +
			"edge-1.yaml",
			1, "0 of 3 bundle deployments on 3 clusters are not ready, as Fleet reports. 1 cluster was read", ""},
		{"audit databases --snapshot " + data + "edge-1.yaml", 1, "is that of bundledeployment/databases", ""},
		// several
		{"audit frontend", 2, "", "objects: deployment.apps/guestbook/frontend, service/guestbook/frontend\n"},
		{"why frontend", 2, "", "Name one of them, such as deployment.apps/guestbook/frontend."},
		// none
		{"audit guestbok", 3, "", `Did you mean "guestbook"?`},
		{"audit gitreop", 3, "", `Did you mean "gitrepo"?`},
		{"audit theme -n nosuch", 3, "", "no bundle has or desires nosuch/theme"},
		{"audit deploy/fronted", 3, "", `Did you mean "deploy/frontend"?`},
		{"audit quite-something-else", 3, "", "no bundle has or desires quite-something-else"},
		{"why deployment/operator --snapshot " + data + "management.yaml", 3, "",
			"it is not known whether a bundle desires deployment/operator"},
		{"audit theme frontend", 3, "",
			`"theme" is not a kind here: write KIND/NAME for each object, or only one NAME`},
		{"audit gitrepo guestbook deployment/frontend -n fleet-local", 2, "", "write gitrepo/NAME before it."},
		// a kind alone
		{"audit deployment", 2, "", "deployment is a kind: add a name: deployment/NAME"},
		{"audit clustergroup", 2, "", "clustergroup is a kind: add a name: clustergroup/NAME"},
		{"audit gitrepo", 1, "2 of 8 objects ready", ""},
		{"audit bundle", 1, "2 of 8 objects ready", ""},
		{"audit bundle -o tree", 1, "bundle fleet-local/ingress-ingress", ""},
		{"audit helmop", 3, "", "helmop not found"},
		{"why bundle", 2, "", "a name is required: bundle/NAME"},
		{"adopt bundle", 2, "", "a name is required: bundle/NAME"},
		{"adopt frontend", 2, "", "it must be KIND/NAME"},
		{"adopt --dry-run server", 2, "", "for a dry run, state --dry-run=server"},
		// with other flags
		{"audit theme --status-only", 2, "", "--status-only and objects are mutually exclusive"},
		{"audit theme -f ../../test", 2, "", "-f and objects are mutually exclusive"},
		// why
		{"why configmap/theme", 1, "theme is not ready. The cause is guestbook-guestbook on fleet-local/local: " +
			"configmap " +
			"guestbook/theme\nis not on the cluster", ""},
		{"why deployment/guestbook/frontend", 1, "deployment guestbook/frontend differs in .spec.replicas\n     last " +
			"written by kubectl", ""},
		{"why serviceaccount/guestbook", 0, "guestbook is ready\n", ""},
		{"why serviceaccount/guestbook", 0, "is\nnot ready for another reason", ""},
		{"why guestbook-guestbook", 1, "guestbook-guestbook is not ready", ""},
		{"why statefulset/operator --snapshot " + data + "management.yaml --cluster-snapshot edge-1=" + data +
			"edge-1.yaml", 1, "1 of 3 bundle deployments is not ready", ""},
	} {
		args := strings.Fields(tc.args)
		if !strings.Contains(tc.args, "--snapshot") {
			args = append(args, "--snapshot", sick)
		}
		got := run(t, args...)
		if got.status != tc.status || !strings.Contains(got.out, tc.out) || !strings.Contains(got.errOut, tc.err) {
			t.Errorf("%s: status %d, want %d, %q and %q:\n%.1500s\n%s", tc.args, got.status, tc.status, tc.out, tc.err,
				got.out, got.errOut)
		}
	}
}

// TestWhyUnread checks that an object on clusters that were not read is one cause for each state that Fleet reports.
func TestWhyUnread(t *testing.T) {
	const data = "../../test/testdata/impact/"
	content, err := os.ReadFile(data + "management.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const ready = "display: {state: Ready}"
	text, last := string(content), bytes.LastIndex(content, []byte(ready))
	management := filepath.Join(t.TempDir(), "management.yaml")
	text = text[:last] + "display: {state: Modified}" + text[last+len(ready):]
	if err := os.WriteFile(management, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := run(t, "why", "service/operator", "--snapshot", management, "--cluster-snapshot",
		"edge-1="+data+"edge-1.yaml",
		"-o", "json")
	var w report.Why
	if err := json.Unmarshal([]byte(got.out), &w); err != nil {
		t.Fatalf("%v: %s", err, got.errOut)
	}
	var unread []string
	for _, c := range w.Objects[0].Causes[1:] {
		_, state, _ := strings.Cut(c.Steps[0].Message, "; ")
		unread = append(unread, c.Deployments[0].Cluster+": "+state+": "+c.Remedies[0].Text)
	}
	const next = ": --cluster-snapshot NAME=PATH also reads its cluster"
	want := []string{"fleet-default/edge-2: Fleet reports it as Ready" + next,
		"fleet-default/edge-3: Fleet reports it as Modified" + next}
	if !slices.Equal(unread, want) {
		t.Errorf("%q, want %q", unread, want)
	}
}
