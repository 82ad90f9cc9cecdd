// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// TestWebhookSeen checks that an audit says who deleted an object and who took one from its bundle, that Fleet's own
// requests are not written down, and that nobody else can write what counts.
func TestWebhookSeen(t *testing.T) {
	f := newFleet(t, shared)
	_, objs := f.deployEleven()
	other := f.deploy("other", theme)
	f.namespace("fleetdoctor-system")
	f.bindAccount("fleetdoctor-webhook", "fleetdoctor-system")
	written := func(namespace, text string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: journal.SeenName},
			Data: map[string]string{journal.SeenKey: text}}
	}
	forged := `{"time":"2099-01-02T03:04:05Z","verb":"delete","user":"mallory","apiVersion":"v1","kind":"ConfigMap",` +
		`"namespace":"guarded","name":"` + objs[0].GetName() + `"}` + "\n"
	for _, m := range []*corev1.ConfigMap{written("fleetdoctor-system", ""), written("guarded", forged)} {
		if err := f.Client().Create(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	f.serveWebhook("default")
	alice, agent := f.clientAs("alice"), f.clientAs(account(agentNamespace, "fleet-agent"))
	agent.must("deleting as the agent", agent.Delete(t.Context(), objs[2].DeepCopy()))
	alice.must("a dry run", alice.Delete(t.Context(), objs[3].DeepCopy(), client.DryRunAll))
	alice.must("deleting", alice.Delete(t.Context(), objs[0].DeepCopy()))
	alice.must("taking", alice.patchOwnership(objs[1], anyValues(other.ownership()),
		client.FieldOwner("kubectl-annotate")))
	poll.Until(t, func() error {
		var m corev1.ConfigMap
		key := client.ObjectKey{Namespace: "fleetdoctor-system", Name: journal.SeenName}
		if err := f.Client().Get(t.Context(), key, &m); err != nil {
			return err
		}
		seen := journal.DecodeSeen(m.Data[journal.SeenKey])
		if len(seen) != 2 {
			return errors.New("written down: " + m.Data[journal.SeenKey])
		}
		return nil
	})
	evidence := map[string]string{}
	r := audit(t, f.kubeconfig)
	checkSeenInSnapshot(t, f.kubeconfig, r.report)
	for _, finding := range r.report.Findings {
		evidence[finding.Code+" "+finding.Object.Name] += strings.Join(finding.Evidence, "\n")
	}
	expectContains(t, "the deleted object", evidence[codes.Missing+" "+objs[0].GetName()], "alice deleted it at ",
		"(seen by the webhook)")
	expectContains(t, "the object that was taken", evidence[codes.Unowned+" "+objs[1].GetName()],
		"alice removed or changed its label "+fleet.HashLabel, "with kubectl-annotate at ")
	for i := range r.report.Findings {
		finding := &r.report.Findings[i]
		takes := strings.Contains(finding.Remediation, "--dangerous-take-from=")
		if takes != (finding.Code == codes.Unowned) {
			t.Errorf("%s %s: remedy %q", finding.Code, finding.Object.Name, finding.Remediation)
		}
	}
	who := "alice removed or changed its label " + fleet.HashLabel
	for _, args := range [][]string{{"audit", "bundle/eleven", "-n", workspace},
		{"why", objs[1].GetKind() + "/" + objs[1].GetName(), "-n", objs[1].GetNamespace()}} {
		shown := run(t.Context(), t, append(args, "--kubeconfig", f.kubeconfig)...)
		expectContains(t, args[0], strings.Join(strings.Fields(shown.stdout), " "), who)
	}
	if all := strings.Join([]string{r.stdout, r.stderr}, ""); strings.Contains(all, "mallory") {
		t.Error("what a tenant wrote counts")
	}
	var events eventsv1.EventList
	if err := f.Client().List(t.Context(), &events, client.InNamespace("guarded")); err != nil {
		t.Fatal(err)
	}
	told := 0
	for i := range events.Items {
		if strings.HasSuffix(events.Items[i].Reason, "ByUser") {
			told++
		}
	}
	if told != 2 {
		t.Errorf("%d Events name the user, want 2", told)
	}
}

// checkSeenInSnapshot checks that an audit of a snapshot names the same users as one of the cluster.
func checkSeenInSnapshot(t *testing.T, kubeconfig string, want *report.Audit) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "snapshot.tar.gz")
	if r := run(t.Context(), t, "snapshot", "--kubeconfig", kubeconfig, "-o", file); r.status != 0 {
		t.Fatalf("taking a snapshot: status %d\n%s", r.status, r.stderr)
	}
	r := run(t.Context(), t, "audit", "--snapshot", file, "-o", "json")
	var got report.Audit
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatalf("%v\n%s", err, r.stderr)
	}
	seen := func(r *report.Audit) (out []string) {
		for i := range r.Findings {
			for _, e := range r.Findings[i].Evidence {
				if strings.HasSuffix(e, "(seen by the webhook)") {
					out = append(out, e)
				}
			}
		}
		return out
	}
	if diff := cmp.Diff(seen(want), seen(&got)); diff != "" {
		t.Errorf("evidence of the cluster (-), of the snapshot (+):\n%s", diff)
	}
}
