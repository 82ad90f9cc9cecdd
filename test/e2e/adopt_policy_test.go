// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// unownedCase is an object that bundle guestbook desires and does not own.
type unownedCase struct {
	name     string
	metadata ownership.Metadata
	// situation is the row of the truth table; owner is the value of --dangerous-take-from that takes the object.
	situation ownership.Situation
	owner     string
}

// unownedCases has at least one case for each row of the truth table, except for Undecided, which needs an
// unreadable record.
func unownedCases() []unownedCase {
	of := func(set string) ownership.Metadata { return ownership.Metadata{SetID: set, Hash: fleet.Hash(set)} }
	helm := func(m ownership.Metadata, namespace, name string) ownership.Metadata {
		m.ManagedBy, m.ReleaseNamespace, m.ReleaseName = "Helm", namespace, name
		return m
	}
	none := ownership.Metadata{}
	return []unownedCase{
		{"unmarked", none, ownership.NoMetadata, ""},
		{"managed-by-alone", ownership.Metadata{ManagedBy: "kustomize"}, ownership.NoMetadata, ""},
		{"helm-only", helm(none, apps, "guestbook"), ownership.OwnRelease, ""},
		{"stripped", helm(ownership.Metadata{SetID: "default-guestbook"}, apps, "guestbook"), ownership.OwnID, ""},
		{"of-release", helm(none, "tools", "chart"), ownership.ExistingRelease, "tools/chart"},
		{"of-deleted-release", helm(none, "tools", "lost"), ownership.LostRelease, "tools/lost"},
		{"id-of-bundle", ownership.Metadata{SetID: "default-other"}, ownership.KnownID, "other"},
		{"id-of-unknown", ownership.Metadata{SetID: "default-gone"}, ownership.UnknownID, "default-gone"},
		{"of-bundle", helm(of("default-other"), apps, "other"), ownership.KnownHash, "other"},
		{"of-unknown", helm(of("default-gone"), apps, "gone"), ownership.UnknownHash, "default-gone"},
		{"hash-of-unknown", ownership.Metadata{Hash: fleet.Hash("default-lost")}, ownership.UnknownHash,
			fleet.Hash("default-lost")},
		{"of-fleet", of("fleet-agent-bootstrap"), ownership.SystemSet, "fleet-agent-bootstrap"},
		{"of-rancher", of("monitoring"), ownership.SystemSet, "monitoring"},
		{"contested", none, ownership.Contested, "other"},
	}
}

// contestedFleet deploys bundle guestbook with all cases, bundle other, which desires the contested object too,
// and a Helm release without Fleet.
func contestedFleet(t *testing.T) (guestbook *bundle, all []*unstructured.Unstructured) {
	t.Helper()
	f := newFleet(t, shared)
	f.namespace("tools")
	f.InstallRelease(t, cluster.ReleaseOptions{Name: "chart", Namespace: "tools", Manifest: theme})
	var manifest strings.Builder
	for _, s := range unownedCases() {
		fmt.Fprintf(&manifest, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {a: b}}\n", s.name)
		all = append(all, configMap(s.name))
	}
	guestbook = f.deploy("guestbook", manifest.String())
	other := f.bundle("other", "{apiVersion: v1, kind: ConfigMap, metadata: {name: contested}, data: {a: b}}")
	other.options.TakeOwnership = true
	other.deploy()
	for _, s := range unownedCases() {
		f.setOwnership(configMap(s.name), s.metadata.Values())
	}
	return guestbook, all
}

// TestTruthTable adopts under each policy, with and without --dangerous-take-from, and undoes each adoption.
// Objects that are not adopted are not written.
func TestTruthTable(t *testing.T) {
	b, all := contestedFleet(t)
	rows := map[ownership.Situation]ownership.Rule{}
	for _, rule := range ownership.TruthTable {
		rows[rule.Situation] = rule
	}
	untested := maps.Clone(rows)
	delete(untested, ownership.Undecided) // see TestUndecided
	delete(untested, ownership.Differs)   // see TestIfNoDiff
	var owners []string
	for _, s := range unownedCases() {
		delete(untested, s.situation)
		if s.owner != "" {
			owners = append(owners, "--dangerous-take-from", s.owner)
		}
	}
	if len(untested) > 0 {
		t.Errorf("no case for %v", slices.Collect(maps.Keys(untested)))
	}
	for _, policy := range ownership.Policies {
		for name, named := range map[string][]string{"no owner named": nil, "every owner named": owners} {
			t.Run(string(policy)+", "+name, func(t *testing.T) {
				takes := map[string]bool{}
				for _, s := range unownedCases() {
					takes[s.name] = named != nil || rows[s.situation].Answers[policy] == ownership.Take
				}
				testPolicy(t, b, b.getAll(all...), takes, policy, named)
			})
		}
	}
}

// testPolicy adopts the cases and undoes it. named are the options that name owners.
func testPolicy(t *testing.T, b *bundle, before []*unstructured.Unstructured, takes map[string]bool,
	policy ownership.Policy, named []string) {
	t.Helper()
	a := b.adopt(append([]string{"bundle/guestbook", "--yes", "--policy", string(policy)}, named...)...)
	status, ready := 0, 0
	want, restored, unowned := map[string]string{}, map[string]string{}, map[string]string{}
	for i, s := range unownedCases() {
		key := "configmap apps/" + s.name
		if takes[s.name] {
			ready++
			want[key] = fmt.Sprintf("Adopt %s Done", s.situation)
			restored[key] = "Restore Done"
			b.expectOnlyOwnership(b.ownership(), before[i])
			continue
		}
		status = 1
		want[key] = fmt.Sprintf("Refuse %s", s.situation)
		object := a.object(t, key)
		if len(object.Refusals) != 1 {
			t.Errorf("%s has %d refusals: %v", key, len(object.Refusals), object.Refusals)
		}
		unowned[key] = "Unowned " + object.Reason
		b.expectUnchanged(before[i])
	}
	expectAdoption(t, a, status, want)
	counts := report.Counts{Desired: len(before), Ready: ready, Unowned: len(before) - ready}
	line := []report.RepairedDeployment{{Namespace: clusterNamespace, Name: "guestbook",
		Before: report.Counts{Desired: len(before), Unowned: len(before)}, After: counts}}
	if diff := cmp.Diff(line, a.document.Deployments); diff != "" {
		t.Errorf("counts of the bundle deployment (-want +got):\n%s", diff)
	}
	audit := b.audit("bundle/guestbook", "--server-check", "never")
	if len(unowned) == 0 {
		unowned = nil
	}
	if diff := cmp.Diff(unowned, outcomeOf(audit).Objects); diff != "" {
		t.Errorf("objects that an audit reports as not ready (-want +got):\n%s", diff)
	}
	if got := audit.deployment(t, "guestbook").Counts; got != counts {
		t.Errorf("an audit counts %+v, want %+v", got, counts)
	}
	expectAdoption(t, b.undo(a.receipt, named...), 0, restored)
	b.expectRestored(before...)
}

// TestIfNoDiff adopts only objects that are as the bundle desires them. A field that the bundle does not state, or that
// the server sets, is no difference. A field that comparePatches ignore is one. An object that another client writes to
// after the plan was made is left.
func TestIfNoDiff(t *testing.T) {
	f := newFleet(t, shared)
	const manifest = `---
{apiVersion: v1, kind: ConfigMap, metadata: {name: same}, data: {a: b}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {a: b}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: ignored}, data: {a: b}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: raced}, data: {a: b}}
---
{apiVersion: v1, kind: Secret, metadata: {name: invented}, stringData: {password: invented-value}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: registry.example.com/web:1}]}
`
	b := f.bundle("guestbook", manifest)
	b.spec = "{diff: {comparePatches: [{apiVersion: v1, kind: ConfigMap, name: ignored, jsonPointers: [/data/a]}]}}"
	b.deploy()
	left := []*unstructured.Unstructured{configMap("other"), configMap("ignored"), configMap("raced")}
	taken := []*unstructured.Unstructured{configMap("same"), object("v1", "Secret", apps, "invented"),
		object("v1", "Service", apps, "web"),
		object("apps/v1", "StatefulSet", apps, "web")}
	f.removeOwnership(slices.Concat(left, taken)...)
	f.merge("kubectl", configMap("same"), `{"data":{"more":"c"}}`)
	f.merge("kubectl", configMap("other"), `{"data":{"a":"changed"}}`)
	f.merge("kubectl", configMap("ignored"), `{"data":{"a":"changed"}}`)
	before, unowned := f.getAll(taken...), f.getAll(left[:2]...)
	want := map[string]string{"configmap apps/same": "Adopt NoMark", "configmap apps/raced": "Adopt NoMark",
		"secret apps/invented": "Adopt NoMark",
		"service apps/web":     "Adopt NoMark", "statefulset apps/web": "Adopt NoMark",
		"configmap apps/other": "Refuse Differs", "configmap apps/ignored": "Refuse Differs"}
	policy := []string{"--policy", string(ownership.IfNoDiff)}
	plan := f.adopt(policy...)
	expectAdoption(t, plan, 1, want)
	all := f.adopt("--confirm", plan.document.Digest, "configmap/same", "configmap/raced", "secret/invented",
		"service/web", "statefulset/web")
	if expectContains(t, "stderr", all.stderr, "the confirmed plan has the digest"); all.status != 1 {
		t.Errorf("the plan of if-no-diff confirmed one of if-unowned: status %d", all.status)
	}
	p := f.proxy()
	var once sync.Once
	p.onRequest(func(r *http.Request) {
		if r.Method == http.MethodPatch {
			once.Do(func() { f.merge("other", configMap("raced"), `{"data":{"a":"changed"}}`) })
		}
	})
	a := f.adopt(append(policy, "--confirm", plan.document.Digest, "--kubeconfig", p.kubeconfig)...)
	for key, planned := range want {
		if strings.HasPrefix(planned, "Adopt") {
			want[key] = planned + " Done"
		}
	}
	want["configmap apps/raced"] = "Adopt NoMark Changed"
	expectAdoption(t, a, 3, want)
	f.expectOnlyOwnership(b.ownership(), before...)
	f.expectUnchanged(unowned...)
	if got := ownershipOf(f.get(configMap("raced"))); len(got) > 0 {
		t.Errorf("an object that differs now was written to: %v", got)
	}
	if undone := f.undo(a.receipt); undone.status != 0 || undone.document.Summary.Done != len(taken) {
		t.Errorf("undoing: status %d, %+v: %s", undone.status, undone.document.Summary, undone.stderr)
	}
	f.expectRestored(before...)
}

// TestUndecided damages a release record, so that an unknown owner may exist or not.
func TestUndecided(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", theme)
	mystery := f.deploy("mystery", "{apiVersion: v1, kind: ConfigMap, metadata: {name: mystery}}")
	f.merge("kubectl", mystery.record(1), `{"data":{"release":"bm90IGEgcmVjb3Jk"}}`)
	f.remove(object("fleet.cattle.io/v1alpha1", "BundleDeployment", clusterNamespace, "mystery"))
	f.setOwnership(configMap("theme"), ownership.Metadata{SetID: "default-somebody",
		Hash: fleet.Hash("default-somebody")}.Values())
	before := f.get(configMap("theme"))
	for _, policy := range ownership.Policies {
		a := f.adopt("--yes", "--policy", string(policy))
		expectAdoption(t, a, 1, map[string]string{"configmap apps/theme": "Refuse Undecided"})
		f.expectUnchanged(before)
		takeFrom := []string{"--dangerous-take-from", "default-somebody"}
		a = f.adopt(append([]string{"--yes", "--policy", string(policy)}, takeFrom...)...)
		expectAdoption(t, a, 0, map[string]string{"configmap apps/theme": "Adopt Undecided Done"})
		f.expectOnlyOwnership(b.ownership(), before)
		expectAdoption(t, f.undo(a.receipt, takeFrom...), 0, map[string]string{"configmap apps/theme": "Restore Done"})
		f.expectRestored(before)
		before = f.get(configMap("theme"))
	}
}

// TestTakeFromUnknownOwner names an owner that no object has. This is an error, not an empty plan.
func TestTakeFromUnknownOwner(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", theme)
	f.removeOwnership(configMap("theme"))
	before := f.get(configMap("theme"))
	a := f.adopt("--yes", "--dangerous-take-from", "default-nonexistent")
	if a.status != 1 || a.stdout != "" {
		t.Errorf("status %d, want 1; %s", a.status, a.stdout)
	}
	expectContains(t, "stderr", a.stderr, "default-nonexistent", "does not name an owner")
	f.expectUnchanged(before)
}
