// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// system is a namespace of Fleet; one and two are namespaces of BundleDeployments.
const system, one, two = "cattle-fleet-system", "cluster-one", "cluster-two"

func deployment(namespace, name, version string) []byte {
	return fmt.Appendf(nil, `{"metadata": {"namespace": %q, "name": %q}, "spec": {"template": {"spec": {"containers": `+
		`[{"image": "registry.example.com/fleet:%s"}]}}}}`, namespace, name, version)
}

// TestController has Deployments with the names of Fleet's controllers in several namespaces, in both orders.
func TestController(t *testing.T) {
	for _, tc := range []struct {
		name string
		// controllers and gitjobs are the namespaces of the Deployments.
		controllers, gitjobs []string
		installed            string
		version              string // of gitjob: its namespace; "none" if it does not exist
	}{
		{"Fleet's namespace", []string{system}, []string{system}, system, system},
		{"a tenant has one too", []string{system, "a-tenant"}, []string{"a-tenant", system}, system, system},
		{"only a tenant has gitjob", []string{system}, []string{"tenant"}, system, "none"},
		{"installed in another namespace", []string{"fleet"}, []string{"tenant", "fleet"}, "fleet", "fleet"},
		{"several are possible", []string{"fleet", "tenant"}, []string{"fleet", "tenant"}, "", ""},
		{"several are possible, gitjob does not exist", []string{"fleet", "tenant"}, nil, "", "none"},
		{"no controller", nil, nil, "", "none"},
		{"no controller, a tenant has gitjob", nil, []string{"tenant"}, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 2 {
				f := &Fleet{}
				for name, namespaces := range map[string][]string{fleet.ControllerName: tc.controllers,
					fleet.GitJobName: tc.gitjobs} {
					for _, ns := range namespaces {
						if err := f.AddController(deployment(ns, name, ns)); err != nil {
							t.Fatal(err)
						}
					}
				}
				if f.Agents.ControllerNamespace != tc.installed || f.ControllerVersion != tc.installed {
					t.Errorf("Fleet is installed in %q with version %q, want %q", f.Agents.ControllerNamespace,
						f.ControllerVersion, tc.installed)
				}
				if _, known := f.Controller(fleet.GitJobName); known && tc.version == "none" {
					t.Error("gitjob is known before it was read")
				}
				f.ControllersRead(fleet.GitJobName)
				got := ""
				switch w, known := f.Controller(fleet.GitJobName); {
				case w != nil:
					got = w.Version
				case known:
					got = "none"
				}
				if got != tc.version {
					t.Errorf("gitjob is %q, want %q", got, tc.version)
				}
				slices.Reverse(tc.controllers)
				slices.Reverse(tc.gitjobs)
			}
		})
	}
}

// TestKeepOwnClusters checks that a Cluster does not hide the one for which Fleet made a namespace.
func TestKeepOwnClusters(t *testing.T) {
	const local = "cluster-fleet-local-local-1a3d67d0a899"
	cluster := func(namespace, name, deployments string) *v1alpha1.Cluster {
		c := &v1alpha1.Cluster{}
		c.Namespace, c.Name, c.Status.Namespace = namespace, name, deployments
		return c
	}
	f := &Fleet{Clusters: []*v1alpha1.Cluster{cluster("tenant", "local", local), cluster("fleet-local", "local", local),
		cluster("tenant", "x", local), cluster("tenant", "y", "one"), cluster("tenant", "z", "one"),
		cluster("tenant", "new", "")}}
	f.KeepOwnClusters()
	var got []string
	for _, c := range f.Clusters {
		got = append(got, c.Status.Namespace)
	}
	if diff := cmp.Diff([]string{"", local, "", "one", "one", ""}, got); diff != "" {
		t.Errorf("namespaces of the Clusters (-want +got):\n%s", diff)
	}
}

// TestKeepOwnAgents checks which agents are kept beside one that is Fleet's.
func TestKeepOwnAgents(t *testing.T) {
	reported := &Fleet{Clusters: []*v1alpha1.Cluster{{}}}
	reported.Clusters[0].Namespace, reported.Clusters[0].Status.Agent.Namespace = "fleet-default", "own"
	silent := &Fleet{Clusters: []*v1alpha1.Cluster{{}}}
	silent.Clusters[0].Status.Namespace = two
	movedFrom := &Fleet{Clusters: []*v1alpha1.Cluster{{}}}
	movedFrom.Clusters[0].Status.Namespace, movedFrom.Clusters[0].Status.Agent.Namespace = one, "own"
	tenants := &Fleet{Clusters: []*v1alpha1.Cluster{{}}}
	tenants.Clusters[0].Status.Namespace, tenants.Clusters[0].Status.Agent.Namespace = two, "a-tenant"
	for _, tc := range []struct {
		name    string
		fleet   *Fleet
		secrets map[string]string // deployments by agent; "-" if the Secret does not show them
		agents  []string          // with a workload
		want    []string
	}{
		{"two of Fleet's", &Fleet{}, map[string]string{system: one, "second": two}, []string{system, "second"},
			[]string{system, "second"}},
		{"a tenant's with the same deployments", &Fleet{}, map[string]string{system: one, "a-tenant": one},
			[]string{system, "a-tenant"}, []string{system}},
		{"a tenant's without a Secret", &Fleet{}, map[string]string{system: one}, []string{system, "a-tenant"},
			[]string{system}},
		{"a tenant's Secret alone", &Fleet{}, map[string]string{system: one, "a-tenant": one}, []string{system},
			[]string{system}},
		{"the one that a Cluster reports", reported, map[string]string{"own": one, "a-tenant": one},
			[]string{"own", "a-tenant"}, []string{"own"}},
		{"a tenant's with those of a Cluster that never reported", silent,
			map[string]string{system: one, "a-tenant": two}, []string{system, "a-tenant"}, []string{system}},
		{"a tenant's that reports to a Cluster of the tenant", tenants, map[string]string{system: one, "a-tenant": two},
			[]string{system, "a-tenant"}, []string{system}},
		{"the same, and Fleet's does not run or its workload was not read", tenants,
			map[string]string{system: one, "a-tenant": two}, []string{"a-tenant"}, []string{system}},
		{"the same, and no workload was read", tenants, map[string]string{system: one, "a-tenant": two}, nil,
			[]string{system}},
		{"a tenant's alone, without an agent of Fleet", tenants, map[string]string{"a-tenant": two},
			[]string{"a-tenant"}, nil},
		{"one that was moved", movedFrom, map[string]string{system: one, "own": one}, []string{system, "own"},
			[]string{system, "own"}},
		{"one of a tenant's own namespace", &Fleet{}, map[string]string{system: one, "a-tenant": "a-tenant"},
			[]string{system}, []string{system}},
		{"Fleet's does not run", &Fleet{}, map[string]string{system: one, "moved": one}, []string{"moved"},
			[]string{system, "moved"}},
		{"none is known to be Fleet's", &Fleet{}, map[string]string{"own": one, "a-tenant": one},
			[]string{"own", "a-tenant"}, []string{"own", "a-tenant"}},
		{"Secrets that do not show the deployments", &Fleet{}, map[string]string{system: "-", "second": "-"},
			[]string{system, "second"}, []string{system, "second"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &Cluster{}
			for agent, deployments := range tc.secrets {
				if deployments == "-" {
					put(&c.HiddenAgentSecrets, agent, true)
				} else {
					put(&c.AgentSecrets, agent, deployments)
				}
			}
			for _, agent := range tc.agents {
				put(&c.Workloads, agent, Workload{Kind: kindDeployment})
			}
			c.KeepOwnAgents(tc.fleet)
			got := slices.Sorted(maps.Keys(c.AgentNamespaces()))
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("agents (-want +got):\n%s", diff)
			}
		})
	}
}

// TestKeepOwnDeployments checks that a BundleDeployment in a namespace of a user does not count.
func TestKeepOwnDeployments(t *testing.T) {
	f := &Fleet{}
	for _, namespace := range []string{one, "tenant", "fleet-local"} {
		bd := &v1alpha1.BundleDeployment{}
		bd.Namespace = namespace
		f.BundleDeployments = append(f.BundleDeployments, bd)
	}
	f.KeepOwnDeployments()
	if len(f.BundleDeployments) != 1 || f.BundleDeployments[0].Namespace != one {
		t.Errorf("kept %d BundleDeployments: %+v", len(f.BundleDeployments), f.BundleDeployments)
	}
}
