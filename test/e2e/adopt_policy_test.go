// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// stray is an object that bundle guestbook wants and does not own.
type stray struct {
	name  string
	marks ownership.Metadata
	// situation is the row of the truth table that it is, owner how he may be named from whom it is to be taken.
	situation ownership.Situation
	owner     string
}

// strays stand for every row of the truth table but Undecided, which takes a cluster that cannot be read; some rows have two.
func strays() []stray {
	of := func(set string) ownership.Metadata { return ownership.Metadata{SetID: set, Hash: fleet.Hash(set)} }
	helm := func(m ownership.Metadata, namespace, name string) ownership.Metadata {
		m.ManagedBy, m.ReleaseNamespace, m.ReleaseName = "Helm", namespace, name
		return m
	}
	none := ownership.Metadata{}
	return []stray{
		{"unmarked", none, ownership.NoMark, ""},
		{"managed-by-alone", ownership.Metadata{ManagedBy: "kustomize"}, ownership.NoMark, ""},
		{"helm-only", helm(none, apps, "guestbook"), ownership.OwnRelease, ""},
		{"stripped", helm(ownership.Metadata{SetID: "default-guestbook"}, apps, "guestbook"), ownership.OwnID, ""},
		{"of-helm", helm(none, "tools", "chart"), ownership.LivingRelease, "tools/chart"},
		{"of-lost-helm", helm(none, "tools", "lost"), ownership.LostRelease, "tools/lost"},
		{"id-of-bundle", ownership.Metadata{SetID: "default-other"}, ownership.KnownID, "other"},
		{"id-of-nobody", ownership.Metadata{SetID: "default-gone"}, ownership.UnknownID, "default-gone"},
		{"of-bundle", helm(of("default-other"), apps, "other"), ownership.KnownHash, "other"},
		{"of-nobody", helm(of("default-gone"), apps, "gone"), ownership.UnknownHash, "default-gone"},
		{"hash-of-nobody", ownership.Metadata{Hash: fleet.Hash("default-lost")}, ownership.UnknownHash, fleet.Hash("default-lost")},
		{"of-fleet", of("fleet-agent-bootstrap"), ownership.SystemSet, "fleet-agent-bootstrap"},
		{"of-rancher", of("monitoring"), ownership.SystemSet, "monitoring"},
		{"contested", none, ownership.Contested, "other"},
	}
}

// contestedFleet is a Fleet in which bundle guestbook desires the strays, bundle other desires the contested one too, and Helm has a release of its own.
func contestedFleet(t *testing.T) (guestbook *bundle, all []*unstructured.Unstructured) {
	t.Helper()
	f := newFleet(t, shared)
	f.namespace("tools")
	f.InstallRelease(t, cluster.ReleaseOptions{Name: "chart", Namespace: "tools", Manifest: theme})
	var manifest strings.Builder
	for _, s := range strays() {
		fmt.Fprintf(&manifest, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {a: b}}\n", s.name)
		all = append(all, configMap(s.name))
	}
	guestbook = f.deploy("guestbook", manifest.String())
	other := f.bundle("other", "{apiVersion: v1, kind: ConfigMap, metadata: {name: contested}, data: {a: b}}")
	other.options.TakeOwnership = true
	other.deploy()
	for _, s := range strays() {
		f.mark(configMap(s.name), s.marks.Values())
	}
	return guestbook, all
}

// TestTruthTable adopts under every policy, with and without naming the owners, and takes it back each time: what is taken is the bundle's
// and else what it was, what is not was not written to.
func TestTruthTable(t *testing.T) {
	b, all := contestedFleet(t)
	rows := map[ownership.Situation]ownership.Rule{}
	for _, rule := range ownership.TruthTable {
		rows[rule.Situation] = rule
	}
	unseen := maps.Clone(rows)
	delete(unseen, ownership.Undecided) // see TestUndecided
	var owners []string
	for _, s := range strays() {
		delete(unseen, s.situation)
		if s.owner != "" {
			owners = append(owners, "--dangerous-take-from", s.owner)
		}
	}
	if len(unseen) > 0 {
		t.Errorf("no stray is of %v", slices.Collect(maps.Keys(unseen)))
	}
	for _, policy := range ownership.Policies {
		for name, named := range map[string][]string{"nobody named": nil, "everybody named": owners} {
			t.Run(string(policy)+", "+name, func(t *testing.T) {
				takes := map[string]bool{}
				for _, s := range strays() {
					takes[s.name] = named != nil || rows[s.situation].Answers[policy] == ownership.Take
				}
				testPolicy(t, b, b.getAll(all...), takes, append(named, "--policy", string(policy)))
			})
		}
	}
}

// testPolicy adopts the strays and takes it back.
func testPolicy(t *testing.T, b *bundle, before []*unstructured.Unstructured, takes map[string]bool, args []string) {
	t.Helper()
	a := b.adopt(append(args, "bundle/guestbook", "--yes")...)
	status, ready := 0, 0
	want, restored, unowned := map[string]string{}, map[string]string{}, map[string]string{}
	for i, s := range strays() {
		key := "configmap apps/" + s.name
		if takes[s.name] {
			ready++
			want[key] = fmt.Sprintf("Adopt %s Done", s.situation)
			restored[key] = "Restore Done"
			b.onlyMarks(b.stamps(), before[i])
			continue
		}
		status = 1
		want[key] = fmt.Sprintf("Refuse %s", s.situation)
		object := a.object(t, key)
		if len(object.Refusals) != 1 {
			t.Errorf("%s has %d refusals: %v", key, len(object.Refusals), object.Refusals)
		}
		unowned[key] = "Unowned " + object.Reason
		b.unchanged(before[i])
	}
	expectAdoption(t, a, status, want)
	counts := report.Counts{Desired: len(before), Ready: ready, Unowned: len(before) - ready}
	line := []report.AdoptedDeployment{{Namespace: clusterNamespace, Name: "guestbook",
		Before: report.Counts{Desired: len(before), Unowned: len(before)}, After: counts}}
	if diff := cmp.Diff(line, a.document.Deployments); diff != "" {
		t.Errorf("the bundle's line (-want +got):\n%s", diff)
	}
	audit := b.audit("bundle/guestbook", "--server-check", "never")
	if len(unowned) == 0 {
		unowned = nil
	}
	if diff := cmp.Diff(unowned, outcomeOf(audit).Objects); diff != "" {
		t.Errorf("what an audit says is not ready (-want +got):\n%s", diff)
	}
	if got := audit.deployment(t, "guestbook").Counts; got != counts {
		t.Errorf("an audit counts %+v, want %+v", got, counts)
	}
	expectAdoption(t, b.undo(a.receipt), 0, restored)
	b.restored(before...)
}

// TestUndecided cannot read a release record, so that nobody whom it does not know is known to be gone.
func TestUndecided(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", theme)
	mystery := f.deploy("mystery", "{apiVersion: v1, kind: ConfigMap, metadata: {name: mystery}}")
	f.merge("kubectl", mystery.record(1), `{"data":{"release":"bm90IGEgcmVjb3Jk"}}`)
	f.remove(object("fleet.cattle.io/v1alpha1", "BundleDeployment", clusterNamespace, "mystery"))
	f.mark(configMap("theme"), ownership.Metadata{SetID: "default-somebody", Hash: fleet.Hash("default-somebody")}.Values())
	before := f.get(configMap("theme"))
	for _, policy := range ownership.Policies {
		a := f.adopt("--yes", "--policy", string(policy))
		expectAdoption(t, a, 1, map[string]string{"configmap apps/theme": "Refuse Undecided"})
		f.unchanged(before)
		a = f.adopt("--yes", "--policy", string(policy), "--dangerous-take-from", "default-somebody")
		expectAdoption(t, a, 0, map[string]string{"configmap apps/theme": "Adopt Undecided Done"})
		f.onlyMarks(b.stamps(), before)
		expectAdoption(t, f.undo(a.receipt), 0, map[string]string{"configmap apps/theme": "Restore Done"})
		f.restored(before)
		before = f.get(configMap("theme"))
	}
}

// TestTakeFromNobody names somebody who holds nothing: that is an error, not a plan without him.
func TestTakeFromNobody(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", theme)
	f.strip(configMap("theme"))
	before := f.get(configMap("theme"))
	a := f.adopt("--yes", "--dangerous-take-from", "default-gohne")
	if a.status != 1 || a.stdout != "" {
		t.Errorf("status %d, want 1; %s", a.status, a.stdout)
	}
	says(t, "stderr", a.stderr, "default-gohne", "does not name an owner")
	f.unchanged(before)
}
