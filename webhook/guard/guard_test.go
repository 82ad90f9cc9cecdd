// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/guard"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
)

const alice, agent = "alice", "system:serviceaccount:cattle-fleet-system:fleet-agent"

var eleven = ownership.Wanted("default-eleven", "eleven", "web")

// cluster has bundle eleven, which desires eleven ConfigMaps and is deployed as deployer, and bundle other, which desires the first of them too.
func cluster(tb testing.TB) *index.Index {
	tb.Helper()
	r := index.New()
	for _, rec := range []record.Record{
		{Bundle: "eleven", ServiceAccount: "deployer", Objects: append(record.ConfigMaps("web", 10), object.Ref{APIVersion: "v1", Kind: "Pod", Namespace: "web", Name: "p"})},
		{Bundle: "eleven", Revision: 2, Status: "pending-upgrade", AgentNamespace: "agents", ServiceAccount: "upgrader",
			Objects: append(record.ConfigMaps("web", 9), object.Ref{APIVersion: "v1", Kind: "Pod", Namespace: "web", Name: "p"}, object.Ref{APIVersion: "v1", Kind: "Service", Namespace: "web", Name: "new"})},
		{Bundle: "fleet-agent-local", SetID: "fleet-agent-bootstrap", Objects: []object.Ref{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "of-agent"}}},
		{Bundle: "other", Namespace: "web", Objects: record.ConfigMaps("web", 1)},
	} {
		e, err := index.Read(rec.Value())
		if err != nil {
			tb.Fatal(err)
		}
		r.Set(e)
	}
	return r
}

// marked is an object with marks and further labels, given as pairs.
func marked(m ownership.Marks, labels ...string) *object.Meta {
	out := &object.Meta{}
	out.Metadata.Labels, out.Metadata.Annotations = map[string]string{}, map[string]string{}
	for _, k := range ownership.Keys() {
		if v, ok := m.Stamps()[k.Name]; ok && k.Label {
			out.Metadata.Labels[k.Name] = v
		} else if ok {
			out.Metadata.Annotations[k.Name] = v
		}
	}
	for i := 0; i < len(labels); i += 2 {
		out.Metadata.Labels[labels[i]] = labels[i+1]
	}
	return out
}

func TestJudge(t *testing.T) {
	with := func(change func(*ownership.Marks)) *object.Meta { m := eleven; change(&m); return marked(m) }
	deleting := marked(eleven)
	deleting.Metadata.DeletionTimestamp = "2026-11-20T08:00:00Z"
	key := object.Key{Kind: "ConfigMap", Namespace: "web", Name: "object-3"}
	for _, tc := range []struct {
		name string
		req  guard.Request
		want guard.Reason
		says []string
	}{
		{"deleted", guard.Request{Old: marked(eleven)}, guard.Deleted, []string{"configmap web/object-3 belongs to bundle eleven", "missing", "eleven will be at most 10/11"}},
		{"the hash stripped", guard.Request{Old: marked(eleven), New: with(func(m *ownership.Marks) { m.Hash = "" })}, guard.Stripped,
			[]string{"takes away label objectset.rio.cattle.io/hash, without which Fleet will report", "eleven will be at most 10/11"}},
		{"all stripped", guard.Request{Old: marked(eleven), New: marked(ownership.Marks{})}, guard.Stripped, []string{"annotation meta.helm.sh/release-name", "10/11"}},
		{"the hash changed", guard.Request{Old: marked(eleven), New: with(func(m *ownership.Marks) { m.Hash = "x" })}, guard.Changed,
			[]string{"changes label objectset.rio.cattle.io/hash:", "eleven will be at most 10/11"}},
		{"Helm's mark changed", guard.Request{Old: marked(eleven), New: with(func(m *ownership.Marks) { m.ReleaseName = "x" })}, guard.Changed,
			[]string{"annotation meta.helm.sh/release-name", "Helm may not know it"}},
		{"the id stripped", guard.Request{Old: marked(eleven), New: with(func(m *ownership.Marks) { m.SetID = "" })}, guard.Stripped,
			[]string{"takes away annotation objectset.rio.cattle.io/id, without which Fleet still counts it, but knows it by less"}},
		{"stripped and changed", guard.Request{Old: marked(eleven), New: with(func(m *ownership.Marks) { m.Hash, m.SetID = "", "x" })}, guard.Stripped,
			[]string{"takes away label objectset.rio.cattle.io/hash and changes annotation objectset.rio.cattle.io/id"}},
		{"a wrong mark put right", guard.Request{Old: with(func(m *ownership.Marks) { m.SetID = "x" }), New: marked(eleven)}, guard.Harmless, nil},
		{"a wrong mark made wronger", guard.Request{Old: with(func(m *ownership.Marks) { m.SetID = "x" }), New: with(func(m *ownership.Marks) { m.SetID = "y" })}, guard.Harmless, nil},
		{"something else changed", guard.Request{Old: marked(eleven), New: marked(eleven, "app", "web")}, guard.Harmless, nil},

		{"not owned", guard.Request{Old: with(func(m *ownership.Marks) { m.Hash = "" })}, guard.NotOwned, nil},
		{"a copied hash", guard.Request{Key: object.Key{Kind: "Secret", Namespace: "web", Name: "object-3"}, Old: marked(eleven)}, guard.NotOwned, nil},
		{"another's, which desires it too", guard.Request{Key: object.Key{Kind: "ConfigMap", Namespace: "web", Name: "object-0"}, Old: marked(ownership.Wanted("default-other", "other", "web"))},
			guard.Deleted, []string{"bundle other", "other will be at most 0/1"}},

		{"by the agent", guard.Request{User: agent, Old: marked(eleven)}, guard.Fleet, nil},
		{"by fleet-default", guard.Request{User: "system:serviceaccount:cattle-fleet-system:fleet-default", Old: marked(eleven)}, guard.Fleet, nil},
		{"by the release's account", guard.Request{User: "system:serviceaccount:cattle-fleet-system:deployer", Old: marked(eleven)}, guard.Fleet, nil},
		{"by an account of that name elsewhere", guard.Request{User: "system:serviceaccount:web:deployer", Old: marked(eleven)}, guard.Deleted, []string{"10/11"}},
		{"by another account there", guard.Request{User: "system:serviceaccount:cattle-fleet-system:somebody", Old: marked(eleven)}, guard.Deleted, []string{"10/11"}},
		{"by the account without a name", guard.Request{User: "system:serviceaccount:cattle-fleet-system:", Key: object.Key{Kind: "ConfigMap", Namespace: "web", Name: "object-0"},
			Old: marked(ownership.Wanted("default-other", "other", "web"))}, guard.Deleted, []string{"0/1"}},
		{"by another account of the agent's, while it upgrades", guard.Request{Key: object.Key{Kind: "ConfigMap", Namespace: "web", Name: "object-9"},
			User: "system:serviceaccount:agents:upgrader", Old: marked(eleven)}, guard.Fleet, nil},
		{"a Pod, by the scheduler", guard.Request{Key: object.Key{Kind: "Pod", Namespace: "web", Name: "p"}, User: "system:kube-scheduler", Old: marked(eleven)}, guard.System, nil},
		{"a Pod, by a controller", guard.Request{Key: object.Key{Kind: "Pod", Namespace: "web", Name: "p"}, User: "system:serviceaccount:kube-system:pod-garbage-collector", Old: marked(eleven)}, guard.System, nil},
		{"a Pod, by somebody", guard.Request{Key: object.Key{Kind: "Pod", Namespace: "web", Name: "p"}, Old: marked(eleven)}, guard.Deleted, []string{"pod web/p"}},
		{"by the scheduler, and no Pod", guard.Request{User: "system:kube-scheduler", Old: marked(eleven)}, guard.Deleted, []string{"10/11"}},
		{"of the agent", guard.Request{Key: object.Key{Kind: "ConfigMap", Namespace: "web", Name: "of-agent"}, Old: marked(ownership.Wanted("fleet-agent-bootstrap", "fleet-agent-local", "web"))},
			guard.NotOwned, nil},
		{"by garbage collection", guard.Request{User: "system:serviceaccount:kube-system:generic-garbage-collector", Old: marked(eleven)}, guard.System, nil},
		{"by namespace deletion", guard.Request{User: "system:serviceaccount:kube-system:namespace-controller", Old: marked(eleven)}, guard.System, nil},
		{"by the controller manager", guard.Request{User: "system:kube-controller-manager", Old: marked(eleven)}, guard.System, nil},
		{"by an undo", guard.Request{Manager: "fleetdoctor-adopt", Old: marked(eleven), New: marked(ownership.Marks{})}, guard.Ignored, nil},

		{"being deleted", guard.Request{Old: deleting}, guard.Deleting, nil},
		{"ignored", guard.Request{Old: marked(eleven, "fleetdoctor.io/ignore", "true")}, guard.Ignored, nil},
		{"ignored in the same breath", guard.Request{Old: marked(eleven), New: marked(ownership.Marks{}, "fleetdoctor.io/ignore", "true")}, guard.Stripped, []string{"10/11"}},
		{"ignored from now on", guard.Request{Old: marked(eleven), New: marked(eleven, "fleetdoctor.io/ignore", "true")}, guard.Harmless, nil},
		{"ignored by its namespace", guard.Request{Ignored: true, Old: marked(eleven)}, guard.Ignored, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.req.Key == (object.Key{}) {
				tc.req.Key = key
			}
			if tc.req.User == "" {
				tc.req.User = alice
			}
			got := guard.Judge(cluster(t).Lookup(tc.req.Key), tc.req)
			if got.Reason != tc.want || got.Harm() != (tc.says != nil) {
				t.Errorf("%s: %q, want %s", got.Reason, got.Message, tc.want)
			}
			for _, s := range tc.says {
				if !strings.Contains(got.Message, s) {
					t.Errorf("the message does not say %q: %s", s, got.Message)
				}
			}
		})
	}
}

// TestForgedOwner holds that a record which claims the same set for another agent makes nobody Fleet, and takes that from nobody.
func TestForgedOwner(t *testing.T) {
	r := cluster(t)
	forged := record.Record{Bundle: "eleven", Namespace: "evil", AgentNamespace: "evil", Objects: record.ConfigMaps("web", 11)}
	e, err := index.Read(forged.Value())
	if err != nil {
		t.Fatal(err)
	}
	r.Set(e)
	req := guard.Request{Key: object.Key{Kind: "ConfigMap", Namespace: "web", Name: "object-3"}, Old: marked(eleven)}
	for user, want := range map[string]guard.Reason{"system:serviceaccount:evil:fleet-agent": guard.Deleted, agent: guard.Fleet} {
		req.User = user
		if v := guard.Judge(r.Lookup(req.Key), req); v.Reason != want || v.Release.Namespace != "web" {
			t.Errorf("%s: %s, of release %s", user, v.Reason, v.Release.Name)
		}
	}
	// Without Helm's marks it cannot be told whose it is: then nobody is Fleet who is not for all of them.
	bare := eleven
	bare.ReleaseName, bare.ReleaseNamespace = "", ""
	req.Old, req.User = marked(bare), "system:serviceaccount:evil:fleet-agent"
	if v := guard.Judge(r.Lookup(req.Key), req); v.Reason != guard.Deleted {
		t.Errorf("without Helm's marks: %s", v.Reason)
	}
}

// TestDoubt has records that claim an object by its set alone: they deny Fleet nothing.
func TestDoubt(t *testing.T) {
	bare, other := eleven, eleven
	bare.ReleaseName, bare.ReleaseNamespace = "", ""
	other.ReleaseName = "other" // a release whose record is missing, or does not desire the object
	forged := record.Record{Bundle: "eleven", Namespace: "a-tenant", AgentNamespace: "a-tenant", Objects: record.ConfigMaps("web", 11)}
	e, err := index.Read(forged.Value())
	if err != nil {
		t.Fatal(err)
	}
	both, alone := cluster(t), index.New()
	both.Set(e)
	alone.Set(e)
	for _, tc := range []struct {
		name  string
		r     *index.Index
		old   ownership.Marks
		user  string
		doubt string
	}{
		{"the owner's record is missing", alone, eleven, agent, "release web/eleven"},
		{"another release is named", both, other, alice, "release web/other"},
		{"nothing is named, by Fleet", both, bare, agent, "several releases"},
		{"nothing is named, by the tenant's agent", both, bare, "system:serviceaccount:a-tenant:fleet-agent", "several releases"},
		{"nothing is named, by somebody", both, bare, alice, ""},
		{"the owner is named", both, eleven, alice, ""},
		{"the owner is named, by the tenant's agent", both, eleven, "system:serviceaccount:a-tenant:fleet-agent", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := guard.Request{Key: object.Key{Kind: "ConfigMap", Namespace: "web", Name: "object-3"}, User: tc.user, Old: marked(tc.old)}
			v := guard.Judge(tc.r.Lookup(req.Key), req)
			if v.Reason != guard.Deleted || (v.Doubt == "") != (tc.doubt == "") || !strings.Contains(v.Doubt, tc.doubt) {
				t.Errorf("%s, doubt %q; want %s, %q", v.Reason, v.Doubt, guard.Deleted, tc.doubt)
			}
		})
	}
}

// TestPartial holds that records which are not read put an owner in doubt only where the request may be Fleet's, which has no users but service
// accounts. A tenant can have such a record.
func TestPartial(t *testing.T) {
	bare := eleven
	bare.ReleaseName, bare.ReleaseNamespace = "", ""
	for user, doubt := range map[string]bool{alice: false, agent: true, "system:serviceaccount:elsewhere:deployer": true} {
		req := guard.Request{Key: object.Key{Kind: "ConfigMap", Namespace: "web", Name: "object-10"}, User: user, Old: marked(bare), Partial: true}
		r := index.New()
		e, err := index.Read(record.Record{Bundle: "eleven", Namespace: "a-tenant", AgentNamespace: "a-tenant", Objects: record.ConfigMaps("web", 11)}.Value())
		if err != nil {
			t.Fatal(err)
		}
		r.Set(e)
		v := guard.Judge(r.Lookup(req.Key), req)
		if v.Reason != guard.Deleted || (v.Doubt != "") != doubt || v.MayBeFleet != doubt || strings.Contains(v.Message, "at most") {
			t.Errorf("%s: %s, doubt %q, %s", user, v.Reason, v.Doubt, v.Message)
		}
	}
}

// TestSeveralOwners has records of several releases state the set of an object that names none of them. Nothing is said that only one of them says.
func TestSeveralOwners(t *testing.T) {
	bare := eleven
	bare.ReleaseName, bare.ReleaseNamespace = "", ""
	r := cluster(t)
	for i, said := range []string{"bundle eleven:", "bundle eleven or b-1:", "bundle eleven or b-1 or b-2:", "bundle eleven or b-1 or b-2 or another:", "bundle eleven or b-1 or b-2 or another:"} {
		bundle := fmt.Sprint("b-", i)
		if i == 0 {
			bundle = "eleven"
		}
		e, err := index.Read(record.Record{Bundle: bundle, SetID: eleven.SetID, Namespace: fmt.Sprint("a-tenant-", i), Objects: record.ConfigMaps("web", 11)}.Value())
		if err != nil {
			t.Fatal(err)
		}
		r.Set(e)
		req := guard.Request{Key: object.Key{Kind: "ConfigMap", Namespace: "web", Name: "object-9"}, User: alice, Old: marked(bare)}
		v := guard.Judge(r.Lookup(req.Key), req)
		if !strings.Contains(v.Message, said) || strings.Contains(v.Message, "at most") || v.Doubt != "" {
			t.Errorf("it says %q, in doubt %q; want %q", v.Message, v.Doubt, said)
		}
		if v.Release.Namespace != "" || (v.Release.Bundle == "eleven") != (i == 0) || len(v.Namespaces) < i+2 {
			t.Errorf("of release %q, bundle %q, namespaces %v", v.Release.Release(), v.Release.Bundle, v.Namespaces)
		}
	}
}

func TestModeOf(t *testing.T) {
	for _, tc := range []struct {
		labels map[string]string
		want   guard.Mode
		note   bool
	}{
		{nil, guard.Warn, false},
		{map[string]string{guard.Label: "deny"}, guard.Deny, false},
		{map[string]string{guard.Label: "off"}, guard.Off, false},
		{map[string]string{guard.Label: "denny"}, guard.Warn, true},
		{map[string]string{guard.Label: ""}, guard.Warn, true},
	} {
		mode, note := guard.ModeOf(tc.labels, guard.Warn)
		if diff := cmp.Diff(tc.want, mode); diff != "" || (note != "") != tc.note {
			t.Errorf("%v: mode (-want +got):\n%snote %q", tc.labels, diff, note)
		}
	}
}
