// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// builder builds a State. Its methods return the builder, so that calls can be chained in a table.
type builder struct {
	f  state.Fleet
	c  state.Cluster
	tb testing.TB
	// unread is true if some BundleDeployments could not be read.
	unread bool
	// recordsUnread is true if the release records could not be read.
	recordsUnread bool
}

func (w *builder) fleet(kind, raw string, args ...any) *builder {
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
	w.tb.Fatalf("unknown kind %s", kind)
	return nil
}

// bd adds a BundleDeployment with the release that its status names, or "".
func (w *builder) bd(namespace, name, release string) *builder {
	w.tb.Helper()
	return w.fleet("BundleDeployment", `{"metadata":{"namespace":%q,"name":%q},"status":{"release":%q}}`, namespace,
		name, release)
}

// cluster adds a Cluster with the namespaces of its deployments and of its agent.
func (w *builder) cluster(name, deployments, agent string) *builder {
	w.tb.Helper()
	return w.fleet("Cluster", `{"metadata":{"namespace":"fleet-default","name":%q},`+
		`"status":{"namespace":%q,"agent":{"namespace":%q}}}`, name, deployments, agent)
}

func (w *builder) secret(agent, deployments string) *builder {
	w.tb.Helper()
	raw := fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":"fleet-agent"},"data":{"deploymentNamespace":%q}}`,
		agent, base64.StdEncoding.EncodeToString([]byte(deployments)))
	if err := w.c.AddAgentSecret(raw); err != nil {
		w.tb.Fatal(err)
	}
	return w
}

// workload adds an agent with a scope.
func (w *builder) workload(namespace, scope string) *builder {
	w.tb.Helper()
	raw := fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":"fleet-agent"},
		"spec":{"template":{"spec":{"containers":[{"image":"rancher/fleet-agent:v0.16.1",
			"env":[{"name":"AGENT_SCOPE","value":%q}]}]}}}}`, namespace, scope)
	if err := w.c.AddAgent("Deployment", raw); err != nil {
		w.tb.Fatal(err)
	}
	return w
}

// record adds a release record ("namespace/name:revision") with the names of ConfigMaps as its manifest.
func (w *builder) record(name, status, bundleID, agent string, configMaps ...string) *builder {
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
func (w *builder) workloadObject(namespace, spec, env, status string) *builder {
	w.tb.Helper()
	if status == "" {
		status = "{}"
	}
	raw := fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":"fleet-agent","generation":1},
		"spec":{%s"template":{"spec":{"containers":[{"image":"rancher/fleet-agent:v0.16.1","env":[%s]}]}}},
		"status":%s}`, namespace, spec, env, status)
	if err := w.c.AddAgent("Deployment", raw); err != nil {
		w.tb.Fatal(err)
	}
	return w
}

// recordWithSet adds the record of a deployed release. The object in its manifest has ownership metadata of a set.
func (w *builder) recordWithSet(name, bundleID, agent, set string) *builder {
	w.tb.Helper()
	n, err := release.ParseName(name)
	if err != nil {
		w.tb.Fatal(err)
	}
	raw := fmt.Appendf(nil, `{"metadata":{"name":"x","labels":{%q:%q},"annotations":{%q:%q}}}`, fleet.HashLabel,
		fleet.Hash(set), fleet.IDAnnotation, set)
	r := &state.Record{Record: release.Record{Name: n, Status: "deployed", BundleID: bundleID, AgentNamespace: agent}}
	r.Objects = []release.Object{{Ref: object.Ref{APIVersion: "v1", Kind: "ConfigMap", Name: "x"}, Raw: raw}}
	w.c.AddRecord(r)
	return w
}

func (w *builder) build(renderings ...*Rendering) *State {
	w.c.Kinds = &source.Kinds{}
	w.c.Coverage.Records = source.Covered()
	if !w.unread {
		w.f.Coverage = map[string]source.Coverage{state.BundleDeployment: source.Covered()}
	}
	return w.resolve(renderings...)
}

// resolve computes the desired state from the data as it is.
func (w *builder) resolve(renderings ...*Rendering) *State {
	clusters := []*state.Cluster{&w.c}
	found := directory.Build(directory.Input{Fleet: &w.f, Clusters: clusters})
	return Resolve(Input{Directory: found, Clusters: clusters, Renderings: renderings,
		Removals: Removals(found, clusters)})
}

// TestPlacement checks which bundle deployments are on this cluster, and how releases without a bundle deployment are
// reported.
func TestPlacement(t *testing.T) {
	const agent = "cattle-fleet-system"
	for _, tc := range []struct {
		name string
		make func(*builder)
		// want are the deployments, each with its problem or, without a problem, its release.
		want      map[string]string
		leftovers []string
		note      string
	}{
		{name: "placed by the agent's Secret", make: func(w *builder) {
			w.secret(agent, "one").bd("one", "a", "web/a:1").bd("two", "a", "web/a:1").record("web/a:1", "deployed",
				"a", agent)
		}, want: map[string]string{"one/a": "web/a:1", "two/a": "ClusterNotRead"}},
		{name: "placed by a release", make: func(w *builder) {
			w.cluster("one", "one", agent).bd("one", "a", "web/a:1").record("web/a:1", "deployed", "a", agent)
		}, want: map[string]string{"one/a": "web/a:1"}},
		{name: "not placed by a release of another bundle", make: func(w *builder) {
			w.cluster("one", "one", agent).bd("one", "a", "web/a:1").record("web/b:1", "deployed", "b", agent)
		}, want: map[string]string{"one/a": "ClusterNotRead", "b": "web/b:1"}},
		{name: "not placed by a release of an agent in another namespace", make: func(w *builder) {
			w.cluster("one", "one", "other-system").bd("one", "a", "web/a:1").record("web/a:1", "deployed", "a", agent)
		}, want: map[string]string{"one/a": "ClusterNotRead", "a": "web/a:1"}},
		{name: "not placed by a release if the agent's namespace is unknown", make: func(w *builder) {
			w.cluster("one", "one", "").bd("one", "a", "web/a:1").record("web/a:1", "deployed", "a", "")
		}, want: map[string]string{"one/a": "ClusterNotRead", "a": "web/a:1"}},
		{name: "a Cluster that never reported, placed by all its releases", make: func(w *builder) {
			w.cluster("one", "one", "").cluster("two", "two", "").bd("one", "a", "web/a:1").bd("one", "b", "web/b:1").
				bd("one", "new", "").bd("two", "a", "shop/a:1").
				record("web/a:1", "deployed", "a", agent).record("web/b:1", "deployed", "b", agent)
		}, want: map[string]string{"one/a": "web/a:1", "one/b": "web/b:1", "one/new": "NoReleaseRecord",
			"two/a": "ClusterNotRead"}, note: "was identified by its releases"},
		{name: "not placed by some of its releases", make: func(w *builder) {
			w.cluster("one", "one", "").bd("one", "a", "web/a:1").bd("one", "b", "web/b:1").record("web/a:1",
				"deployed", "a", agent)
		}, want: map[string]string{"one/a": "ClusterNotRead", "one/b": "ClusterNotRead", "a": "web/a:1"}},
		{name: "not placed by releases that another cluster has too", make: func(w *builder) {
			w.cluster("one", "one", "").cluster("two", "two", "").bd("one", "a", "web/a:1").bd("two", "a", "web/a:1").
				record("web/a:1", "deployed", "a", agent)
		}, want: map[string]string{"one/a": "ClusterNotRead", "two/a": "ClusterNotRead", "a": "web/a:1"}},
		{name: "not placed by a release with another name", make: func(w *builder) {
			w.cluster("one", "one", "").bd("one", "a", "web/a:1").record("web/other:1", "deployed", "a", agent)
		}, want: map[string]string{"one/a": "ClusterNotRead", "a": "web/other:1"}},
		{name: "two identical clusters", make: func(w *builder) {
			w.cluster("one", "one", agent).cluster("two", "two", agent).bd("one", "a", "web/a:1").bd("two", "a",
				"web/a:1").
				record("web/a:1", "deployed", "a", agent)
		}, want: map[string]string{"one/a": "ClusterNotRead", "two/a": "ClusterNotRead", "a": "web/a:1"},
			note: "it is not known which of them is this cluster"},
		{name: "two clusters that differ in one bundle", make: func(w *builder) {
			w.cluster("one", "one", agent).cluster("two", "two", agent).bd("one", "a", "web/a:1").bd("two", "b",
				"web/b:1").
				record("web/a:1", "deployed", "a", agent)
		}, want: map[string]string{"one/a": "web/a:1", "two/b": "ClusterNotRead"}},
		{name: "the Secret names the deployments of another manager", make: func(w *builder) {
			w.secret(agent, "elsewhere").cluster("one", "one", agent).bd("one", "a", "web/a:1").record("web/a:1",
				"deployed", "a", agent)
		}, want: map[string]string{"one/a": "ClusterNotRead", "a": "web/a:1"}},
		{name: "a redacted Secret is ignored", make: func(w *builder) {
			w.secret(agent, "REDACTED").cluster("one", "one", agent).bd("one", "a", "web/a:1").record("web/a:1",
				"deployed", "a", agent)
		}, want: map[string]string{"one/a": "web/a:1"}},
		{name: "two agents of two managers", make: func(w *builder) {
			w.secret(agent, "one").secret("second", "two").bd("one", "a", "web/a:1").bd("two", "a", "shop/a:1").
				record("web/a:1", "deployed", "a", agent).record("shop/a:1", "deployed", "a", "second")
		}, want: map[string]string{"one/a": "web/a:1", "two/a": "shop/a:1"}},
		{name: "leftover release of a known agent", make: func(w *builder) {
			w.secret(agent, "one").bd("one", "a", "web/a:1").record("web/a:1", "deployed", "a", agent).
				record("web/gone:2", "deployed", "gone", agent)
		}, want: map[string]string{"one/a": "web/a:1"}, leftovers: []string{"web/gone:2"}},
		{name: "a release without BundleDeployment is no leftover if BundleDeployments could not be read",
			make: func(w *builder) {
				w.unread = true
				w.secret(agent, "one").bd("one", "a", "web/a:1").bd("one", "b", "").record("web/a:1", "deployed", "a",
					agent).
					record("web/b:1", "pending-install", "b", agent).record("web/hidden:2", "deployed", "hidden", agent)
			}, want: map[string]string{"one/a": "web/a:1", "one/b": "NoReleaseRecord", "hidden": "web/hidden:2"}},
		{name: "no leftover while the status of the BundleDeployment names no release", make: func(w *builder) {
			w.secret(agent, "one").bd("one", "a", "").record("web/a:1", "pending-install", "a", agent)
		}, want: map[string]string{"one/a": "NoReleaseRecord"}},
		{name: "a release that Fleet did not make is ignored", make: func(w *builder) {
			w.secret(agent, "one").bd("one", "a", "web/a:1").record("web/a:1", "deployed", "a", agent).
				record("web/chart:1", "deployed", "", "")
		}, want: map[string]string{"one/a": "web/a:1"}},
		{name: "downstream", make: func(w *builder) {
			w.secret(agent, "one").record("web/a:1", "superseded", "a", agent).record("web/a:2", "deployed", "a",
				agent).record("web/chart:1", "deployed", "", "")
		}, want: map[string]string{"a": "web/a:2"}},
		{name: "a status with a malformed release name", make: func(w *builder) {
			w.secret(agent, "one").bd("one", "a", "a:1")
		}, want: map[string]string{"one/a": "NoReleaseRecord"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &builder{tb: t}
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
			if notes := strings.Join(c.Notes, "\n"); !strings.Contains(notes, tc.note) ||
				(tc.note == "") != (notes == "") {
				t.Errorf("notes %q, want %q", notes, tc.note)
			}
		})
	}
}

// TestScope checks the source of an agent's scope (docs/fleet-behavior.md, 1.5).
func TestScope(t *testing.T) {
	const agent = "cattle-fleet-system"
	for _, tc := range []struct {
		name        string
		make        func(*builder)
		setID, from string
		complete    bool
	}{
		{"the agent's workload", func(w *builder) { w.workload(agent, "custom") }, "default-a-custom",
			"the environment of Deployment cattle-fleet-system/fleet-agent", true},
		{"the agent's workload, without scope", func(w *builder) { w.workload(agent, "") }, "default-a",
			"the environment of Deployment cattle-fleet-system/fleet-agent", true},
		{"the workload has precedence over the Cluster", func(w *builder) {
			w.workload(agent, "").fleet("Cluster",
				`{"metadata":{"namespace":"n","name":"c"},"spec":{"kubeConfigSecret":"k","agentNamespace":"x"},`+
					`"status":{"namespace":"cluster-one"}}`)
		}, "default-a", "the environment of Deployment cattle-fleet-system/fleet-agent", true},
		{"another agent's workload is ignored", func(w *builder) {
			w.workload("other", "custom")
		}, "default-a", "", false},
		{"of two agents with the same deployments, the one that the Cluster reports", func(w *builder) {
			w.secret("a-former-system", "cluster-one").workload("a-former-system", "former").workload(agent, "custom").
				cluster("c", "cluster-one", agent)
		}, "default-a-custom", "Deployment " + agent, true},
		{"a manager-initiated Cluster", func(w *builder) {
			w.fleet("Cluster", `{"metadata":{"namespace":"n","name":"c"},`+
				`"spec":{"kubeConfigSecret":"k","agentNamespace":"x"},"status":{"namespace":"cluster-one"}}`)
		}, "default-a-x", "cluster n/c", false},
		{"a manager-initiated Cluster without agentNamespace", func(w *builder) {
			w.fleet("Cluster", `{"metadata":{"namespace":"n","name":"c"},"spec":{"kubeConfigSecret":"k"},`+
				`"status":{"namespace":"cluster-one"}}`)
		}, "default-a", "cluster n/c", false},
		{"the release has precedence over the Cluster", func(w *builder) {
			w.recordWithSet("web/a:1", "a", agent, "default-a-released").
				fleet("Cluster",
					`{"metadata":{"namespace":"n","name":"c"},"spec":{"kubeConfigSecret":"k","agentNamespace":"x"},`+
						`"status":{"namespace":"cluster-one"}}`)
		}, "default-a-released", "the manifest of release web/a:1", true},
		{"the running workload has precedence over the release", func(w *builder) {
			w.workload(agent, "").recordWithSet("web/a:1", "a", agent, "default-a-released")
		}, "default-a", "the environment of Deployment cattle-fleet-system/fleet-agent", true},
		{"a workload that is scaled to zero is ignored", func(w *builder) {
			w.workloadObject(agent, `"replicas":0,`, `{"name":"AGENT_SCOPE","value":"custom"}`, "").
				recordWithSet("web/a:1", "a", agent, "default-a")
		}, "default-a", "the manifest of release web/a:1", true},
		{"a workload without ready pods is ignored", func(w *builder) {
			w.workloadObject(agent, "", `{"name":"AGENT_SCOPE","value":"custom"}`,
				`{"observedGeneration":1,"replicas":1,"updatedReplicas":1}`).
				recordWithSet("web/a:1", "a", agent, "default-a")
		}, "default-a", "the manifest of release web/a:1", true},
		{"a workload with an incomplete rollout is ignored", func(w *builder) {
			w.workloadObject(agent, "", `{"name":"AGENT_SCOPE","value":"custom"}`,
				`{"observedGeneration":1,"replicas":2,"updatedReplicas":1,"readyReplicas":1}`).
				recordWithSet("web/a:1", "a", agent, "default-a")
		}, "default-a", "the manifest of release web/a:1", true},
		{"a workload that runs", func(w *builder) {
			w.workloadObject(agent, "", `{"name":"AGENT_SCOPE","value":"custom"}`,
				`{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"readyReplicas":1}`).
				recordWithSet("web/a:1", "a", agent, "default-a")
		}, "default-a-custom", "the environment of Deployment cattle-fleet-system/fleet-agent", true},
		{"a scope from a ConfigMap is unknown", func(w *builder) {
			w.workloadObject(agent, "", `{"name":"AGENT_SCOPE","valueFrom":{"configMapKeyRef":{"name":"x","key":"y"}}}`,
				"").recordWithSet("web/a:1", "a", agent, "default-a-y")
		}, "default-a-y", "the manifest of release web/a:1", true},
		{"a redacted scope is unknown", func(w *builder) {
			w.workloadObject(agent, "", `{"name":"AGENT_SCOPE","value":"**REDACTED**"}`, "").recordWithSet("web/a:1",
				"a", agent, "default-a-y")
		}, "default-a-y", "the manifest of release web/a:1", true},
		{"the other releases of the agent", func(w *builder) {
			w.recordWithSet("web/b:1", "b", agent,
				"default-b-custom")
		}, "default-a-custom", "the releases of the agent", true},
		{"other releases of the agent that disagree", func(w *builder) {
			w.recordWithSet("web/b:1", "b", agent, "default-b-custom").recordWithSet("web/c:1", "c", agent, "default-c")
		}, "default-a", "", false},
		{"an agent-initiated Cluster is ignored", func(w *builder) {
			w.fleet("Cluster", `{"metadata":{"namespace":"n","name":"c"},"spec":{"agentNamespace":"x"},`+
				`"status":{"namespace":"cluster-one"}}`)
		}, "default-a", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &builder{tb: t}
			w.secret(agent, "cluster-one").bd("cluster-one", "a", "web/a:1").
				record("web/a:1", "deployed", "a", agent, "theme")
			tc.make(w)
			s := w.build()
			c := s.Clusters[0]
			d := s.Deployments[0]
			if d.Ownership.SetID != tc.setID || !strings.Contains(d.Scope.Source, tc.from) ||
				(tc.from == "") != (d.Scope.Source == "") {
				t.Errorf("set %q, scope from %q, want %q from %q", d.Ownership.SetID, d.Scope.Source, tc.setID, tc.from)
			}
			if c.SetsComplete != tc.complete {
				t.Errorf("sets complete: %v, want %v", c.SetsComplete, tc.complete)
			}
		})
	}
}

// TestOwnerOf checks the owner of objects of a set that two bundle deployments share. The Helm annotations of the
// object select the owner.
func TestOwnerOf(t *testing.T) {
	w := &builder{tb: t}
	w.secret("a-system", "one").secret("b-system", "two").workload("a-system", "").workload("b-system", "").
		bd("one", "web", "web/web:1").bd("two", "web", "shop/web:1").bd("one", "alone", "web/alone:1").
		record("web/web:1", "deployed", "web", "a-system", "x").record("shop/web:1", "deployed", "web", "b-system",
		"x").
		record("web/alone:1", "deployed", "alone", "a-system", "y")
	s := w.build()
	c := s.On(s.Clusters[0].ID)
	for _, tc := range []struct {
		metadata ownership.Metadata
		owner    string // "" without an owner
		shared   bool
	}{
		{ownership.Desired("default-web", "web", "shop"), "two/web", false},
		{ownership.Desired("default-web", "web", "web"), "one/web", false},
		{ownership.Desired("default-web", "other", "web"), "", true},
		{ownership.Metadata{Hash: fleet.Hash("default-web")}, "", true},
		{ownership.Metadata{Hash: fleet.Hash("default-alone")}, "one/alone", false},
		{ownership.Metadata{SetID: "default-alone"}, "one/alone", false},
		{ownership.Metadata{SetID: "default-unknown"}, "", false},
	} {
		got := ""
		if d := c.OwnerOf(tc.metadata); d != nil {
			got = d.Key()
		}
		shared := len(ownership.BundlesOf(c, tc.metadata)) > 1
		if got != tc.owner || shared != tc.shared {
			t.Errorf("%+v: %q, shared %v, want %q, %v", tc.metadata, got, shared, tc.owner, tc.shared)
		}
	}
}

// TestScopesShown checks which agents have a scope that their running workload shows. An agent that only a record names
// is not among them.
func TestScopesShown(t *testing.T) {
	w := &builder{tb: t}
	w.secret("a-system", "one").secret("b-system", "two").secret("c-system", "three").workload("a-system", "").
		recordWithSet("web/x:1", "x", "nowhere", "default-x-evil").recordWithSet("web/y:1", "y", "b-system",
		"default-y-b")
	s := w.build()
	c := s.Clusters[0]
	shown := map[string]bool{}
	for agent, scope := range c.Scopes {
		shown[agent] = scope.Evidence == directory.EvidenceRunning
	}
	if diff := cmp.Diff(map[string]bool{"a-system": true, "b-system": false, "c-system": false}, shown); diff != "" {
		t.Errorf("agents that show a scope (-want +got):\n%s", diff)
	}
	if s := c.NewBundleScope(); s.Evidence != "" {
		t.Errorf("the scope of a new bundle is %+v, want none because the agents disagree", s)
	}
}
