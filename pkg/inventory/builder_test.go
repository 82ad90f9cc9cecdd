// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// TestNeeded holds of which records the manifest is parsed. One too few would make an empty bundle of a full one.
func TestNeeded(t *testing.T) {
	w := &world{tb: t}
	w.bd("one", "a", "web/a:3").bd("two", "a", "web/a:5").bd("one", "b", "").bd("one", "c", "damaged")
	needed := w.b.Needed()
	for name, want := range map[string]bool{
		"web/a:1":  true, // an earlier revision: its objects may be orphans
		"web/a:3":  true,
		"web/a:5":  true,
		"web/a:6":  false, // newer than what any status names
		"shop/a:1": true,  // nobody here names it: perhaps it is of an agent with another manager, and judged by itself
		"web/b:1":  true,
	} {
		n, err := release.ParseName(name)
		if err != nil {
			t.Fatal(err)
		}
		if needed(n) != want {
			t.Errorf("%s: needed %v, want %v", name, !want, want)
		}
	}
	downstream := (&Builder{}).Needed()
	if !downstream(release.Name{Namespace: "web", Name: "a", Revision: 9}) {
		t.Error("without BundleDeployments a record is not needed")
	}
}

func TestReadRecord(t *testing.T) {
	const manifest = `"manifest":"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theme}\n"`
	const fleets = `"chart":{"metadata":{"annotations":{"fleet.cattle.io/bundle-id":"a"}}},`
	head := `{"name":"a","namespace":"web","version":1,"info":{"status":"deployed"},`
	name := release.Name{Namespace: "web", Name: "a", Revision: 1}
	for _, tc := range []struct {
		what     string
		secret   release.Name
		doc      string
		manifest bool
		objects  int
		damaged  string
		kept     bool
	}{
		{"of Fleet", name, head + fleets + manifest + "}", true, 1, "", true},
		{"of Fleet, its manifest not wanted", name, strings.Replace(head, "deployed", "failed", 1) + fleets + manifest + "}", false, 0, "", true},
		{"of Fleet, newer than what any status names, and deployed", name, head + fleets + manifest + "}", false, 1, "", true},
		{"of somebody else", name, head + manifest + "}", true, 0, "", false},
		{"damaged", name, head, true, 0, "it is damaged", true},
		{"in the Secret of another revision", release.Name{Namespace: "web", Name: "a", Revision: 2}, head + fleets + manifest + "}", true, 0, "it is the record of release web/a:1", true},
		{"in a Secret of another namespace", release.Name{Namespace: "shop", Name: "a", Revision: 1}, head + fleets + manifest + "}", true, 0, "it is the record of release web/a:1", true},
	} {
		t.Run(tc.what, func(t *testing.T) {
			d := new(Work).ReadRecord(tc.secret, []byte(encode(tc.doc)), 0, tc.manifest)
			if len(d.r.objects) != tc.objects || !strings.Contains(d.r.Damaged, tc.damaged) || (tc.damaged == "") != (d.r.Damaged == "") {
				t.Errorf("%d objects, damaged %q", len(d.r.objects), d.r.Damaged)
			}
			if d.r.Manifest != "" {
				t.Error("the text of the manifest is kept in memory")
			}
			var b Builder
			b.AddRecord(d)
			if _, kept := b.records[tc.secret]; kept != tc.kept || !b.releases[tc.secret.Release()] {
				t.Errorf("kept %v, want %v; releases %v", kept, tc.kept, b.releases)
			}
		})
	}
}

func TestAddWorkload(t *testing.T) {
	const image = `"spec":{"template":{"spec":{"containers":[%s]}}}}`
	for _, tc := range []struct {
		name, containers string
		want             workload
	}{
		{"fleet-agent", `{"image":"rancher/fleet-agent:v0.16.1","env":[{"name":"NAMESPACE","valueFrom":{}},{"name":"AGENT_SCOPE","value":"x"}]}`,
			workload{kind: "Deployment", version: "v0.16.1", scope: "x", isAgent: true}},
		{"fleet-agent", `{"image":"registry.example.com:5000/rancher/fleet-agent:v105.0.0-up0.12.0@sha256:0123"}`, workload{kind: "Deployment", version: "v105.0.0-up0.12.0", isAgent: true}},
		{"fleet-agent", `{"image":"registry.example.com:5000/fleet-agent"}`, workload{kind: "Deployment", isAgent: true}},
		{"fleet-agent", `{"image":""},{"image":"x:dev"}`, workload{kind: "Deployment", version: "dev", isAgent: true}},
		{"fleet-controller", `{"image":"rancher/fleet:v0.16.1"}`, workload{kind: "Deployment", version: "v0.16.1"}},
	} {
		var b Builder
		raw := `{"metadata":{"namespace":"system","name":"` + tc.name + `"},` + strings.Replace(image, "%s", tc.containers, 1)
		if err := b.AddWorkload("Deployment", []byte(raw)); err != nil {
			t.Fatal(err)
		}
		key := "system"
		if !tc.want.isAgent {
			key = ""
		}
		if diff := cmp.Diff(tc.want, b.workloads[key], cmp.AllowUnexported(workload{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.containers, diff)
		}
	}
	var b Builder
	if err := b.AddWorkload("Deployment", []byte(`{"metadata":{"name":"frontend"}}`)); err != nil || len(b.workloads) != 0 {
		t.Errorf("workloads %v, error %v", b.workloads, err)
	}
}

// TestAddWorkloadTwice holds that a StatefulSet left over beside the agent's Deployment says nothing, whichever is read first.
func TestAddWorkloadTwice(t *testing.T) {
	raw := func(image string) []byte {
		return []byte(`{"metadata":{"namespace":"system","name":"fleet-agent"},"spec":{"template":{"spec":{"containers":[{"image":"x:` + image + `"}]}}}}`)
	}
	for _, kinds := range [][]string{{"Deployment", "StatefulSet"}, {"StatefulSet", "Deployment"}} {
		var b Builder
		for _, kind := range kinds {
			if err := b.AddWorkload(kind, raw(kind)); err != nil {
				t.Fatal(err)
			}
		}
		if got := b.workloads["system"].version; got != "Deployment" {
			t.Errorf("%v: the %s counts", kinds, got)
		}
	}
}

// TestAddRefuses holds that what cannot be read is an error, which does not quote it.
func TestAddRefuses(t *testing.T) {
	const damaged = `{"metadata":{"name":["invented-secret-value"]},"data":["invented-secret-value"]}`
	var b Builder
	for what, err := range map[string]error{
		"a BundleDeployment": b.AddFleet("BundleDeployment", []byte(damaged)),
		"an agent's Secret":  b.AddAgentSecret([]byte(damaged)),
		"a workload":         b.AddWorkload("Deployment", []byte(damaged)),
	} {
		if err == nil || strings.Contains(err.Error(), "invented") {
			t.Errorf("%s: error %v", what, err)
		}
	}
	if err := b.AddFleet("Content", []byte(`{}`)); err != nil {
		t.Errorf("a kind that is not taken: %v", err)
	}
}

func TestSecretNamespaces(t *testing.T) {
	w := &world{tb: t}
	w.cluster("one", "one", "cattle-fleet-system").cluster("two", "two", "").bd("one", "a", "web/a:1").bd("one", "b", "web/b:1").bd("one", "c", "shop/c:1").bd("one", "d", "")
	agents, releases := w.b.SecretNamespaces()
	if diff := cmp.Diff([]string{"cattle-fleet-system"}, agents); diff != "" {
		t.Errorf("of agents (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"shop", "web"}, releases); diff != "" {
		t.Errorf("of releases (-want +got):\n%s", diff)
	}
}

// TestDesired holds what a manifest's objects become: defaulted namespaces, duplicates once, in order, by the last statement.
func TestDesired(t *testing.T) {
	w := &world{tb: t}
	w.secret("system", "one").bd("one", "a", "web/a:2").
		record("web/a:1", "superseded", "a", "system", "dropped", "theme").
		record("web/a:2", "deployed", "a", "system", "theme", "other", "theme").
		record("web/a:3", "failed", "a", "system", "later")
	w.b.records[release.Name{Namespace: "web", Name: "a", Revision: 2}].Hooks = []release.Hook{{Kind: "Job", Name: "migrate"}}
	w.b.records[release.Name{Namespace: "web", Name: "a", Revision: 2}].objects[2].Raw = []byte("last")
	inv := w.build()
	d := inv.Deployments[0]
	var got []string
	for i, want := range d.Desired {
		if want.Index != i || want.Deployment != d {
			t.Errorf("%s has index %d at %d", want.Key(), want.Index, i)
		}
		got = append(got, want.Key().String())
	}
	if diff := cmp.Diff([]string{"configmap web/theme", "configmap web/other"}, got); diff != "" {
		t.Errorf("desired (-want +got):\n%s", diff)
	}
	if string(d.Desired[0].Raw) != "last" {
		t.Errorf("of two statements the first counts: %s", d.Desired[0].Raw)
	}
	earlier := map[KindName]bool{{"ConfigMap", "dropped"}: true, {"ConfigMap", "theme"}: true}
	if diff := cmp.Diff(earlier, d.Earlier); diff != "" || !d.EarlierKnown {
		t.Errorf("earlier (-want +got), known %v:\n%s", d.EarlierKnown, diff)
	}
	if !d.Hooks[KindName{"Job", "migrate"}] {
		t.Error("the hook is not known")
	}
	if len(d.Trouble) != 1 || d.Trouble[0].Status != "failed" || d.Trouble[0].Record.Revision != 3 {
		t.Errorf("trouble %+v", d.Trouble)
	}
	key := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "theme"}.Key()
	if len(inv.Wants[key]) != 1 {
		t.Errorf("%d want it", len(inv.Wants[key]))
	}
}
