// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// TestOwner checks the reported owner of objects in the cases of the audit, for every kind of owner.
func TestOwner(t *testing.T) {
	for _, tc := range []struct {
		of      string // the case
		object  source.Named
		result  report.OwnerResult
		owner   string   // the bundle deployment; "" without an owner
		desired string   // bundle deployments, with reasons
		means   []string // a part of the explanation of each label and annotation, in order
	}{
		{"unowned-reasons", source.Named{Kind: "cm", Name: "owned"}, report.OwnerOwned, "cluster-one/guestbook",
			"cluster-one/guestbook", []string{"applied by Helm",
				`of set "default-guestbook": bundle deployment cluster-one/guestbook; the id matches it`,
				"Helm release web/guestbook: bundle deployment cluster-one/guestbook", "namespace of that release",
				"set of bundle deployment cluster-one/guestbook"}},
		{"unowned-reasons", source.Named{Kind: "configmap", Name: "unmarked"}, report.OwnerNotOwned, "",
			"cluster-one/guestbook Unmarked", nil},
		{"unowned-reasons", source.Named{Kind: "configmap", Name: "of-bundle"}, report.OwnerNotDesired,
			"cluster-one/other",
			"cluster-one/guestbook ForeignOwner", []string{"applied by Helm", `of set "default-other"`,
				"Helm release web/other", "namespace", "set of bundle deployment cluster-one/other"}},
		{"unowned-reasons", source.Named{Kind: "configmap", Name: "of-unknown"}, report.OwnerLostSet, "",
			"cluster-one/guestbook ForeignOwner", []string{"applied by Helm",
				"of a set that is not known here; the id matches it",
				"Helm release web/gone, which has no record here", "namespace", "set that no release here has"}},
		{"unowned-reasons", source.Named{Kind: "configmap", Name: "inconsistent"}, report.OwnerLostSet, "",
			"cluster-one/guestbook Inconsistent",
			[]string{"applied by Helm", "the id does not match it", "Helm release web/guestbook", "namespace",
				"set of bundle deployment cluster-one/guestbook"}},
		{"unowned-reasons", source.Named{Kind: "configmap", Name: "hash-alone"}, report.OwnerOwned,
			"cluster-one/guestbook", "cluster-one/guestbook", []string{"of set"}},
		{"unowned-reasons", source.Named{Kind: "secret", Namespace: "cattle-fleet-system", Name: "fleet-agent"},
			report.OwnerNone, "", "", nil},
		{"abandoned-records-incomplete", source.Named{Kind: "cm", Name: "other"}, report.OwnerUnknownSet, "", "",
			[]string{"applied by Helm", "not known here",
				"which has no record here, as far as records could be read", "namespace",
				"set that no release here has, as far as records could be read"}},
		{"scope-declared-correctly", source.Named{Kind: "cm", Name: "theme"}, report.OwnerOwned,
			"cluster-one/guestbook", "cluster-one/guestbook",
			[]string{"applied by Helm", `of set "default-guestbook-cattle-fleet-local-system"`,
				"Helm release web/guestbook", "namespace", "set of bundle deployment"}},
		{"hooks", source.Named{Kind: "job", Name: "migrate-2"}, report.OwnerNotDesired, "cluster-one/guestbook", "",
			[]string{"of set", "set of bundle deployment cluster-one/guestbook"}},
	} {
		c := readCase(t, casesDir+"/"+tc.of+".yaml")
		got, err := query.Owners(t.Context(), c.open(t), audit.Options{Version: "test"}, []source.Named{tc.object})
		if err != nil || len(got.Objects) != 1 {
			t.Errorf("%s of %s: %+v, error %v", tc.object, tc.of, got, err)
			continue
		}
		o := got.Objects[0]
		owner, desired := "", ""
		if o.Owner != nil {
			owner = o.Owner.BundleDeployment
		}
		for _, c := range o.DesiredBy {
			desired = strings.TrimSpace(desired + " " + c.BundleDeployment + " " + c.Reason)
		}
		if tc.of == "hooks" && !strings.HasPrefix(o.Verdict, "it is a hook in the release of ") {
			t.Errorf("%s: %s", tc.object, o.Verdict)
		}
		if o.Result != tc.result || o.Verdict == "" || owner != tc.owner || desired != tc.desired {
			t.Errorf("%s of %s: %s (%q), owner %q, desired by %q", tc.object, tc.of, o.Result, o.Verdict, owner,
				desired)
		}
		if len(o.Metadata) != len(tc.means) {
			t.Errorf("%s of %s: ownership metadata %+v", tc.object, tc.of, o.Metadata)
			continue
		}
		for i, m := range o.Metadata {
			if !strings.Contains(m.Means, tc.means[i]) || m.Value == "" || m.Key == "" {
				t.Errorf("%s of %s: %+v, want %q", tc.object, tc.of, m, tc.means[i])
			}
		}
	}
}

// TestOwnerAnswers checks the answer for every situation, and the command of the next step.
func TestOwnerAnswers(t *testing.T) {
	const (
		auditAll = "kubectl fleetdoctor audit"
		audit1   = auditAll + " bundledeployment/cluster-one/"
		adopt    = "kubectl fleetdoctor adopt bundledeployment/"
	)
	for _, tc := range []struct{ of, answer, next string }{
		{"unowned-reasons configmap/web/owned",
			"bundle guestbook owns it (release web/guestbook, revision 1)", ""},
		{"contested configmap/web/shared",
			"bundle second owns it (release web/second, revision 2), and it is desired by bundle deployment " +
				"cluster-one/first too", audit1 + "second"},
		{"cluster-fleet-0.10 configmap/web/stripped",
			"no bundle owns it; guestbook desires it", adopt + "cluster-one/guestbook"},
		{"records-unconfirmed configmap/shop/bare",
			"no bundle owns it; shop desires it", adopt + "shop"},
		{"release-same-name configmap/blue/theme",
			"blue desires it, and does not own it: it is owned by Helm release green/shop", audit1 + "blue"},
		{"unowned-reasons configmap/web/of-bundle",
			"guestbook desires it, and does not own it: it is owned by bundle deployment cluster-one/other",
			audit1 + "guestbook"},
		{"unowned-reasons configmap/web/of-unknown",
			"guestbook desires it, and does not own it: it has ownership metadata of Helm release web/gone: it " +
				"is not known whether that owner exists, because not every release record could be read",
			audit1 + "guestbook"},
		{"scope-disagrees configmap/web/theme",
			"no bundle owns it; guestbook desires it", adopt + "cluster-one/guestbook"},
		{"scope-declared-wrongly-adopted configmap/web/smtp",
			"no bundle owns it; guestbook desires it, and adopt does not take it: cluster fleet-local/local " +
				"declares scope \"cattle-fleet-local-system\" for its agent, but the releases of the agent were " +
				"made with no scope, and no running agent shows which is right; --agent-scope=VALUE sets the scope " +
				"of the agent, '' sets none", audit1 + "guestbook"},
		{"orphan-perhaps-desired configmap/web/dropped",
			"it has the hash of bundle deployment cluster-one/guestbook, which does not desire it",
			audit1 + "guestbook"},
		{"record-pruned configmap/web/theme",
			"it has the hash of bundle deployment cluster-one/guestbook, and it is not known whether that " +
				"desires it: revision 3 of release web/guestbook is no longer recorded", auditAll},
		{"records-unconfirmed configmap/shop/abandoned",
			"it has the hash of bundle deployment forged, and nothing confirms its release record", auditAll},
		{"records-unconfirmed configmap/kube-system/victim",
			"no bundle owns it, and no bundle that is installed on this cluster desires it; nothing confirms " +
				"the release record of forged, which has it", auditAll},
		{"hooks job/web/migrate-1",
			"it is a hook in the release of bundle guestbook: Helm creates it for a deploy, and Fleet does not " +
				"count it", ""},
		{"abandoned configmap/kube-system/of-k3s",
			"no bundle owns it: it has ownership metadata of set \"addons\", which is not the set of a bundle: " +
				"Fleet itself or another program applies it", ""},
		{"abandoned configmap/tools/settings",
			"no bundle owns it: it has the hash of a set that no release on this cluster has", auditAll},
		{"abandoned-records-incomplete configmap/shop/other",
			"it has the hash of a set that is not known here, and not every release record could be read", auditAll},
		{"install-refused configmap/web/theme",
			"no bundle owns it: Helm release tools/chart owns it", ""},
		{"desired-never-deployed configmap/web/marked",
			"no bundle owns it; its annotations name Helm release web/guestbook: it is not known whether that " +
				"exists, because not every release record could be read", ""},
		{"record-unknown-damaged secret/shop/sh.helm.release.v1.shop.v1",
			"it is not known whether a bundle desires it: release record shop/sh.helm.release.v1.shop.v1 could " +
				"not be read", auditAll},
		{"sick-management secret/cluster-local/mail",
			"no bundle owns it, and no bundle that is installed on this cluster desires it; BundleDeployment " +
				"mail controls it", "kubectl fleetdoctor owner bundledeployment/mail -n cluster-local"},
		{"abandoned secret/cattle-fleet-system/fleet-agent",
			"no bundle owns it, and no bundle that is installed on this cluster desires it", ""},
	} {
		name, object, _ := strings.Cut(tc.of, " ")
		parts := strings.Split(object, "/")
		src := readCase(t, casesDir+"/"+name+".yaml").open(t)
		got, err := query.Owners(t.Context(), src, audit.Options{Commands: cases.Commands},
			[]source.Named{{Kind: parts[0], Namespace: parts[1], Name: parts[2]}})
		if err != nil {
			t.Errorf("%s: %v", tc.of, err)
			continue
		}
		step := ""
		if next := got.Objects[0].Next; next != nil {
			step = next.Command
			if !strings.HasPrefix(next.Command, "kubectl fleetdoctor "+next.Verb) {
				t.Errorf("%s: the verb of %s is %s", tc.of, next.Command, next.Verb)
			}
		}
		if answer := got.Objects[0].Verdict; answer != tc.answer || step != tc.next {
			t.Errorf("%s:\n%s → %s\nwant:\n%s → %s", tc.of, answer, step, tc.answer, tc.next)
		}
	}
}

// TestOwnerFinds checks which object a name selects, and the error if no object has the name.
func TestOwnerFinds(t *testing.T) {
	sick, err := snapshot.Open(t.Context(), []string{"../../test/testdata/sick"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	keys := func(o *report.Ownership) []string {
		var out []string
		for _, x := range o.Objects {
			out = append(out, x.Key().String())
		}
		return out
	}
	got, err := query.Owners(t.Context(), sick, audit.Options{}, []source.Named{{Kind: "svc", Name: "edge"},
		{Kind: "deployments.apps", Namespace: "guestbook", Name: "frontend"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"service ingress/edge", "deployment guestbook/frontend"}, keys(got)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	// A Bundle is an object of Fleet that no bundle owns.
	got, err = query.Owners(t.Context(), sick, audit.Options{},
		[]source.Named{{Kind: "bundle", Name: "guestbook-guestbook"}})
	if want := "no bundle owns it, and no bundle that is installed on this cluster desires it"; err != nil ||
		len(got.Objects) != 1 || got.Objects[0].Verdict != want {
		t.Errorf("got %+v, error %v, want %q", got, err, want)
	}
	for name, want := range map[source.Named]string{
		{Kind: "frobnicator", Name: "x"}: `the snapshot has no objects of kind "frobnicator", and no definition of it`,
		{Kind: "svc", Name: "nowhere"}:   "svc/nowhere not found",
		{Kind: "cm", Namespace: "guestbook", Name: "theme"}: "cm/guestbook/theme not found, but bundle deployment " +
			"cluster-fleet-local-local-1a3d67d0a899/guestbook-guestbook desires it",
		{Kind: "svc", Namespace: "guestbook", Name: "edge"}: "svc/guestbook/edge not found",
	} {
		if _, err := query.Owners(t.Context(), sick, audit.Options{}, []source.Named{name}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Without the permission to read, the error is Forbidden, not "not found".
	f := faulty{Source: sick, lists: map[string]source.Coverage{"Service": forbidden}}
	if _, err := query.Owners(t.Context(), f, audit.Options{},
		[]source.Named{{Kind: "svc", Name: "nowhere"}}); err == nil || !strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("forbidden: %v", err)
	}
}

// TestOwnerWithoutFleet checks that the Helm release of an object is reported if Fleet is not installed. Without
// records, the owner is unknown.
func TestOwnerWithoutFleet(t *testing.T) {
	const captured = `{"apiVersion":"v1","kind":"ConfigMapList","metadata":{},` +
		`"items":[{"metadata":{"name":"a","namespace":"b",` +
		`"annotations":{"meta.helm.sh/release-name":"r","meta.helm.sh/release-namespace":"b"}}}]}`
	s, err := snapshot.Open(t.Context(), []string{"-"}, strings.NewReader(captured))
	if err != nil {
		t.Fatal(err)
	}
	got, err := query.Owners(t.Context(), s, audit.Options{}, []source.Named{{Kind: "cm", Name: "a"}})
	if err != nil || len(got.Objects) != 1 || got.Objects[0].Result != report.OwnerUnknown ||
		!strings.Contains(got.Objects[0].Verdict, "Helm release b/r") {
		t.Errorf("%+v, error %v", got, err)
	}
}
