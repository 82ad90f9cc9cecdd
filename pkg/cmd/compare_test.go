// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestCompare checks the exit status for snapshots and reports, from files and from a pipe.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	reports := map[string]string{}
	for name, args := range map[string][]string{"clean.json": {clean, "-o", "json"}, "sick.yaml": {sick, "-o", "yaml"},
		"scoped.json": {sick, "-o", "json", "bundle/guestbook-guestbook"}} {
		reports[name] = run(t, append([]string{"audit", "--snapshot"}, args...)...).out
		put(t, filepath.Join(dir, name), reports[name])
	}
	cleanReport, sickReport, scoped := filepath.Join(dir, "clean.json"), filepath.Join(dir, "sick.yaml"),
		filepath.Join(dir, "scoped.json")
	put(t, filepath.Join(dir, "why.json"), run(t, "why", "cluster/local", "--snapshot", sick, "-o", "json").out)
	put(t, filepath.Join(dir, "cut.json"), reports["clean.json"][:2000])
	noObject, noFleet := filepath.Join(dir, "text.yaml"), filepath.Join(dir, "secrets.json")
	put(t, noObject, "hello: world\n")
	put(t, noFleet, `{"apiVersion":"v1","kind":"SecretList","items":[]}`)
	for _, tc := range []struct {
		args   string
		stdin  string
		status int
		text   string // in the output or the error
	}{
		{args: clean + " " + sick, status: 1, text: "WORSE"},
		{args: sick + " " + clean, status: 0, text: "BETTER"},
		{args: sick + " " + sick, status: 0, text: "No change."},
		{args: sick + " --snapshot " + sick, status: 0, text: "No change."},
		{args: sickReport + " " + sick, status: 0, text: "No change."},
		{args: cleanReport + " " + sickReport, status: 1, text: "FD101"},
		{args: "- " + sick, stdin: reports["clean.json"], status: 1, text: "WORSE"},
		{args: sick + " -", stdin: reports["sick.yaml"], status: 0, text: "No change."},
		{args: "--as-version=0.11 " + sick, status: 1, text: "FD501"},
		{args: "--as-version=0.13.2 " + sick, status: 0, text: "No change."},

		{args: "", status: 2},
		{args: "a b c", status: 2},
		{args: "- -", status: 2, text: "standard input"},
		{args: sick + " " + sick + " --snapshot " + sick, status: 2, text: "--snapshot"},
		{args: sick + " " + sick + " --as-version=0.13", status: 2, text: "--as-version"},
		{args: sickReport + " --as-version=0.13", status: 2, text: sickReport},
		{args: sick + " --as-version=latest", status: 2, text: "0.13"},
		{args: "no-such-file " + sick, status: 3, text: "no-such-file"},
		{args: scoped + " " + sick, status: 3, text: "bundle/guestbook-guestbook"},
		{args: filepath.Join(dir, "why.json") + " " + sick, status: 3, text: "WhyReport"},
		{args: noObject + " " + sick, status: 3, text: "Name a snapshot, or a report of audit -o json."},
		{args: sick + " " + noObject, status: 3, text: "Name a snapshot, or a report of audit -o json."},
		{args: noFleet + " " + sick, status: 3, text: "Name a snapshot of a cluster that Fleet deploys to"},
		{args: noFleet + " --as-version=0.13", status: 3, text: "Name a snapshot of a cluster that Fleet deploys to"},
		{args: filepath.Join(dir, "cut.json") + " " + sick, status: 3, text: "cut.json"},
	} {
		got := called(t, tc.stdin, append([]string{"kubectl-fleetdoctor", "compare"}, strings.Fields(tc.args)...)...)
		if got.status != tc.status || !strings.Contains(got.out+got.errOut, tc.text) {
			t.Errorf("%s: status %d, want %d and %q:\n%s%s", tc.args, got.status, tc.status, tc.text, got.out,
				got.errOut)
		}
		if strings.Contains(got.errOut, "current-context") {
			t.Errorf("%s: the hint is about a live cluster: %s", tc.args, got.errOut)
		}
	}
}

// edge1 and edge2 are captures of downstream clusters with the same bundle.
const (
	edge1 = "../../test/testdata/impact/edge-1.yaml"
	edge2 = "../../test/testdata/impact/edge-2.yaml"
)

// TestCompareOtherCluster checks that captures of two clusters are not compared.
func TestCompareOtherCluster(t *testing.T) {
	namespace := func(uid string) string {
		file := filepath.Join(t.TempDir(), "capture.json")
		put(t, file, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system","uid":"`+uid+`"}}
{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"BundleDeployment","metadata":{"name":"web","namespace":"one"},`+
			`"status":{"display":{"state":"Ready"}}}`)
		return file
	}
	if got := run(t, "compare", namespace("u1"), namespace("u1")); got.status != 0 {
		t.Errorf("one cluster: status %d: %s", got.status, got.errOut)
	}
	reportOf := func(capture string) string {
		file := filepath.Join(t.TempDir(), "report.json")
		put(t, file, run(t, "audit", "--snapshot", capture, "-o", "json").out)
		return file
	}
	if got := run(t, "compare", reportOf(namespace("u1")), namespace("u2")); got.status != 3 ||
		!strings.Contains(got.errOut, "kube-system") {
		t.Errorf("a report of another cluster: status %d: %s%s", got.status, got.out, got.errOut)
	}
	if got := run(t, "compare", edge1, edge2); got.status != 0 ||
		!strings.Contains(got.out, "not known whether both audits are of the same cluster") {
		t.Errorf("two downstream clusters: status %d: %s%s", got.status, got.out, got.errOut)
	}
	if got := run(t, "compare", namespace("u1"), namespace("u2")); got.status != 3 ||
		!strings.Contains(got.errOut, "kube-system") || got.out != "" {
		t.Errorf("two clusters: status %d: %s%s", got.status, got.out, got.errOut)
	}
}
