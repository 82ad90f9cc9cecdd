// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"strings"
	"testing"
)

// TestWithin checks that a sentence of Fleet or Helm keeps what failed and the reason, in two lines of a terminal of 80
// columns and in one.
func TestWithin(t *testing.T) {
	for _, tc := range []struct {
		about, says  string
		two, oneLine []string // what must be left
	}{
		{"", `web is not applied: server-side apply failed for object t29/web apps/v1, Kind=Deployment: ` +
			`Deployment.apps "web" is invalid: spec.selector: Invalid value: {…}: field is immutable`,
			[]string{"web is not applied", "spec.selector", "field is immutable"},
			[]string{"field is immutable"}},
		{"migrate:", `release c31/c31: revision 12 is failed: Helm failed: Upgrade "c31" failed: server-side ` +
			`apply failed for object c31/migrate batch/v1, Kind=Job: Job.batch "migrate" is invalid: ` +
			`spec.template: Invalid value: {…}: field is immutable`,
			[]string{"spec.template", "field is immutable"},
			[]string{"field is immutable"}},
		{"", `db is not applied: server-side apply failed for object t29/db apps/v1, Kind=StatefulSet: ` +
			`StatefulSet.apps "db" is invalid: spec: Forbidden: updates to statefulset spec for fields ` +
			`other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', ` +
			`'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden`,
			[]string{"db is not applied", "are forbidden"},
			[]string{"are forbidden"}},
		{"", `new is not applied: not installed: unable to continue with install: ConfigMap ` +
			`"c43-settings" in namespace "c43" exists and cannot be imported into the current release: ` +
			`invalid ownership metadata; annotation validation error: key "meta.helm.sh/release-name" ` +
			`must equal "new": current value is "old"`,
			[]string{"new is not applied", "must equal", `current value is "old"`},
			[]string{`is "old"`}},
		{"", `app is not applied: error while running post render on files: invalid cluster scoped object ` +
			`[name=c07-view kind=ClusterRole apiVersion=rbac.authorization.k8s.io/v1] found. Your config ` +
			`uses targetNamespace or namespace and thus forbids cluster-scoped resources. If you do not ` +
			`intend to disallow cluster scoped resources, you could switch to defaultNamespace`,
			[]string{"app is not applied", "invalid cluster scoped object found"},
			[]string{"not applied", "scoped object found"}},
		{"", `app is not applied: unable to build kubernetes objects from release manifest: resource ` +
			`mapping not found for name: "one" namespace: "" from "": no matches for kind "Gadget" in ` +
			`version "t28.example.invalid/v1" ensure CRDs are installed first`,
			[]string{"no matches for kind", "Gadget"},
			[]string{"CRDs are installed first"}},
		{"", `HelmOp fleet-local/norepo is not accepted since 11-28 12:36: could not get a chart version: ` +
			`failed to fetch "http://127.0.0.1:9/none/index.yaml": Get ` +
			`"http://127.0.0.1:9/none/index.yaml": dial tcp 127.0.0.1:9: connect: connection refused`,
			[]string{"norepo is not accepted", "connection refused"},
			[]string{"refused"}},
		{"", `GitRepo c09/c09 is not accepted since 11-28 12:33: disallowed repo ` +
			`https://git.example.invalid/c09.git: https://git.example.invalid/c09.git not in allowed set ` +
			`[https://git.example.com/.*]`,
			[]string{"not accepted", "not in allowed set"},
			[]string{"c09/c09 is not", "set [https"}},
		{"", `10 bundles (repo0-app1, repo2-app5 and 8 more) on 3 clusters (c03, c20 and 1 more) are not ` +
			`applied: Deployed is False: another operation is in progress`,
			[]string{"10 bundles", "3 clusters", "not applied", "another operation"},
			[]string{"10 bundles", "in progress"}},
		// a sentence of this program has what matters first
		{"", `cluster fleet-local/local reports 8/8 objects ready, but the number computed from its ` +
			`bundle deployments is 2/8: Fleet updates this number at the heartbeat of the agent, not ` +
			`when an object changes`,
			[]string{"reports 8/8", "is 2/8"},
			[]string{"reports 8/8"}},
		{"guestbook-guestbook:", `deployment guestbook/frontend differs in ` +
			`.spec.template.spec.containers[name="main"].resources.requests.cpu`,
			[]string{"deployment guestbook/frontend", ".requests.cpu"},
			[]string{"differs in .spec"}},
		{"ingress-ingress:", `clusterrole edge-reader exists, but has ownership metadata of set ` +
			`"default-old-ingress", which is not on this cluster any more`,
			[]string{"edge-reader", "default-old-ingress"},
			[]string{"clusterrole edge-reader exists"}},
		{"hpa:", `an autoscaler scales deployment t18/keda-scaled, and Fleet reports it as modified: it knows ` +
			`only autoscalers of the same bundle`,
			[]string{"deployment t18/keda-scaled", "reports it as modified"},
			[]string{"an autoscaler scales"}},
	} {
		for n, want := range map[int][]string{118: tc.two, 57: tc.oneLine} {
			got := within(tc.about, tc.says, n)
			if span(got) > n {
				t.Errorf("%d of %d columns: %s", span(got), n, got)
			}
			for _, words := range want {
				if !strings.Contains(got, words) {
					t.Errorf("%d columns, without %q: %s", n, words, got)
				}
			}
		}
		if got := within(tc.about, tc.says, 1000); got != strings.TrimSpace(tc.about+" "+tc.says) {
			t.Errorf("%q, want the whole sentence", got)
		}
	}
}
