// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// world builds a DesiredState from a few words; its methods return it, so that a table can be read.
type world struct {
	f  state.Fleet
	c  state.Cluster
	tb testing.TB
	// unread says that not all BundleDeployments could be read.
	unread bool
}

func (w *world) fleet(kind, raw string, args ...any) *world {
	w.tb.Helper()
	for _, k := range state.Kinds {
		if k.Name != kind {
			continue
		}
		if err := k.Add(&w.f, fmt.Appendf(nil, raw, args...)); err != nil {
			w.tb.Fatal(err)
		}
		return w
	}
	w.tb.Fatalf("there is no kind %s", kind)
	return nil
}

// bd adds a BundleDeployment that names a release ("" for none).
func (w *world) bd(namespace, name, named string) *world {
	w.tb.Helper()
	return w.fleet("BundleDeployment", `{"metadata":{"namespace":%q,"name":%q},"status":{"release":%q}}`, namespace, name, named)
}

// cluster adds a Cluster by the namespace of its deployments and that of its agent.
func (w *world) cluster(name, deployments, agent string) *world {
	w.tb.Helper()
	return w.fleet("Cluster", `{"metadata":{"namespace":"fleet-default","name":%q},"status":{"namespace":%q,"agent":{"namespace":%q}}}`, name, deployments, agent)
}

func (w *world) secret(agent, deployments string) *world {
	w.tb.Helper()
	raw := fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":"fleet-agent"},"data":{"deploymentNamespace":%q}}`, agent, base64.StdEncoding.EncodeToString([]byte(deployments)))
	if err := w.c.AddAgentSecret(raw); err != nil {
		w.tb.Fatal(err)
	}
	return w
}

// workload adds an agent with a scope.
func (w *world) workload(namespace, scope string) *world {
	w.tb.Helper()
	raw := fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":"fleet-agent"},"spec":{"template":{"spec":{"containers":[
		{"image":"rancher/fleet-agent:v0.16.1","env":[{"name":"AGENT_SCOPE","value":%q}]}]}}}}`, namespace, scope)
	if err := w.c.AddAgent("Deployment", raw); err != nil {
		w.tb.Fatal(err)
	}
	return w
}

// record adds a release record ("namespace/name:revision") with the names of ConfigMaps as its manifest.
func (w *world) record(name, status, bundleID, agent string, configMaps ...string) *world {
	w.tb.Helper()
	n, err := release.ParseName(name)
	if err != nil {
		w.tb.Fatal(err)
	}
	r := &state.Record{Record: release.Record{Name: n, Status: status, BundleID: bundleID, AgentNamespace: agent}}
	for _, cm := range configMaps {
		ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Name: cm}
		r.Objects = append(r.Objects, release.Object{Ref: ref, Raw: fmt.Appendf(nil, `{"metadata":{"name":%q}}`, cm)})
	}
	w.c.AddRecord(r)
	return w
}

// workloadObject adds an agent's Deployment with a part of its spec, its environment and its status.
func (w *world) workloadObject(namespace, spec, env, status string) *world {
	w.tb.Helper()
	if status == "" {
		status = "{}"
	}
	raw := fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":"fleet-agent","generation":1},"spec":{%s"template":{"spec":{"containers":[
		{"image":"rancher/fleet-agent:v0.16.1","env":[%s]}]}}},"status":%s}`, namespace, spec, env, status)
	if err := w.c.AddAgent("Deployment", raw); err != nil {
		w.tb.Fatal(err)
	}
	return w
}

// stated adds the record of a deployed release whose manifest states a set.
func (w *world) stated(name, bundleID, agent, set string) *world {
	w.tb.Helper()
	n, err := release.ParseName(name)
	if err != nil {
		w.tb.Fatal(err)
	}
	raw := fmt.Appendf(nil, `{"metadata":{"name":"x","labels":{%q:%q},"annotations":{%q:%q}}}`, fleet.HashLabel, fleet.Hash(set), fleet.IDAnnotation, set)
	r := &state.Record{Record: release.Record{Name: n, Status: "deployed", BundleID: bundleID, AgentNamespace: agent}}
	r.Objects = []release.Object{{Ref: object.Ref{APIVersion: "v1", Kind: "ConfigMap", Name: "x"}, Raw: raw}}
	w.c.AddRecord(r)
	return w
}

func (w *world) build(renderings ...*Rendering) *DesiredState {
	w.c.Kinds = &source.Kinds{}
	w.c.Coverage.Records = source.Covered()
	if !w.unread {
		w.f.Coverage = map[string]source.Coverage{state.BundleDeployment: source.Covered()}
	}
	desired, _ := Resolve(Input{Fleet: &w.f, Clusters: []*state.Cluster{&w.c}, Renderings: renderings})
	return desired
}

// TestHomes holds which deployments are of the cluster at hand, and what becomes of releases that none of them names
// (design: which cluster is this).
func TestHomes(t *testing.T) {
	const agent = "cattle-fleet-system"
	for _, tc := range []struct {
		name string
		make func(*world)
		// want are the deployments, each with its problem, or with its release where there is none.
		want      map[string]string
		leftovers []string
		note      string
	}{
		{name: "the agent's Secret says it", make: func(w *world) {
			w.secret(agent, "one").bd("one", "a", "web/a:1").bd("two", "a", "web/a:1").record("web/a:1", "deployed", "a", agent)
		}, want: map[string]string{"one/a": "web/a:1", "two/a": "ClusterNotRead"}},
		{name: "a release proves it", make: func(w *world) {
			w.cluster("one", "one", agent).bd("one", "a", "web/a:1").record("web/a:1", "deployed", "a", agent)
		}, want: map[string]string{"one/a": "web/a:1"}},
		{name: "a release of another bundle proves nothing", make: func(w *world) {
			w.cluster("one", "one", agent).bd("one", "a", "web/a:1").record("web/b:1", "deployed", "b", agent)
		}, want: map[string]string{"one/a": "ClusterNotRead", "b": "web/b:1"}},
		{name: "nor one of an agent that lives elsewhere", make: func(w *world) {
			w.cluster("one", "one", "other-system").bd("one", "a", "web/a:1").record("web/a:1", "deployed", "a", agent)
		}, want: map[string]string{"one/a": "ClusterNotRead", "a": "web/a:1"}},
		{name: "nor one of a cluster whose agent's namespace is not known", make: func(w *world) {
			w.cluster("one", "one", "").bd("one", "a", "web/a:1").record("web/a:1", "deployed", "a", "")
		}, want: map[string]string{"one/a": "ClusterNotRead", "a": "web/a:1"}},
		{name: "one that never reported, by all of its releases", make: func(w *world) {
			w.cluster("one", "one", "").cluster("two", "two", "").bd("one", "a", "web/a:1").bd("one", "b", "web/b:1").bd("one", "new", "").bd("two", "a", "shop/a:1").
				record("web/a:1", "deployed", "a", agent).record("web/b:1", "deployed", "b", agent)
		}, want: map[string]string{"one/a": "web/a:1", "one/b": "web/b:1", "one/new": "NoReleaseRecord", "two/a": "ClusterNotRead"}, note: "was identified by its releases"},
		{name: "not by some of them", make: func(w *world) {
			w.cluster("one", "one", "").bd("one", "a", "web/a:1").bd("one", "b", "web/b:1").record("web/a:1", "deployed", "a", agent)
		}, want: map[string]string{"one/a": "ClusterNotRead", "one/b": "ClusterNotRead", "a": "web/a:1"}},
		{name: "nor where another cluster has one of them", make: func(w *world) {
			w.cluster("one", "one", "").cluster("two", "two", "").bd("one", "a", "web/a:1").bd("two", "a", "web/a:1").record("web/a:1", "deployed", "a", agent)
		}, want: map[string]string{"one/a": "ClusterNotRead", "two/a": "ClusterNotRead", "a": "web/a:1"}},
		{name: "nor by a release of another name", make: func(w *world) {
			w.cluster("one", "one", "").bd("one", "a", "web/a:1").record("web/other:1", "deployed", "a", agent)
		}, want: map[string]string{"one/a": "ClusterNotRead", "a": "web/other:1"}},
		{name: "two clusters alike", make: func(w *world) {
			w.cluster("one", "one", agent).cluster("two", "two", agent).bd("one", "a", "web/a:1").bd("two", "a", "web/a:1").
				record("web/a:1", "deployed", "a", agent)
		}, want: map[string]string{"one/a": "ClusterNotRead", "two/a": "ClusterNotRead", "a": "web/a:1"}, note: "it is not known which of them is this cluster"},
		{name: "two clusters, told apart by one bundle", make: func(w *world) {
			w.cluster("one", "one", agent).cluster("two", "two", agent).bd("one", "a", "web/a:1").bd("two", "b", "web/b:1").
				record("web/a:1", "deployed", "a", agent)
		}, want: map[string]string{"one/a": "web/a:1", "two/b": "ClusterNotRead"}},
		{name: "the Secret names the deployments of another manager", make: func(w *world) {
			w.secret(agent, "elsewhere").cluster("one", "one", agent).bd("one", "a", "web/a:1").record("web/a:1", "deployed", "a", agent)
		}, want: map[string]string{"one/a": "ClusterNotRead", "a": "web/a:1"}},
		{name: "a Secret that was blackened says nothing", make: func(w *world) {
			w.secret(agent, "REDACTED").cluster("one", "one", agent).bd("one", "a", "web/a:1").record("web/a:1", "deployed", "a", agent)
		}, want: map[string]string{"one/a": "web/a:1"}},
		{name: "two agents of two managers", make: func(w *world) {
			w.secret(agent, "one").secret("second", "two").bd("one", "a", "web/a:1").bd("two", "a", "shop/a:1").
				record("web/a:1", "deployed", "a", agent).record("shop/a:1", "deployed", "a", "second")
		}, want: map[string]string{"one/a": "web/a:1", "two/a": "shop/a:1"}},
		{name: "leftover of a known agent", make: func(w *world) {
			w.secret(agent, "one").bd("one", "a", "web/a:1").record("web/a:1", "deployed", "a", agent).record("web/gone:2", "deployed", "gone", agent)
		}, want: map[string]string{"one/a": "web/a:1"}, leftovers: []string{"web/gone:2"}},
		{name: "no leftover where deployments could not be read, but a release to be judged", make: func(w *world) {
			w.unread = true
			w.secret(agent, "one").bd("one", "a", "web/a:1").bd("one", "b", "").record("web/a:1", "deployed", "a", agent).
				record("web/b:1", "pending-install", "b", agent).record("web/hidden:2", "deployed", "hidden", agent)
		}, want: map[string]string{"one/a": "web/a:1", "one/b": "NoReleaseRecord", "hidden": "web/hidden:2"}},
		{name: "no leftover while the deployment is yet to name its release", make: func(w *world) {
			w.secret(agent, "one").bd("one", "a", "").record("web/a:1", "pending-install", "a", agent)
		}, want: map[string]string{"one/a": "NoReleaseRecord"}},
		{name: "a release of nobody's is nothing", make: func(w *world) {
			w.secret(agent, "one").bd("one", "a", "web/a:1").record("web/a:1", "deployed", "a", agent).record("web/chart:1", "deployed", "", "")
		}, want: map[string]string{"one/a": "web/a:1"}},
		{name: "downstream", make: func(w *world) {
			w.secret(agent, "one").record("web/a:1", "superseded", "a", agent).record("web/a:2", "deployed", "a", agent).record("web/chart:1", "deployed", "", "")
		}, want: map[string]string{"a": "web/a:2"}},
		{name: "a status that names no release by its form", make: func(w *world) {
			w.secret(agent, "one").bd("one", "a", "a:1")
		}, want: map[string]string{"one/a": "NoReleaseRecord"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &world{tb: t}
			tc.make(w)
			s := w.build()
			c := s.Clusters[0]
			got := map[string]string{}
			for _, d := range s.Deployments {
				got[d.Key()] = string(d.Problem)
				if d.Problem == "" {
					got[d.Key()] = d.Release.String()
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("deployments (-want +got):\n%s", diff)
			}
			var leftovers []string
			for _, l := range c.Leftovers {
				leftovers = append(leftovers, l.String())
			}
			if diff := cmp.Diff(tc.leftovers, leftovers); diff != "" {
				t.Errorf("leftovers (-want +got):\n%s", diff)
			}
			if notes := strings.Join(c.Notes, "\n"); !strings.Contains(notes, tc.note) || (tc.note == "") != (notes == "") {
				t.Errorf("notes %q, want %q", notes, tc.note)
			}
		})
	}
}

// TestScope holds where an agent's scope is read (docs/fleet-behavior.md, 1.5).
func TestScope(t *testing.T) {
	const agent = "cattle-fleet-system"
	for _, tc := range []struct {
		name        string
		make        func(*world)
		setID, from string
		complete    bool
	}{
		{"the agent's workload", func(w *world) { w.workload(agent, "custom") }, "default-a-custom", "the environment of Deployment cattle-fleet-system/fleet-agent", true},
		{"the agent's workload, without scope", func(w *world) { w.workload(agent, "") }, "default-a", "the environment of Deployment cattle-fleet-system/fleet-agent", true},
		{"the workload before the Cluster", func(w *world) {
			w.workload(agent, "").fleet("Cluster", `{"metadata":{"namespace":"n","name":"c"},"spec":{"kubeConfigSecret":"k","agentNamespace":"x"},"status":{"namespace":"one"}}`)
		}, "default-a", "the environment of Deployment cattle-fleet-system/fleet-agent", true},
		{"another agent's workload does not count", func(w *world) { w.workload("other", "custom") }, "default-a", "", false},
		{"of two agents with the same deployments, the one that the Cluster reports", func(w *world) {
			w.secret("a-former-system", "one").workload("a-former-system", "former").workload(agent, "custom").cluster("c", "one", agent)
		}, "default-a-custom", "Deployment " + agent, true},
		{"a manager-initiated Cluster", func(w *world) {
			w.fleet("Cluster", `{"metadata":{"namespace":"n","name":"c"},"spec":{"kubeConfigSecret":"k","agentNamespace":"x"},"status":{"namespace":"one"}}`)
		}, "default-a-x", "cluster n/c", false},
		{"one without agentNamespace", func(w *world) {
			w.fleet("Cluster", `{"metadata":{"namespace":"n","name":"c"},"spec":{"kubeConfigSecret":"k"},"status":{"namespace":"one"}}`)
		}, "default-a", "cluster n/c", false},
		{"what the release states before the Cluster", func(w *world) {
			w.stated("web/a:1", "a", agent, "default-a-released").
				fleet("Cluster", `{"metadata":{"namespace":"n","name":"c"},"spec":{"kubeConfigSecret":"k","agentNamespace":"x"},"status":{"namespace":"one"}}`)
		}, "default-a-released", "the manifest of release web/a:1", true},
		{"the running workload before what the release states", func(w *world) {
			w.workload(agent, "").stated("web/a:1", "a", agent, "default-a-released")
		}, "default-a", "the environment of Deployment cattle-fleet-system/fleet-agent", true},
		{"a workload that is scaled to zero does not run", func(w *world) {
			w.workloadObject(agent, `"replicas":0,`, `{"name":"AGENT_SCOPE","value":"custom"}`, "").stated("web/a:1", "a", agent, "default-a")
		}, "default-a", "the manifest of release web/a:1", true},
		{"nor one whose pods are not ready", func(w *world) {
			w.workloadObject(agent, "", `{"name":"AGENT_SCOPE","value":"custom"}`, `{"observedGeneration":1,"replicas":1,"updatedReplicas":1}`).
				stated("web/a:1", "a", agent, "default-a")
		}, "default-a", "the manifest of release web/a:1", true},
		{"nor one whose rollout is not complete", func(w *world) {
			w.workloadObject(agent, "", `{"name":"AGENT_SCOPE","value":"custom"}`, `{"observedGeneration":1,"replicas":2,"updatedReplicas":1,"readyReplicas":1}`).
				stated("web/a:1", "a", agent, "default-a")
		}, "default-a", "the manifest of release web/a:1", true},
		{"one that runs", func(w *world) {
			w.workloadObject(agent, "", `{"name":"AGENT_SCOPE","value":"custom"}`, `{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"readyReplicas":1}`).
				stated("web/a:1", "a", agent, "default-a")
		}, "default-a-custom", "the environment of Deployment cattle-fleet-system/fleet-agent", true},
		{"a scope that comes from elsewhere is not shown", func(w *world) {
			w.workloadObject(agent, "", `{"name":"AGENT_SCOPE","valueFrom":{"configMapKeyRef":{"name":"x","key":"y"}}}`, "").stated("web/a:1", "a", agent, "default-a-y")
		}, "default-a-y", "the manifest of release web/a:1", true},
		{"nor one that was replaced in the capture", func(w *world) {
			w.workloadObject(agent, "", `{"name":"AGENT_SCOPE","value":"**REDACTED**"}`, "").stated("web/a:1", "a", agent, "default-a-y")
		}, "default-a-y", "the manifest of release web/a:1", true},
		{"the other releases of the agent", func(w *world) { w.stated("web/b:1", "b", agent, "default-b-custom") }, "default-a-custom", "the releases of the agent", true},
		{"which do not agree", func(w *world) {
			w.stated("web/b:1", "b", agent, "default-b-custom").stated("web/c:1", "c", agent, "default-c")
		}, "default-a", "", false},
		{"an agent-initiated Cluster says nothing", func(w *world) {
			w.fleet("Cluster", `{"metadata":{"namespace":"n","name":"c"},"spec":{"agentNamespace":"x"},"status":{"namespace":"one"}}`)
		}, "default-a", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &world{tb: t}
			w.secret(agent, "one").bd("one", "a", "web/a:1").record("web/a:1", "deployed", "a", agent, "theme")
			tc.make(w)
			s := w.build()
			c := s.Clusters[0]
			d := s.Deployments[0]
			if d.Ownership.SetID != tc.setID || !strings.Contains(d.Scope.Source, tc.from) || (tc.from == "") != (d.Scope.Source == "") {
				t.Errorf("set %q, scope from %q, want %q from %q", d.Ownership.SetID, d.Scope.Source, tc.setID, tc.from)
			}
			if c.SetsComplete != tc.complete {
				t.Errorf("all sets are known: %v, want %v", c.SetsComplete, tc.complete)
			}
		})
	}
}

func TestLatest(t *testing.T) {
	rec := func(revision int, status string) *state.Record {
		r := &state.Record{Record: release.Record{Name: release.Name{Namespace: "web", Name: "a", Revision: revision}, Status: status}}
		if status == "" {
			r.Damaged = "it is damaged"
		}
		return r
	}
	for _, tc := range []struct {
		name    string
		history []*state.Record
		want    int // 0 for none
	}{
		{"one", []*state.Record{rec(1, "deployed")}, 1},
		{"the highest deployed", []*state.Record{rec(1, "superseded"), rec(2, "deployed"), rec(3, "failed")}, 2},
		{"two deployed", []*state.Record{rec(1, "deployed"), rec(2, "deployed")}, 2},
		{"a newer one at work", []*state.Record{rec(4, "deployed"), rec(5, "pending-upgrade")}, 4},
		{"none deployed: the highest", []*state.Record{rec(1, "failed"), rec(2, "pending-install")}, 2},
		{"the highest is damaged", []*state.Record{rec(1, "deployed"), rec(2, "")}, 1},
		{"all are damaged", []*state.Record{rec(1, ""), rec(2, "")}, 0},
		{"none", nil, 0},
	} {
		got := 0
		if r := latest(tc.history); r != nil {
			got = r.Revision
		}
		if got != tc.want {
			t.Errorf("%s: revision %d, want %d", tc.name, got, tc.want)
		}
	}
}

// TestOwnerOf holds that an object of a shared set belongs to the deployment that its Helm annotations name, and otherwise to none that is named.
func TestOwnerOf(t *testing.T) {
	w := &world{tb: t}
	w.secret("a-system", "one").secret("b-system", "two").workload("a-system", "").workload("b-system", "").
		bd("one", "web", "web/web:1").bd("two", "web", "shop/web:1").bd("one", "alone", "web/alone:1").
		record("web/web:1", "deployed", "web", "a-system", "x").record("shop/web:1", "deployed", "web", "b-system", "x").
		record("web/alone:1", "deployed", "alone", "a-system", "y")
	s := w.build()
	c := s.Clusters[0]
	for _, tc := range []struct {
		marks  ownership.Metadata
		holder string // "" for none
		shared bool
	}{
		{ownership.Desired("default-web", "web", "shop"), "two/web", false},
		{ownership.Desired("default-web", "web", "web"), "one/web", false},
		{ownership.Desired("default-web", "other", "web"), "", true},
		{ownership.Metadata{Hash: fleet.Hash("default-web")}, "", true},
		{ownership.Metadata{Hash: fleet.Hash("default-alone")}, "one/alone", false},
		{ownership.Metadata{SetID: "default-alone"}, "one/alone", false},
		{ownership.Metadata{SetID: "default-nobody"}, "", false},
	} {
		got := ""
		if d := c.OwnerOf(tc.marks); d != nil {
			got = d.Key()
		}
		shared := len(ownership.BundlesOf(c, tc.marks)) > 1
		if got != tc.holder || shared != tc.shared {
			t.Errorf("%+v: %q, shared %v, want %q, %v", tc.marks, got, shared, tc.holder, tc.shared)
		}
	}
}

// TestUnshown holds which agents a stated scope may stand for: those whose running workload does not show one, and none that only a record names.
func TestUnshown(t *testing.T) {
	w := &world{tb: t}
	w.secret("a-system", "one").secret("b-system", "two").secret("c-system", "three").workload("a-system", "").
		stated("web/x:1", "x", "nowhere", "default-x-evil").stated("web/y:1", "y", "b-system", "default-y-b")
	s := w.build()
	c := s.Clusters[0]
	if got := strings.Join(c.Unshown(), " "); got != "b-system c-system" {
		t.Errorf("agents that show no scope: %q", got)
	}
	if s := c.NewBundleScope(); s.Evidence != "" {
		t.Errorf("the scope of a bundle that is not here yet: %+v, want none: the agents do not agree", s)
	}
}
