// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// agentOf adds an agent with its Secret and, with a tag, its Deployment.
func (w *builder) agentOf(namespace, deployments, tag string) *builder {
	w.tb.Helper()
	w.secret(namespace, deployments)
	if tag == "" {
		return w
	}
	raw := fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":"fleet-agent"},`+
		`"spec":{"template":{"spec":{"containers":[{"image":"rancher/fleet-agent:%s"}]}}}}`, namespace, tag)
	if err := w.c.AddAgent("Deployment", raw); err != nil {
		w.tb.Fatal(err)
	}
	return w
}

// options adds a BundleDeployment with its options as JSON.
func (w *builder) options(namespace, name, options string) *builder {
	w.tb.Helper()
	return w.fleet("BundleDeployment", `{"metadata":{"namespace":%q,"name":%q},"spec":{"options":%s}}`, namespace, name,
		options)
}

// keep adds the record of a deployed release with keepResources.
func (w *builder) keep(name, bundleID, agent string) *builder {
	w.tb.Helper()
	w.record(name, "deployed", bundleID, agent)
	n, _ := release.ParseName(name)
	w.c.Records[n].KeepResources = true
	return w
}

// TestRemovals checks which releases garbage collection uninstalls, and in which cycle. Nothing is removed if what
// decides is not known.
func TestRemovals(t *testing.T) {
	const agent, dots = "cattle-fleet-system", "my.app"
	long := "a-very-long-gitrepo-name-with-a-long-path-inside-fdba4" // 54 characters
	with := func(tag string) func(w *builder) *builder {
		return func(w *builder) *builder {
			return w.agentOf(agent, "one", tag).options("one", "live", `{"defaultNamespace":"web"}`).
				record("web/live:1", "deployed", "live", agent)
		}
	}
	for _, tc := range []struct {
		name string
		tag  string // of the agent; empty without a workload
		make func(w *builder)
		// want are the removed releases: "cycle expected blocked".
		want map[string]string
	}{
		{"nothing", "v0.16.1", func(*builder) {}, nil},
		{"its BundleDeployment does not exist", "v0.16.1", func(w *builder) {
			w.record("web/gone:3", "deployed", "gone",
				agent)
		}, map[string]string{"web/gone": "1  "}},
		{"with an agent of unknown version", "dev", func(w *builder) {
			w.record("web/gone:3", "deployed", "gone",
				agent)
		}, map[string]string{"web/gone": "1  "}},
		{"one release in each cycle", "v0.16.1", func(w *builder) {
			w.record("b/gone-2:1", "deployed", "gone-2", agent).record("c/gone-1:1", "failed", "gone-1", agent).
				record("a/gone-3:1", "deployed", "gone-3", agent)
		}, map[string]string{"c/gone-1": "1  ", "b/gone-2": "2  ", "a/gone-3": "3  "}},
		{"another release name", "v0.16.1", func(w *builder) {
			w.options("one", "app", `{"namespace":"web","helm":{"releaseName":"new"}}`).record("web/app:1", "deployed",
				"app", agent).record("web/new:1", "deployed", "app", agent)
		}, map[string]string{"web/app": "1 web/new "}},
		{"another namespace", "v0.16.1", func(w *builder) {
			w.options("one", "app", `{"namespace":"new","defaultNamespace":"web"}`).record("web/app:1", "deployed",
				"app", agent)
		}, map[string]string{"web/app": "1 new/app "}},
		{"the default namespace", "v0.16.1", func(w *builder) {
			w.options("one", "app", `{"helm":{}}`).record("default/app:1", "deployed", "app", agent)
		}, nil},
		{"a paused BundleDeployment", "v0.16.1", func(w *builder) {
			w.fleet("BundleDeployment",
				`{"metadata":{"namespace":"one","name":"app"},"spec":{"paused":true,"options":{"namespace":"new"}}}`).
				record("web/app:1", "deployed", "app", agent)
		}, map[string]string{"web/app": "1 new/app "}},

		{"the release that the agent states", "v0.16.1", func(w *builder) {
			w.bd("one", "app", "web/app:1").record("web/app:1", "deployed", "app", agent)
		}, nil},
		{"new options that the agent has not applied", "v0.16.1", func(w *builder) {
			w.fleet("BundleDeployment", `{"metadata":{"namespace":"one","name":"app"},
				"spec":{"deploymentID":"s:2","options":{"namespace":"new"}},
				"status":{"appliedDeploymentID":"s:1","release":"web/app:1"}}`)
			w.record("web/app:1", "deployed", "app", agent)
		}, map[string]string{"web/app": "1 new/app "}},

		{"no options", "v0.16.1", func(w *builder) {
			w.options("one", "app", `{}`).record("web/app:1", "deployed",
				"app", agent)
		}, nil},

		// names that are converted
		{"dots, 0.15.5", "v0.15.5", func(w *builder) {
			w.options("one", dots, `{"helm":{}}`).record("default/my-app-9b5aeb24:1", "deployed", dots, agent)
		}, map[string]string{"default/my-app-9b5aeb24": "1 default/my.app "}},
		{"a long name, 0.16.0", "v0.16.0", func(w *builder) {
			w.options("one", long, `{"helm":{}}`).record("default/"+fleetName(long)+":1", "deployed", long, agent)
		}, map[string]string{"default/" + fleetName(long): "1 default/" + long + " "}},
		{"a long name, 0.15.6", "v0.15.6", func(w *builder) {
			w.options("one", long, `{"helm":{}}`).record("default/"+fleetName(long)+":1", "deployed", long, agent)
		}, nil},
		{"a long name, 0.16.1", "v0.16.1", func(w *builder) {
			w.options("one", long, `{"helm":{}}`).record("default/"+fleetName(long)+":1", "deployed", long, agent)
		}, nil},
		{"a long name, unknown version", "dev", func(w *builder) {
			w.options("one", long, `{"helm":{}}`).record("default/"+fleetName(long)+":1", "deployed", long, agent)
		}, nil},
		{"a long name, another namespace, unknown version", "dev", func(w *builder) {
			w.options("one", long, `{"helm":{}}`).record("web/"+fleetName(long)+":1", "deployed", long, agent)
		}, map[string]string{"web/" + fleetName(long): "1 default/" + fleetName(long) + " "}},

		// releases whose objects are kept
		{"keepResources", "v0.16.1", func(w *builder) { w.keep("web/kept:1", "kept", agent) }, nil},
		{"keepResources delays a cycle", "v0.16.1", func(w *builder) {
			w.keep("web/a:1", "a", agent).record("web/gone:1", "deployed", "gone", agent)
		}, map[string]string{"web/gone": "2  "}},
		{"keepResources with another release name ends every cycle", "v0.16.1", func(w *builder) {
			w.keep("web/custom:1", "kept", agent).record("web/gone:1", "deployed", "gone", agent).record("web/before:1",
				"deployed", "before", agent)
		}, map[string]string{"web/before": "1  ", "web/gone": "3  web/custom"}},
		{"the agent's own bundle", "v0.16.1", func(w *builder) {
			w.record("cattle-fleet-system/fleet-agent-old:1", "deployed", "fleet-agent-old", agent)
		}, nil},

		// states of the newest record
		{"pending-install, 0.14", "v0.14.0", func(w *builder) {
			w.record("web/gone:1", "pending-install", "gone", agent)
		}, nil},
		{"pending-install, 0.15", "v0.15.0", func(w *builder) {
			w.record("web/gone:1", "pending-install", "gone",
				agent)
		}, map[string]string{"web/gone": "1  "}},
		{"uninstalling, unknown version", "dev", func(w *builder) {
			w.record("web/gone:1", "uninstalling", "gone", agent)
		}, nil},
		{"uninstalled", "v0.16.1", func(w *builder) { w.record("web/gone:1", "uninstalled", "gone", agent) }, nil},
		{"deployed, then pending, 0.14", "v0.14.0", func(w *builder) {
			w.record("web/gone:1", "deployed", "gone", agent).record("web/gone:2", "pending-upgrade", "gone", agent)
		}, nil},
		{"a newer revision is damaged", "v0.16.1", func(w *builder) {
			w.record("web/gone:1", "superseded", "gone", agent)
			w.c.AddRecord(&state.Record{Record: release.Record{Name: release.Name{Namespace: "web", Name: "gone",
				Revision: 2}}, Damaged: "cut"})
		}, nil},
		{"a newer revision is not Fleet's", "v0.16.1", func(w *builder) {
			w.record("web/gone:1", "superseded", "gone", agent).record("web/gone:2", "deployed", "", "")
		}, nil},
		{"a release without Fleet", "v0.16.1", func(w *builder) { w.record("web/other:1", "deployed", "", "") }, nil},

		// what decides is not known
		{"an agent that is not here", "v0.16.1", func(w *builder) {
			w.record("web/gone:1", "deployed", "gone", "elsewhere")
		}, nil},
		{"no workload, and the Cluster reports none", "", func(w *builder) {
			w.record("web/gone:1", "deployed", "gone", agent)
		}, nil},
		{"no workload, and the Cluster reports the agent", "", func(w *builder) {
			w.cluster("c", "one", agent).record("web/gone:1", "deployed", "gone", agent)
		}, map[string]string{"web/gone": "1  "}},
		{"not all BundleDeployments were read", "v0.16.1",
			func(w *builder) { w.unread = true; w.record("web/gone:1", "deployed", "gone", agent) }, nil},
		{"the agent is moved", "v0.16.1", func(w *builder) {
			w.cluster("c", "one", "other").record("web/gone:1", "deployed", "gone", agent)
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &builder{tb: t}
			with(tc.tag)(w)
			tc.make(w)
			got := map[string]string{}
			for _, x := range w.build().Removals {
				got[x.Record.Release()] = fmt.Sprintf("%d %s %s", x.Cycle, x.Expected, x.BlockedBy)
			}
			if tc.want == nil {
				tc.want = map[string]string{}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("removals (-want +got):\n%s", diff)
			}
		})
	}
}

func fleetName(name string) string {
	bd := &v1alpha1.BundleDeployment{}
	bd.Name = name
	return ExpectedRelease(bd, true)[len("default/"):]
}

// TestRemovalsWithoutBundleDeployment checks that nothing is removed while the agent has nothing to reconcile: garbage
// collection begins with the first BundleDeployment. Records that could not be read also prevent a result.
func TestRemovalsWithoutBundleDeployment(t *testing.T) {
	const agent = "cattle-fleet-system"
	w := (&builder{tb: t}).agentOf(agent, "one", "v0.16.1").cluster("c", "one", agent).record("web/gone:1", "deployed",
		"gone", agent)
	if got := w.build().Removals; len(got) > 0 {
		t.Errorf("%d removals without a BundleDeployment", len(got))
	}
	w.fleet("BundleDeployment", `{"metadata":{"namespace":"one","name":"app"},"spec":{"paused":true}}`)
	if got := w.build().Removals; len(got) > 0 {
		t.Errorf("%d removals with a paused BundleDeployment only", len(got))
	}
	w.bd("one", "live", "")
	if got := w.build().Removals; len(got) != 1 {
		t.Errorf("%d removals, want 1", len(got))
	}
	w.c.Coverage.Records = source.CoveredIn([]string{"other"}, source.Failure{Reason: source.Forbidden})
	if len(w.resolve().Removals) > 0 {
		t.Error("a removal although not all records of its namespace were read")
	}
}

// TestRemovalLosses checks which objects a removal deletes. That of a capture is confirmed.
func TestRemovalLosses(t *testing.T) {
	const agent = "cattle-fleet-system"
	w := (&builder{tb: t}).agentOf(agent, "one", "v0.16.1").bd("one", "live", "web/live:1").record("web/live:1",
		"deployed", "live", agent, "shared")
	w.record("web/gone:1", "deployed", "gone", agent, "shared", "own", "own")
	r := w.c.Records[release.Name{Namespace: "web", Name: "gone", Revision: 1}]
	add := func(kind, name, more string) {
		raw := fmt.Appendf(nil,
			`{"metadata":{"name":%q,"annotations":{%s}},"spec":{"group":"example.com","names":{"kind":"Database"}}}`,
			name, more)
		r.Objects = append(r.Objects, release.Object{Ref: object.Ref{APIVersion: "apiextensions.k8s.io/v1", Kind: kind,
			Name: name}, Raw: raw})
	}
	add("CustomResourceDefinition", "databases.example.com", "")
	add("CustomResourceDefinition", "kept.example.com", `"helm.sh/resource-policy":"keep"`)
	got := w.build().Removals[0]
	var deletes []string
	for _, ref := range got.Deletes {
		deletes = append(deletes, ref.Key().String())
	}
	want := []string{"configmap web/shared", "configmap web/own",
		"customresourcedefinition databases.example.com"}
	if diff := cmp.Diff(want, deletes); diff != "" || len(got.Kept) != 1 || len(got.Shared) != 1 ||
		got.Shared[0].Deployment.Name != "live" {
		t.Errorf("deletes (-want +got):\n%s\n%d kept, %d shared", diff, len(got.Kept), len(got.Shared))
	}
	if gk := got.CustomKinds["databases.example.com"]; len(got.CustomKinds) != 1 ||
		gk.String() != "Database.example.com" {
		t.Errorf("custom kinds %v", got.CustomKinds)
	}
}
