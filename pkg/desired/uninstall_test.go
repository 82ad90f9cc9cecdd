// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// add adds an object to the manifest of a record. more are further fields of its JSON.
func add(r *state.Record, apiVersion, kind, name, annotations, more string) {
	raw := fmt.Appendf(nil, `{"metadata":{"name":%q,"annotations":{%s}}%s}`, name, annotations, more)
	r.Objects = append(r.Objects, release.Object{Ref: object.Ref{APIVersion: apiVersion, Kind: kind, Name: name},
		Raw: raw})
}

// TestLosses checks what the uninstall of one release deletes and keeps (docs/fleet-behavior.md, 1.11).
func TestLosses(t *testing.T) {
	const keep, hook = `"helm.sh/resource-policy":"keep"`, `"helm.sh/hook":"pre-install"`
	w := &builder{}
	w.c.Kinds = &source.Kinds{}
	c := &directory.Cluster{State: &w.c}
	rec := &state.Record{}
	rec.Namespace = "web"
	add(rec, "v1", "ConfigMap", "deleted", "", "")
	add(rec, "v1", "ConfigMap", "kept", keep, "")
	add(rec, "v1", "ConfigMap", "unknown-policy", `"helm.sh/resource-policy":"delete"`, "")
	add(rec, "v1", "ConfigMap", "hook", hook, "")
	add(rec, "v1", "ConfigMap", "twice", "", "")
	add(rec, "v1", "ConfigMap", "twice", keep, "")
	add(rec, "v1", "Namespace", "data", "", "")
	add(rec, "apiextensions.k8s.io/v1", CRDKind, "databases.example.com", "",
		`,"spec":{"group":"example.com","names":{"kind":"Database"}}`)
	add(rec, "apiextensions.k8s.io/v1", CRDKind, "kept.example.com", keep,
		`,"spec":{"group":"example.com","names":{"kind":"Kept"}}`)
	add(rec, "apps/v1", "StatefulSet", "db", "",
		`,"spec":{"volumeClaimTemplates":[{"metadata":{"name":"data"}},{"metadata":{"name":"log"}}]}`)
	add(rec, "apps/v1", "StatefulSet", "cache", "",
		`,"spec":{"volumeClaimTemplates":[{"metadata":{"name":"data"}}],`+
			`"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"}}`)
	add(rec, "apps/v1", "StatefulSet", "without", "", `,"spec":{}`)

	got := losses(c, rec)
	var deletes, kept, kinds []string
	for _, ref := range got.Deletes {
		deletes = append(deletes, ref.Key().String())
	}
	for _, k := range got.Kept {
		kept = append(kept, string(k.Reason)+" "+k.Key().String())
	}
	for name, gk := range got.CustomKinds {
		kinds = append(kinds, name+" "+gk.String())
	}
	want := []string{"configmap web/deleted", "configmap web/twice", "namespace data",
		"customresourcedefinition databases.example.com",
		"statefulset web/db", "statefulset web/cache", "statefulset web/without"}
	if diff := cmp.Diff(want, deletes); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	want = []string{"ResourcePolicy configmap web/kept", "ResourcePolicy configmap web/unknown-policy",
		"Hook configmap web/hook",
		"ResourcePolicy customresourcedefinition kept.example.com"}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"databases.example.com Database.example.com"}, kinds); diff != "" {
		t.Errorf("custom kinds (-want +got):\n%s", diff)
	}
	sets := []StatefulSet{{"web", "db", []string{"data", "log"}, false}, {"web", "cache", []string{"data"}, true}}
	if diff := cmp.Diff(sets, got.StatefulSets); diff != "" {
		t.Errorf("StatefulSets (-want +got):\n%s", diff)
	}
}

// TestUninstalls checks which releases the agent removes with a BundleDeployment, and which of them it spares.
func TestUninstalls(t *testing.T) {
	const agent = "cattle-fleet-system"
	record := func(w *builder, name string) *state.Record {
		n, err := release.ParseName(name)
		if err != nil {
			t.Fatal(err)
		}
		return w.c.Records[n]
	}
	for _, tc := range []struct {
		name string
		tag  string
		make func(w *builder)
		// want are the releases: "release first spared problem recordsStay objects". unknown is the problem if there is
		// none.
		want    []string
		unknown directory.Problem
	}{
		{"one release", "v0.16.1", func(w *builder) { w.record("web/app:1", "deployed", "app", agent, "a", "b") },
			[]string{"web/app:1 true   false 2"}, ""},
		{"the newest revision decides", "v0.16.1", func(w *builder) {
			w.record("web/app:1", "deployed", "app", agent, "a", "b").record("web/app:2", "failed", "app", agent, "a")
		}, []string{"web/app:2 true   false 1"}, ""},
		{"two releases, by name", "v0.16.1", func(w *builder) {
			w.record("a/z:1", "deployed", "app", agent, "a").record("web/app:1", "deployed", "app", agent, "a").
				record("web/other:1", "deployed", "other", agent)
		}, []string{"web/app:1 true   false 1", "a/z:1 false   false 1"}, ""},
		{"of another agent", "v0.16.1", func(w *builder) {
			w.record("web/app:1", "deployed", "app", "elsewhere", "a")
		}, nil, ""},
		{"nothing is installed", "v0.16.1", func(*builder) {}, nil, ""},

		{"keepResources", "v0.16.1", func(w *builder) { w.keep("web/app:1", "app", agent) },
			[]string{"web/app:1 true KeepResources  false 0"}, ""},
		{"keepResources with another name", "v0.16.1", func(w *builder) { w.keep("web/custom:1", "app", agent) },
			[]string{"web/custom:1 true KeepResources  true 0"}, ""},
		{"uninstalled before", "v0.16.1", func(w *builder) { w.record("web/app:1", "uninstalled", "app", agent, "a") },
			[]string{"web/app:1 true Uninstalled  false 0"}, ""},
		{"pending, 0.15", "v0.15.0", func(w *builder) { w.record("web/app:1", "pending-upgrade", "app", agent, "a") },
			[]string{"web/app:1 true   false 1"}, ""},
		{"pending, 0.14", "v0.14.5", func(w *builder) { w.record("web/app:1", "pending-upgrade", "app", agent, "a") },
			[]string{"web/app:1 false NotListed  false 0"}, ""},
		{"pending, unknown version", "dev", func(w *builder) {
			w.record("web/app:1", "pending-upgrade", "app", agent,
				"a")
		}, []string{"web/app:1 true  VersionUnknown false 0"}, ""},
		{"a revision that is not Fleet's", "v0.16.1", func(w *builder) {
			w.record("web/app:1", "superseded", "app", agent, "a").record("web/app:2", "deployed", "", "", "a")
		}, []string{"web/app:1 false NotListed  false 0"}, ""},

		{"a damaged newest record", "v0.16.1", func(w *builder) {
			w.record("web/app:1", "deployed", "app", agent, "a").record("web/app:2", "deployed", "app", agent)
			record(w, "web/app:2").Damaged = "truncated"
		}, []string{"web/app:2 true  RecordUnreadable false 0"}, ""},
		{"a manifest that cannot be read", "v0.16.1", func(w *builder) {
			record(w.record("web/app:1", "deployed", "app", agent), "web/app:1").
				ManifestError = errors.New("document 1")
		}, []string{"web/app:1 true  RecordUnreadable false 0"}, ""},
		{"a manifest that was not read", "v0.16.1", func(w *builder) {
			record(w.record("web/app:1", "deployed", "app", agent), "web/app:1").Skipped = true
		}, []string{"web/app:1 true  RecordUnreadable false 0"}, ""},
		{"records that may not be read", "v0.16.1", func(w *builder) {
			w.recordsUnread = true
		}, nil, directory.RecordsForbidden},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := (&builder{tb: t}).agentOf(agent, "one", tc.tag).bd("one", "app", "")
			tc.make(w)
			w.build()
			if w.recordsUnread {
				w.c.Coverage.Records = source.NotCovered(source.Failure{Reason: source.Forbidden})
			}
			out := w.resolve()
			uninstalls := out.Uninstalls([]*state.Cluster{&w.c}, func(d *BundleDeployment) bool {
				return d.Name == "app"
			})
			d := out.Deployments[slices.IndexFunc(out.Deployments, func(d *BundleDeployment) bool {
				return d.BD != nil
			})]
			var got []string
			for _, x := range uninstalls[d.ID()] {
				got = append(got, fmt.Sprintf("%s %v %s %s %v %d", x.Record.String(), x.First, x.Spared, x.Problem,
					x.RecordsStay, len(x.Deletes)))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("releases (-want +got):\n%s", diff)
			}
			if problem, detail := out.UninstallUnknown(d); problem != tc.unknown || (problem != "") != (detail != "") {
				t.Errorf("unknown: %q, %q, want %q", problem, detail, tc.unknown)
			}
		})
	}
}

// TestAgentBundleIsSpared checks that the agent never uninstalls itself.
func TestAgentBundleIsSpared(t *testing.T) {
	const agent = "cattle-fleet-system"
	w := (&builder{tb: t}).agentOf(agent, "one", "v0.16.1").bd("one", "fleet-agent-c1", "web/fleet-agent-c1:1").
		record("web/fleet-agent-c1:1", "deployed", "fleet-agent-c1", agent, "a")
	w.build()
	out := w.resolve()
	uninstalls := out.Uninstalls([]*state.Cluster{&w.c}, func(*BundleDeployment) bool { return true })
	if x := uninstalls[out.Deployments[0].ID()]; len(x) != 1 || x[0].Spared != SparedAgent || len(x[0].Deletes) > 0 {
		t.Errorf("releases %+v", x)
	}
}
