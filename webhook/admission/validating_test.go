// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
)

const alice, agent = "alice", "system:serviceaccount:cattle-fleet-system:fleet-agent"

// deployer is the service account of bundle eleven. Only its record shows that this is Fleet's.
const deployer = "system:serviceaccount:cattle-fleet-system:deployer"

// validatingIndex has bundle eleven, which desires ten ConfigMaps and a Pod, with a pending revision, and bundle other,
// which desires the first ConfigMap too.
func validatingIndex(tb testing.TB) *index.Index {
	tb.Helper()
	r := index.New()
	for _, rec := range []record.Record{
		{Bundle: "eleven", ServiceAccount: "deployer", Objects: append(record.ConfigMaps("web", 10),
			object.Ref{APIVersion: "v1", Kind: "Pod", Namespace: "web", Name: "p"})},
		{Bundle: "eleven", Revision: 2, Status: "pending-upgrade", AgentNamespace: "agents", ServiceAccount: "upgrader",
			Objects: append(record.ConfigMaps("web", 9), object.Ref{APIVersion: "v1", Kind: "Pod", Namespace: "web",
				Name: "p"}, object.Ref{APIVersion: "v1", Kind: "Service", Namespace: "web", Name: "new"})},
		{Bundle: "fleet-agent-local", SetID: "fleet-agent-bootstrap",
			Objects: []object.Ref{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "of-agent"}}},
		{Bundle: "other", Namespace: "web", Objects: record.ConfigMaps("web", 1)},
	} {
		e, err := desired.ReadRevision(rec.Value())
		if err != nil {
			tb.Fatal(err)
		}
		r.Set(e)
	}
	return r
}

// labelled returns an object with ownership metadata and further labels, as pairs of key and value.
func labelled(m ownership.Metadata, labels ...string) *object.Meta {
	out := &object.Meta{}
	out.Metadata.Labels, out.Metadata.Annotations = map[string]string{}, map[string]string{}
	for _, k := range ownership.Keys() {
		if v, ok := m.Values()[k.Name]; ok && k.Label {
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

// change is a request and the facts about it that are not in the index.
type change struct {
	Key              object.Key
	User, Manager    string
	Old, New         *object.Meta
	Ignored, Partial bool
}

// validateIn validates a change with the facts of an index.
func validateIn(x *index.Index, c change) validation {
	labels := map[string]string{IgnoreLabel: fmt.Sprint(c.Ignored)}
	o := Options{Index: x, Namespaces: namespaces{c.Key.Namespace: labels}, Live: func(string) bool { return true }}
	req := Request{Key: c.Key, User: c.User, Manager: c.Manager, Old: c.Old, New: c.New}
	f := o.facts(req, x.Lookup(c.Key), false)
	f.Complete = f.Complete && !c.Partial
	return validate(req, f)
}

func TestValidate(t *testing.T) {
	with := func(change func(*ownership.Metadata)) *object.Meta { m := eleven; change(&m); return labelled(m) }
	deleting := labelled(eleven)
	deleting.Metadata.DeletionTimestamp = "2026-11-20T08:00:00Z"
	key := object.Key{Kind: "ConfigMap", Namespace: "web", Name: "object-3"}
	for _, tc := range []struct {
		name string
		req  change
		want Reason
		harm []string // parts of the error
	}{
		{"deleted", change{Old: labelled(eleven)}, Deleted,
			[]string{"configmap web/object-3 is owned by bundle eleven", "missing", "eleven will be at most 10/11"}},
		{"the hash removed", change{Old: labelled(eleven), New: with(func(m *ownership.Metadata) { m.Hash = "" })},
			Stripped,
			[]string{"removes label objectset.rio.cattle.io/hash: Fleet will report", "eleven will be at most 10/11"}},
		{"all removed", change{Old: labelled(eleven), New: labelled(ownership.Metadata{})}, Stripped,
			[]string{"annotation meta.helm.sh/release-name", "10/11"}},
		{"the hash changed", change{Old: labelled(eleven), New: with(func(m *ownership.Metadata) { m.Hash = "x" })},
			Changed,
			[]string{"changes label objectset.rio.cattle.io/hash:", "eleven will be at most 10/11"}},
		{"a Helm annotation changed", change{Old: labelled(eleven),
			New: with(func(m *ownership.Metadata) { m.ReleaseName = "x" })}, Changed,
			[]string{"annotation meta.helm.sh/release-name", "Helm may not recognize it"}},
		{"the id removed", change{Old: labelled(eleven), New: with(func(m *ownership.Metadata) { m.SetID = "" })},
			Stripped,
			[]string{"removes annotation objectset.rio.cattle.io/id: Fleet still counts the object"}},
		{"removed and changed", change{Old: labelled(eleven),
			New: with(func(m *ownership.Metadata) { m.Hash, m.SetID = "", "x" })}, Stripped,
			[]string{"removes label objectset.rio.cattle.io/hash and changes annotation objectset.rio.cattle.io/id"}},
		{"a wrong id corrected", change{Old: with(func(m *ownership.Metadata) { m.SetID = "x" }),
			New: labelled(eleven)}, Harmless, nil},
		{"a wrong id changed", change{Old: with(func(m *ownership.Metadata) { m.SetID = "x" }),
			New: with(func(m *ownership.Metadata) { m.SetID = "y" })}, Harmless, nil},
		{"another label changed", change{Old: labelled(eleven), New: labelled(eleven, "app", "web")}, Harmless, nil},

		{"not owned", change{Old: with(func(m *ownership.Metadata) { m.Hash = "" })}, NotOwned, nil},
		{"a copied hash", change{Key: object.Key{Kind: "Secret", Namespace: "web", Name: "object-3"},
			Old: labelled(eleven)}, NotOwned, nil},
		{"owned by another bundle that desires it", change{Key: object.Key{Kind: "ConfigMap", Namespace: "web",
			Name: "object-0"}, Old: labelled(ownership.Desired("default-other", "other", "web"))},
			Deleted, []string{"bundle other", "other will be at most 0/1"}},

		{"by the agent", change{User: agent, Old: labelled(eleven)}, Fleet, nil},
		{"by fleet-default", change{User: "system:serviceaccount:cattle-fleet-system:fleet-default",
			Old: labelled(eleven)}, Fleet, nil},
		{"by the release's account", change{User: "system:serviceaccount:cattle-fleet-system:deployer",
			Old: labelled(eleven)}, Fleet, nil},
		{"by an account of this name in another namespace",
			change{User: "system:serviceaccount:web:deployer", Old: labelled(eleven)}, Deleted, []string{"10/11"}},
		{"by another account in the agent's namespace", change{User: "system:serviceaccount:cattle-fleet-system:other",
			Old: labelled(eleven)}, Deleted, []string{"10/11"}},
		{"by an account without a name", change{User: "system:serviceaccount:cattle-fleet-system:",
			Key: object.Key{Kind: "ConfigMap", Namespace: "web", Name: "object-0"},
			Old: labelled(ownership.Desired("default-other", "other", "web"))}, Deleted, []string{"0/1"}},
		{"by the account of the pending revision", change{Key: object.Key{Kind: "ConfigMap", Namespace: "web",
			Name: "object-9"},
			User: "system:serviceaccount:agents:upgrader", Old: labelled(eleven)}, Fleet, nil},
		{"a Pod, by the scheduler", change{Key: object.Key{Kind: "Pod", Namespace: "web", Name: "p"},
			User: "system:kube-scheduler", Old: labelled(eleven)}, System, nil},
		{"a Pod, by a controller", change{Key: object.Key{Kind: "Pod", Namespace: "web", Name: "p"},
			User: "system:serviceaccount:kube-system:pod-garbage-collector", Old: labelled(eleven)}, System, nil},
		{"a Pod, by a user", change{Key: object.Key{Kind: "Pod", Namespace: "web", Name: "p"}, Old: labelled(eleven)},
			Deleted, []string{"pod web/p"}},
		{"not a Pod, by the scheduler", change{User: "system:kube-scheduler", Old: labelled(eleven)}, Deleted,
			[]string{"10/11"}},
		{"an object of the agent", change{Key: object.Key{Kind: "ConfigMap", Namespace: "web", Name: "of-agent"},
			Old: labelled(ownership.Desired("fleet-agent-bootstrap", "fleet-agent-local", "web"))},
			NotOwned, nil},
		{"by garbage collection", change{User: "system:serviceaccount:kube-system:generic-garbage-collector",
			Old: labelled(eleven)}, System, nil},
		{"by namespace deletion", change{User: "system:serviceaccount:kube-system:namespace-controller",
			Old: labelled(eleven)}, System, nil},
		{"by the controller manager", change{User: "system:kube-controller-manager", Old: labelled(eleven)}, System,
			nil},
		{"by an undo", change{Manager: "fleetdoctor-adopt", Old: labelled(eleven), New: labelled(ownership.Metadata{})},
			Ignored, nil},

		{"being deleted", change{Old: deleting}, Deleting, nil},
		{"ignored", change{Old: labelled(eleven, "fleetdoctor.io/ignore", "true")}, Ignored, nil},
		{"ignored by a label of the same request", change{Old: labelled(eleven),
			New: labelled(ownership.Metadata{}, "fleetdoctor.io/ignore", "true")}, Stripped, []string{"10/11"}},
		{"the label ignore added", change{Old: labelled(eleven),
			New: labelled(eleven, "fleetdoctor.io/ignore", "true")}, Harmless, nil},
		{"ignored by its namespace", change{Ignored: true, Old: labelled(eleven)}, Ignored, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.req.Key == (object.Key{}) {
				tc.req.Key = key
			}
			if tc.req.User == "" {
				tc.req.User = alice
			}
			got := validateIn(validatingIndex(t), tc.req)
			if got.reason != tc.want || (got.harm != nil) != (tc.harm != nil) {
				t.Errorf("%s: %v, want %s", got.reason, got.harm, tc.want)
			}
			for _, s := range tc.harm {
				if !strings.Contains(got.harm.Error(), s) {
					t.Errorf("the error does not contain %q: %v", s, got.harm)
				}
			}
		})
	}
}

// TestHarm checks that the error of a denial contains the owner from package ownership, and the ownership metadata that
// the owner loses.
func TestHarm(t *testing.T) {
	after := eleven
	after.Hash, after.ReleaseName = "", "x"
	key := object.Key{Kind: "ConfigMap", Namespace: "web", Name: "object-3"}
	d := &DenialError{validateIn(validatingIndex(t),
		change{Key: key, User: alice, Old: labelled(eleven), New: labelled(after)}).harm}
	if len(d.Conflicts) != 1 || d.Object != key || d.Have != eleven {
		t.Fatalf("got the refusal %+v", d.RefusalError)
	}
	if o := d.Conflicts[0]; o.Situation != ownership.KnownHash || len(o.Bundles) == 0 ||
		o.Bundles[0].Release != "web/eleven" || d.Conflicts[0].AllowedBy != "" {
		t.Errorf("got the owner %+v", o)
	}
	var lost []string
	for _, c := range d.Lost {
		lost = append(lost, c.Name)
	}
	if diff := cmp.Diff([]string{"objectset.rio.cattle.io/hash", "meta.helm.sh/release-name"}, lost); diff != "" {
		t.Errorf("lost keys (-want +got):\n%s", diff)
	}
}

// TestForgedOwner checks that a record that states the same set for another agent does not change which users are
// Fleet.
func TestForgedOwner(t *testing.T) {
	r := validatingIndex(t)
	forged := record.Record{Bundle: "eleven", Namespace: "evil", AgentNamespace: "evil",
		Objects: record.ConfigMaps("web", 11)}
	e, err := desired.ReadRevision(forged.Value())
	if err != nil {
		t.Fatal(err)
	}
	r.Set(e)
	req := change{Key: object.Key{Kind: "ConfigMap", Namespace: "web", Name: "object-3"}, Old: labelled(eleven)}
	for user, want := range map[string]Reason{"system:serviceaccount:evil:fleet-agent": Deleted, agent: Fleet} {
		req.User = user
		if v := validateIn(r, req); v.reason != want || v.owner().Namespace != "web" {
			t.Errorf("%s: %s, of release %s", user, v.reason, v.owner().Name)
		}
	}
	// Without Helm annotations the owner is not known: then only an agent of all releases is Fleet.
	bare := eleven
	bare.ReleaseName, bare.ReleaseNamespace = "", ""
	req.Old, req.User = labelled(bare), "system:serviceaccount:evil:fleet-agent"
	if v := validateIn(r, req); v.reason != Deleted {
		t.Errorf("without Helm annotations: %s", v.reason)
	}
}

// TestDoubt checks that the owner is in doubt if only the set connects an object with a release, so that no request of
// Fleet is denied.
func TestDoubt(t *testing.T) {
	bare, other := eleven, eleven
	bare.ReleaseName, bare.ReleaseNamespace = "", ""
	other.ReleaseName = "other" // no record of this release desires the object
	forged := record.Record{Bundle: "eleven", Namespace: "a-tenant", AgentNamespace: "a-tenant",
		Objects: record.ConfigMaps("web", 11)}
	e, err := desired.ReadRevision(forged.Value())
	if err != nil {
		t.Fatal(err)
	}
	both, alone := validatingIndex(t), index.New()
	both.Set(e)
	alone.Set(e)
	for _, tc := range []struct {
		name  string
		r     *index.Index
		old   ownership.Metadata
		user  string
		doubt string
	}{
		{"the owner's record is missing", alone, eleven, deployer, "release web/eleven"},
		{"another release is named", both, other, alice, "release web/other"},
		{"no release is named, by Fleet", both, bare, deployer, "several releases"},
		{"no release is named, by the tenant's agent", both, bare, "system:serviceaccount:a-tenant:fleet-agent",
			"several releases"},
		{"no release is named, by a user", both, bare, alice, ""},
		{"only the tenant's record states the set, by a user", alone, bare, alice,
			"only release records of other namespaces"},
		{"the owner is named", both, eleven, alice, ""},
		{"the owner is named, by the tenant's agent", both, eleven, "system:serviceaccount:a-tenant:fleet-agent", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := change{Key: object.Key{Kind: "ConfigMap", Namespace: "web", Name: "object-3"}, User: tc.user,
				Old: labelled(tc.old)}
			v := validateIn(tc.r, req)
			if v.reason != Deleted || (v.doubt == "") != (tc.doubt == "") || !strings.Contains(v.doubt, tc.doubt) {
				t.Errorf("%s, doubt %q; want %s, %q", v.reason, v.doubt, Deleted, tc.doubt)
			}
		})
	}
}

// TestPartial checks that records that could not be read put the owner in doubt only if the request may be Fleet's,
// which uses only service accounts. A tenant can have such a record.
func TestPartial(t *testing.T) {
	bare := eleven
	bare.ReleaseName, bare.ReleaseNamespace = "", ""
	for user, doubt := range map[string]bool{alice: false, deployer: true,
		"system:serviceaccount:elsewhere:deployer": true} {
		req := change{Key: object.Key{Kind: "ConfigMap", Namespace: "web", Name: "object-10"}, User: user,
			Old: labelled(bare), Partial: true}
		r := index.New()
		e, err := desired.ReadRevision(record.Record{Bundle: "eleven", AgentNamespace: "a-tenant",
			Objects: record.ConfigMaps("web", 11)}.Value())
		if err != nil {
			t.Fatal(err)
		}
		r.Set(e)
		v := validateIn(r, req)
		if v.reason != Deleted || strings.Contains(v.harm.Error(), "at most") {
			t.Errorf("%s: %s, %v", user, v.reason, v.harm)
		}
		if (v.doubt != "") != doubt || v.mayBeFleet != doubt {
			t.Errorf("%s: doubt %q, may be Fleet: %t", user, v.doubt, v.mayBeFleet)
		}
	}
}

// TestSeveralOwners has records of several releases that state the set of an object, which names none of them. The
// result contains only what is common to all of them.
func TestSeveralOwners(t *testing.T) {
	bare := eleven
	bare.ReleaseName, bare.ReleaseNamespace = "", ""
	r := validatingIndex(t)
	for i, named := range []string{"bundle eleven:", "bundle eleven or b-1:", "bundle eleven or b-1 or b-2:",
		"bundle eleven or b-1 or b-2 or another:", "bundle eleven or b-1 or b-2 or another:"} {
		bundle := fmt.Sprint("b-", i)
		if i == 0 {
			bundle = "eleven"
		}
		e, err := desired.ReadRevision(record.Record{Bundle: bundle, SetID: eleven.SetID,
			Namespace: fmt.Sprint("a-tenant-", i), Objects: record.ConfigMaps("web", 11)}.Value())
		if err != nil {
			t.Fatal(err)
		}
		r.Set(e)
		req := change{Key: object.Key{Kind: "ConfigMap", Namespace: "web", Name: "object-9"}, User: alice,
			Old: labelled(bare)}
		v := validateIn(r, req)
		if !strings.Contains(v.harm.Error(), named) || strings.Contains(v.harm.Error(), "at most") || v.doubt != "" {
			t.Errorf("got %v, doubt %q; want %q", v.harm, v.doubt, named)
		}
		if v.owner().Namespace != "" || (v.owner().Bundle == "eleven") != (i == 0) || len(v.releases) < i+2 {
			t.Errorf("owner %+v, releases %v", v.owner(), v.releases)
		}
	}
}

func TestGuardMode(t *testing.T) {
	for _, tc := range []struct {
		labels map[string]string
		want   GuardMode
		warned bool
	}{
		{nil, GuardWarn, false},
		{map[string]string{GuardLabel: "deny"}, GuardDeny, false},
		{map[string]string{GuardLabel: "off"}, GuardOff, false},
		{map[string]string{GuardLabel: "denny"}, GuardWarn, true},
		{map[string]string{GuardLabel: ""}, GuardWarn, true},
	} {
		mode, note := GuardModeOf(tc.labels, GuardWarn)
		if mode != tc.want || (len(note) == 1 && note[0].Code == WarnInvalidGuardMode) != tc.warned {
			t.Errorf("%v: mode %s, want %s; warnings %v", tc.labels, mode, tc.want, note)
		}
	}
}
