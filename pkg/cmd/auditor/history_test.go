// SPDX-License-Identifier: Apache-2.0

package auditor_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/auditor"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// journals is a snapshot with a journal.
func journals(t *testing.T) string {
	t.Helper()
	at := func(minute, second int) time.Time { return time.Date(2026, 1, 2, 7, minute, second, 0, time.UTC) }
	ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "a\x1b[31m"}
	var lines string
	for _, e := range []journal.Entry{
		{Event: journal.Deleted, From: at(12, 3), To: at(12, 5), Cluster: "fleet-default/edge",
			BundleDeployment: "cluster-edge/web", Bundle: "fleet-default/web", Release: "shop/web", Revision: 3,
			Objects: []journal.Object{{Ref: ref, LastWriter: "kubectl"}}, Total: 4},
		{Event: journal.Uninstalled, From: at(30, 0), To: at(30, 2), BundleDeployment: "api", Release: "shop/api",
			Revision: 1, By: "the agent in cattle-fleet-system: the BundleDeployment of the release was deleted\nFAKE"},
		{Event: journal.Uninstalled, From: at(20, 0), To: at(20, 0), BundleDeployment: "kept", Release: "shop/kept",
			Revision: 1, KeepResources: true},
	} {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		lines += string(line) + "\n"
	}
	raw, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"namespace": "auditor", "name": "journal", "labels": map[string]any{journal.Label: "true"}},
		"data": map[string]any{journal.Key: lines}})
	if err != nil {
		t.Fatal(err)
	}
	const binding = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":` +
		`"fleetdoctor-auditor"},"subjects":[{"kind":"ServiceAccount","name":"a","namespace":"auditor"}]}`
	const forged = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"tenant","name":"journal",` +
		`"labels":{"fleetdoctor.io/journal":"true"}},"data":{"entries":"junk\n{\"event\":\"Deleted\",` +
		`\"to\":\"2026-01-02T07:50:00Z\"}"}}`
	return strings.Join([]string{string(raw), forged, binding,
		`{"apiVersion":"v1","kind":"ConfigMapList","metadata":{},"items":[]}`}, "\n")
}

func history(t *testing.T, in, args string) (status int, out string) {
	t.Helper()
	streams, stdin, stdout, _ := genericiooptions.NewTestIOStreams()
	stdin.WriteString(in)
	c := auditor.NewCommand(cli.Environment{Streams: streams, Name: "kubectl fleetdoctor",
		Now: func() time.Time { return time.Date(2026, 1, 2, 8, 0, 0, 0, time.UTC) }})
	c.SetArgs(append([]string{"history", "--snapshot", "-"}, strings.Fields(args)...))
	c.SilenceErrors, c.SilenceUsage = true, true
	return cli.ExitStatus(c.ExecuteContext(t.Context())), stdout.String()
}

func TestHistory(t *testing.T) {
	const deleted = `2026-01-02 07:12:03 to 07:12:05 UTC  Deleted  cluster-edge/web, release shop/web:3, cluster ` +
		`fleet-default/edge
  by: not known
  configmap shop/a�[31m  (a field was last written by kubectl)
  3 more
`
	const gone = `2026-01-02 07:30:00 to 07:30:02 UTC  Uninstalled  api, release shop/api:1
  by: the agent in cattle-fleet-system: the BundleDeployment of the release was deleted�FAKE
  its objects are not known
`
	const kept = `2026-01-02 07:20:00 UTC  Uninstalled  kept, release shop/kept:1
  by: not known
  its objects stay if its agent uninstalled the release (keepResources)
`
	for args, want := range map[string]string{
		"":                  gone + kept + deleted,
		"bundle/web":        deleted,
		"fleet-default/web": deleted,
		"api":               gone,
		"--since 35m":       gone,
		"--since 2026-01-02T07:40:00Z": "The auditor in namespace auditor wrote down nothing that vanished since " +
			"2026-01-02T07:40:00Z.\n",
		"bundle/eb": "The auditor in namespace auditor wrote down nothing that vanished since " +
			"2025-12-03T08:00:00Z.\n",
		"-n auditor bundle/api -o name": "",
	} {
		status, got := history(t, journals(t), args)
		if diff := cmp.Diff(want, got); diff != "" || status != cli.ExitOK {
			t.Errorf("%s: status %d (-want +got):\n%s", args, status, diff)
		}
	}
	for args, want := range map[string]int{"bundle/": cli.ExitUsage} {
		if status, _ := history(t, journals(t), args); status != want {
			t.Errorf("%s: status %d, want %d", args, status, want)
		}
	}
}

// TestUnread checks that a journal that was not captured is no empty one.
func TestUnread(t *testing.T) {
	status, got := history(t, `{"apiVersion":"v1","kind":"SecretList","items":[]}`, "-o json")
	var h journal.History
	if err := json.Unmarshal([]byte(got), &h); err != nil {
		t.Fatalf("%v in %q", err, got)
	}
	if status != cli.ExitFailed || len(h.Gaps) == 0 || h.Kind != journal.KindHistory || h.APIVersion == "" {
		t.Errorf("status %d: %+v", status, h)
	}
}

// TestNoAuditor checks that an answer that nobody recorded is no empty answer.
func TestNoAuditor(t *testing.T) {
	const empty = `{"apiVersion":"v1","kind":"ConfigMapList","metadata":{},"items":[]}`
	if status, out := history(t, empty, ""); status != cli.ExitFailed || out != "" {
		t.Errorf("status %d, output %q", status, out)
	}
}
