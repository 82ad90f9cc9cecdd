// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

// TestOwner holds what is said of objects of every kind of owner, in the cases of the audit.
func TestOwner(t *testing.T) {
	for _, tc := range []struct {
		of      string // the case
		object  audit.Named
		verdict string
		holder  string   // the bundle deployment, "" for none
		wanted  string   // bundle deployments, with reasons
		means   []string // what each mark means, by a part, in their order
	}{
		{"unowned-reasons", audit.Named{Kind: "cm", Name: "owned"}, "Fleet counts it as an object of bundle deployment cluster-one/guestbook, which wants it", "cluster-one/guestbook",
			"cluster-one/guestbook", []string{"applied by Helm", `of set "default-guestbook": bundle deployment cluster-one/guestbook; it is that of the id beside it`,
				"Helm release web/guestbook: bundle deployment cluster-one/guestbook", "namespace of that release", "set of bundle deployment cluster-one/guestbook"}},
		{"unowned-reasons", audit.Named{Kind: "configmap", Name: "unmarked"}, "nobody's, though cluster-one/guestbook wants it", "", "cluster-one/guestbook Unmarked", nil},
		{"unowned-reasons", audit.Named{Kind: "configmap", Name: "of-bundle"}, "it carries the hash of bundle deployment cluster-one/other, which does not want it", "cluster-one/other",
			"cluster-one/guestbook ForeignOwner", []string{"applied by Helm", `of set "default-other"`, "Helm release web/other", "namespace", "set of bundle deployment cluster-one/other"}},
		{"unowned-reasons", audit.Named{Kind: "configmap", Name: "of-nobody"}, "it carries the hash of a set that no release on this cluster has", "",
			"cluster-one/guestbook ForeignOwner", []string{"applied by Helm", "of a set that is not known here; it is that of the id beside it",
				"Helm release web/gone, of which there is no record here", "namespace", "set that no release here has"}},
		{"unowned-reasons", audit.Named{Kind: "configmap", Name: "inconsistent"}, "no release on this cluster has", "", "cluster-one/guestbook Inconsistent",
			[]string{"applied by Helm", "it is not that of the id beside it", "Helm release web/guestbook", "namespace", "set of bundle deployment cluster-one/guestbook"}},
		{"unowned-reasons", audit.Named{Kind: "configmap", Name: "hash-alone"}, "Fleet counts it as", "cluster-one/guestbook", "cluster-one/guestbook", []string{"of set"}},
		{"unowned-reasons", audit.Named{Kind: "secret", Namespace: "cattle-fleet-system", Name: "fleet-agent"}, "none of Fleet's, and no bundle that is installed on this cluster desires it", "", "", nil},
		{"abandoned-records-incomplete", audit.Named{Kind: "cm", Name: "other"}, "not every release record could be read", "", "", []string{"applied by Helm", "not known here",
			"of which there is no record here, as far as records could be read", "namespace", "set that no release here has, as far as records could be read"}},
	} {
		c := readCase(t, casesDir+"/"+tc.of+".yaml")
		got, err := audit.Owner(t.Context(), c.open(t), audit.Options{Version: "test"}, []audit.Named{tc.object})
		if err != nil || len(got.Objects) != 1 {
			t.Errorf("%s of %s: %+v, error %v", tc.object, tc.of, got, err)
			continue
		}
		o := got.Objects[0]
		holder, wanted := "", ""
		if o.Holder != nil {
			holder = o.Holder.BundleDeployment
		}
		for _, c := range o.DesiredBy {
			wanted = strings.TrimSpace(wanted + " " + c.BundleDeployment + " " + c.Reason)
		}
		if !strings.Contains(o.Verdict, tc.verdict) || holder != tc.holder || wanted != tc.wanted {
			t.Errorf("%s of %s: verdict %q, holder %q, wanted by %q", tc.object, tc.of, o.Verdict, holder, wanted)
		}
		if len(o.Marks) != len(tc.means) {
			t.Errorf("%s of %s: marks %+v", tc.object, tc.of, o.Marks)
			continue
		}
		for i, m := range o.Marks {
			if !strings.Contains(m.Means, tc.means[i]) || m.Value == "" || m.Key == "" {
				t.Errorf("%s of %s: %+v, want %q", tc.object, tc.of, m, tc.means[i])
			}
		}
	}
}

// TestOwnerFinds holds what a name stands for, and what is said where it stands for nothing.
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
	got, err := audit.Owner(t.Context(), sick, audit.Options{}, []audit.Named{{Kind: "svc", Name: "edge"}, {Kind: "deployments.apps", Namespace: "guestbook", Name: "frontend"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"service ingress/edge", "deployment.apps guestbook/frontend"}, keys(got)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	for name, says := range map[audit.Named]string{
		{Kind: "frobnicator", Name: "x"}:                    `there is no kind "frobnicator" here`,
		{Kind: "svc", Name: "nowhere"}:                      "finding svc/nowhere: there is none",
		{Kind: "svc", Namespace: "guestbook", Name: "edge"}: "finding svc/guestbook/edge: there is none",
	} {
		if _, err := audit.Owner(t.Context(), sick, audit.Options{}, []audit.Named{name}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What may not be read is not called absent.
	f := faulty{Source: sick, lists: map[string]source.Coverage{"Service": forbidden}}
	if _, err := audit.Owner(t.Context(), f, audit.Options{}, []audit.Named{{Kind: "svc", Name: "nowhere"}}); err == nil || !strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("forbidden: %v", err)
	}
}

// TestOwnerWithoutFleet holds that an object is somebody's where there is no Fleet, too.
func TestOwnerWithoutFleet(t *testing.T) {
	const captured = `{"apiVersion":"v1","kind":"ConfigMapList","metadata":{},"items":[{"metadata":{"name":"a","namespace":"b","annotations":{"meta.helm.sh/release-name":"r","meta.helm.sh/release-namespace":"b"}}}]}`
	s, err := snapshot.Open(t.Context(), []string{"-"}, strings.NewReader(captured))
	if err != nil {
		t.Fatal(err)
	}
	got, err := audit.Owner(t.Context(), s, audit.Options{}, []audit.Named{{Kind: "cm", Name: "a"}})
	if err != nil || len(got.Objects) != 1 || !strings.Contains(got.Objects[0].Verdict, "Helm release b/r") {
		t.Errorf("%+v, error %v", got, err)
	}
}
