// SPDX-License-Identifier: Apache-2.0

package state

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestReadRecord(t *testing.T) {
	const manifest = `"manifest":"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theme}\n"`
	const fleets = `"chart":{"metadata":{"annotations":{"fleet.cattle.io/bundle-id":"a"}}},`
	head := `{"name":"a","namespace":"web","version":1,"info":{"status":"deployed"},`
	name := release.Name{Namespace: "web", Name: "a", Revision: 1}
	for _, tc := range []struct {
		name    string
		secret  release.Name
		doc     string
		objects int
		damaged string
		kept    bool
	}{
		{"of Fleet", name, head + fleets + manifest + "}", 1, "", true},
		{"of Fleet, not deployed", name, strings.Replace(head, "deployed", "failed", 1) + fleets + manifest + "}", 1,
			"", true},
		{"not of Fleet", name, head + manifest + "}", 0, "", false},
		{"damaged", name, head, 0, "it is damaged", true},
		{"in the Secret of another revision", release.Name{Namespace: "web", Name: "a", Revision: 2},
			head + fleets + manifest + "}", 0, "it is the record of release web/a:1", true},
		{"in a Secret of another namespace", release.Name{Namespace: "shop", Name: "a", Revision: 1},
			head + fleets + manifest + "}", 0, "it is the record of release web/a:1", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := new(Work).ReadRecord(tc.secret, []byte(encode(tc.doc)), len(tc.doc))
			if less := new(Work).ReadRecord(tc.secret, []byte(encode(tc.doc)), 0); less != nil {
				t.Error("the unpacked size is larger than the declared size")
			}
			if len(r.Objects) != tc.objects || !strings.Contains(r.Damaged, tc.damaged) ||
				(tc.damaged == "") != (r.Damaged == "") {
				t.Errorf("%d objects, damaged %q", len(r.Objects), r.Damaged)
			}
			if r.Manifest != "" {
				t.Error("the record keeps the text of the manifest")
			}
			var c Cluster
			c.AddRecord(r)
			if _, kept := c.Records[tc.secret]; kept != tc.kept || !c.Releases[tc.secret.Release()] {
				t.Errorf("kept %v, want %v; releases %v", kept, tc.kept, c.Releases)
			}
		})
	}
}

func TestAddAgent(t *testing.T) {
	const image = `"spec":{"template":{"spec":{"containers":[%s]}}}}`
	for containers, want := range map[string]Workload{
		`{"image":"rancher/fleet-agent:v0.16.1","env":[{"name":"NAMESPACE","valueFrom":{}},{"name":"AGENT_SCOPE",` +
			`"value":"x"}]}`: {Kind: "Deployment", Version: "v0.16.1", Scope: "x"},
		`{"image":"registry.example.com:5000/rancher/fleet-agent:v105.0.0-up0.12.0@sha256:0123"}`: {Kind: "Deployment",
			Version: "v105.0.0-up0.12.0"},
		`{"image":"registry.example.com:5000/fleet-agent"}`: {Kind: "Deployment"},
		`{"image":""},{"image":"x:dev"}`: {Kind: "Deployment",
			Version: "dev"},
	} {
		var c Cluster
		raw := `{"metadata":{"namespace":"system","name":"fleet-agent"},` + strings.Replace(image, "%s", containers, 1)
		if err := c.AddAgent("Deployment", []byte(raw)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, c.Workloads["system"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", containers, diff)
		}
	}
	var c Cluster
	if err := c.AddAgent("Deployment", []byte(`{"metadata":{"name":"frontend"}}`)); err != nil ||
		len(c.Workloads) != 0 {
		t.Errorf("workloads %v, error %v", c.Workloads, err)
	}
	var f Fleet
	raw := `{"metadata":{"namespace":"system","name":"fleet-controller"},` + strings.Replace(image, "%s",
		`{"image":"rancher/fleet:v0.16.1"}`, 1)
	if err := f.AddController([]byte(raw)); err != nil || f.ControllerVersion != "v0.16.1" {
		t.Errorf("version %q, error %v", f.ControllerVersion, err)
	}
}

// TestAddAgentTwice checks that the agent's Deployment has precedence over a leftover StatefulSet, in any order.
func TestAddAgentTwice(t *testing.T) {
	raw := func(image string) []byte {
		return []byte(`{"metadata":{"namespace":"system","name":"fleet-agent"},` +
			`"spec":{"template":{"spec":{"containers":[{"image":"x:` + image + `"}]}}}}`)
	}
	for _, kinds := range [][]string{{"Deployment", "StatefulSet"}, {"StatefulSet", "Deployment"}} {
		var c Cluster
		for _, kind := range kinds {
			if err := c.AddAgent(kind, raw(kind)); err != nil {
				t.Fatal(err)
			}
		}
		if got := c.Workloads["system"].Version; got != "Deployment" {
			t.Errorf("%v: the version is from the %s", kinds, got)
		}
	}
}

// TestAddRefuses checks that a malformed object is an error, and that the error does not quote the object.
func TestAddRefuses(t *testing.T) {
	const damaged = `{"metadata":{"name":["invented-secret-value"]},"data":["invented-secret-value"]}`
	var c Cluster
	for name, err := range map[string]error{
		"a BundleDeployment": Kinds[0].Add(new(Fleet), []byte(damaged)),
		"an agent's Secret":  c.AddAgentSecret([]byte(damaged)),
		"a workload":         c.AddAgent("Deployment", []byte(damaged)),
	} {
		if err == nil || strings.Contains(err.Error(), "invented") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestSecretNamespaces(t *testing.T) {
	var f Fleet
	for _, agent := range []string{"cattle-fleet-system", ""} {
		c := &v1alpha1.Cluster{}
		c.Status.Agent.Namespace = agent
		f.Clusters = append(f.Clusters, c)
	}
	for _, named := range []string{"web/a:1", "web/b:1", "shop/c:1", ""} {
		bd := &v1alpha1.BundleDeployment{}
		bd.Status.Release = named
		f.BundleDeployments = append(f.BundleDeployments, bd)
	}
	agents, releases := f.SecretNamespaces()
	if diff := cmp.Diff([]string{"cattle-fleet-system"}, agents); diff != "" {
		t.Errorf("namespaces of agents (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"shop", "web"}, releases); diff != "" {
		t.Errorf("namespaces of releases (-want +got):\n%s", diff)
	}
}

// TestHighest checks that the highest revision of each release is known, even if Fleet did not make the release or its
// record is damaged.
func TestHighest(t *testing.T) {
	var c Cluster
	for revision, status := range map[int]string{1: "superseded", 3: "failed", 2: "deployed"} {
		name := release.Name{Namespace: "tools", Name: "chart", Revision: revision}
		c.AddRecord(&Record{Record: release.Record{Name: name, Status: status}})
	}
	c.AddRecord(&Record{Record: release.Record{Name: release.Name{Namespace: "tools", Name: "odd", Revision: 1}},
		Damaged: "cut"})
	if last := c.Latest["tools/chart"]; last == nil || last.Revision != 3 || last.Status != "failed" {
		t.Errorf("latest %+v", last)
	}
	if last := c.Latest["tools/odd"]; last == nil || last.Damaged == "" {
		t.Errorf("latest %+v", last)
	}
}

// TestUnreadable checks a record whose values were masked after it was found unreadable.
func TestUnreadable(t *testing.T) {
	name := release.Name{Namespace: "apps", Name: "web", Revision: 1}
	for what, tc := range map[string]struct {
		record                   Record
		damaged, manifest        string
		wantDamaged, wantProblem bool
	}{
		"damaged":                      {damaged: "it is damaged", wantDamaged: true},
		"the manifest cannot be read":  {manifest: "it is not valid YAML", wantProblem: true},
		"the manifest is not needed":   {record: Record{Skipped: true}, manifest: "it is not valid YAML"},
		"nothing was found unreadable": {},
	} {
		r := tc.record
		r.Name = name
		r.Unreadable(tc.damaged, tc.manifest, "")
		if (r.Damaged != "") != tc.wantDamaged || (r.ManifestError != nil) != tc.wantProblem || r.Name != name {
			t.Errorf("%s: %+v", what, r)
		}
	}
}
