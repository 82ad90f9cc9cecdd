// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// waiting returns a bundle deployment in the namespace one that is not applied.
func waiting(name string, on ...v1alpha1.BundleRef) *v1alpha1.BundleDeployment {
	bd := &v1alpha1.BundleDeployment{}
	bd.Namespace, bd.Name = "one", name
	bd.Labels = map[string]string{fleet.BundleLabel: name, fleet.BundleNamespaceLabel: "team"}
	bd.Spec.DeploymentID, bd.Spec.StagedDeploymentID, bd.Spec.DependsOn = "i:2", "i:2", on
	bd.Status.Conditions = []v1alpha1.Condition{{Type: "Ready", Status: "False"}}
	return bd
}

// applied changes a bundle deployment to one that is applied, in a state.
func applied(bd *v1alpha1.BundleDeployment, s fleet.BundleState) *v1alpha1.BundleDeployment {
	bd.Status.AppliedDeploymentID = bd.Spec.DeploymentID
	bd.Status.Ready, bd.Status.NonModified = s != fleet.NotReady, s != fleet.Modified
	if s == fleet.Ready {
		bd.Status.Conditions = []v1alpha1.Condition{{Type: "Ready", Status: "True"}}
	}
	return bd
}

func on(name string, accepted ...string) v1alpha1.BundleRef {
	return v1alpha1.BundleRef{Name: name, AcceptedStates: accepted}
}

// blockedBy returns the kinds of the chain of the first bundle deployment, and the name of the last one in it. version
// is that of the agent.
func blockedBy(t *testing.T, version string, bds ...*v1alpha1.BundleDeployment) string {
	t.Helper()
	f := &state.Fleet{BundleDeployments: bds,
		Coverage: map[string]source.Coverage{state.BundleDeployment: source.Covered()}}
	c := &state.Cluster{AgentSecrets: map[string]string{"system": "one"},
		Workloads: map[string]state.Workload{"system": {Version: version}}}
	clusters := []*state.Cluster{c}
	found := directory.Build(directory.Input{Fleet: f, Clusters: clusters})
	wanted := desired.Resolve(desired.Input{Directory: found, Clusters: clusters})
	in := New(facts.New(&evaluate.Result{Desired: wanted, Whole: true}, &secret.Quotations{}), remedy.Commands{}, nil)
	i := slices.IndexFunc(wanted.Deployments, func(d *desired.BundleDeployment) bool { return d.BD == bds[0] })
	chain := in.Causes().Blocked(&wanted.Deployments[i].Deployment)
	if len(chain) == 0 {
		return ""
	}
	var kinds []string
	for _, b := range chain {
		kinds = append(kinds, string(b.Kind))
	}
	return strings.Join(kinds, " ") + " " + chain[len(chain)-1].Deployment.Name
}

// TestDependencies checks the rules for dependencies, by the version of the agent (docs/fleet-behavior.md, 4.9).
func TestDependencies(t *testing.T) {
	saysSo := waiting("app", on("db"))
	saysSo.Status.Conditions = append(saysSo.Status.Conditions,
		v1alpha1.Condition{Type: "Deployed", Status: "False", Message: "dependent bundle(s) are not ready: [db]"})
	failed := waiting("app", on("db"))
	failed.Status.Conditions = append(failed.Status.Conditions,
		v1alpha1.Condition{Type: "Deployed", Status: "False", Message: "another error"})
	refused := applied(waiting("app", on("db")), fleet.NotReady)
	refused.Status.Conditions = append(refused.Status.Conditions,
		v1alpha1.Condition{Type: "Installed", Status: "False"})
	// Its status is of the deployment before: ready by its condition, not by its state.
	paused := applied(waiting("db"), fleet.Ready)
	paused.Spec.Paused, paused.Spec.DeploymentID = true, "i:3"
	labelled := v1alpha1.BundleRef{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "data"}}}
	data := applied(waiting("db"), fleet.NotReady)
	data.Labels["tier"] = "data"
	foreign := applied(waiting("db"), fleet.NotReady)
	foreign.Labels[fleet.BundleNamespaceLabel], foreign.Labels["tier"] = "other", "data"
	newer := applied(waiting("db"), fleet.NotReady)
	newer.Status.Display.State = "WaitingForDependency"
	for _, tc := range []struct {
		name, version string
		bds           []*v1alpha1.BundleDeployment
		want          string
	}{
		{"ready", "v0.16.1", []*v1alpha1.BundleDeployment{waiting("app", on("db")),
			applied(waiting("db"), fleet.Ready)}, ""},
		{"not ready", "v0.16.1", []*v1alpha1.BundleDeployment{waiting("app", on("db")),
			applied(waiting("db"), fleet.NotReady)}, "Dependency ReportedState db"},
		{"modified", "v0.14.9", []*v1alpha1.BundleDeployment{waiting("app", on("db")),
			applied(waiting("db"), fleet.Modified)}, "Dependency ReportedState db"},
		{"absent", "v0.16.1", []*v1alpha1.BundleDeployment{waiting("app", on("db"))}, "DependencyAbsent app"},
		{"no name and no selector", "v0.16.1", []*v1alpha1.BundleDeployment{waiting("app", on(""))}, ""},
		{"an accepted state", "v0.16.1", []*v1alpha1.BundleDeployment{waiting("app", on("db", "NotReady")),
			applied(waiting("db"), fleet.NotReady)}, ""},
		{"accepted states before 0.15", "v0.14.9",
			[]*v1alpha1.BundleDeployment{waiting("app", on("db", "NotReady")),
				applied(waiting("db"), fleet.NotReady)}, "Dependency ReportedState db"},
		{"Ready is not in the list", "v0.16.1",
			[]*v1alpha1.BundleDeployment{waiting("app", on("db", "Modified")),
				applied(waiting("db"), fleet.Ready)}, "Dependency ReportedState db"},
		{"an accepted state, the version is not known", "dev",
			[]*v1alpha1.BundleDeployment{waiting("app", on("db", "NotReady")),
				applied(waiting("db"), fleet.NotReady)}, ""},
		{"a state that is not known", "v0.16.2",
			[]*v1alpha1.BundleDeployment{waiting("app", on("db", "WaitingForDependency")), newer}, ""},
		{"an old status", "v0.16.1", []*v1alpha1.BundleDeployment{waiting("app", on("db")), paused},
			"Dependency Paused db"},
		{"an old status before 0.15", "v0.14.9", []*v1alpha1.BundleDeployment{waiting("app", on("db")), paused}, ""},
		{"an old status, the version is not known", "", []*v1alpha1.BundleDeployment{waiting("app", on("db")), paused},
			""},
		{"an old status, the agent says that it waits", "", []*v1alpha1.BundleDeployment{saysSo, paused},
			"Dependency Paused db"},
		{"the agent says that it waits, and the dependency is ready", "v0.16.1",
			[]*v1alpha1.BundleDeployment{saysSo, applied(waiting("db"), fleet.Ready)}, ""},
		{"another error than that", "v0.16.1",
			[]*v1alpha1.BundleDeployment{failed, applied(waiting("db"), fleet.Ready)}, "DeployFailed app"},
		{"a refused installation, and a dependency that is not ready", "v0.16.1",
			[]*v1alpha1.BundleDeployment{refused, applied(waiting("db"), fleet.NotReady)}, "DeployFailed app"},
		{"a selector", "v0.16.1", []*v1alpha1.BundleDeployment{waiting("app", labelled), data},
			"Dependency ReportedState db"},
		{"a selector, another workspace", "v0.16.1", []*v1alpha1.BundleDeployment{waiting("app", labelled), foreign},
			"Dependency ReportedState db"},
		{"a name, another workspace", "v0.16.1", []*v1alpha1.BundleDeployment{waiting("app", on("db")), foreign},
			"DependencyAbsent app"},
		{"a selector that selects nothing", "v0.16.1",
			[]*v1alpha1.BundleDeployment{waiting("app", labelled), waiting("db")}, "DependencyAbsent app"},
		{"several dependencies", "v0.16.1", []*v1alpha1.BundleDeployment{waiting("app", on("one"), on("two"),
			on("three")),
			applied(waiting("one"), fleet.Ready), applied(waiting("two"), fleet.Modified), applied(waiting("three"),
				fleet.NotReady)}, "Dependency ReportedState two"},
		{"a chain of three", "v0.16.1", []*v1alpha1.BundleDeployment{waiting("app", on("middle")),
			waiting("middle", on("db")), paused}, "Dependency Dependency Paused db"},
		{"a cycle", "v0.16.1", []*v1alpha1.BundleDeployment{waiting("app", on("b")), waiting("b", on("app"))},
			"Dependency Dependency DependencyCycle app"},
		{"itself", "v0.16.1", []*v1alpha1.BundleDeployment{waiting("app", on("app"))},
			"Dependency DependencyCycle app"},
		{"a cycle behind it", "v0.16.1", []*v1alpha1.BundleDeployment{waiting("app", on("b")), waiting("b", on("c")),
			waiting("c", on("b"))}, "Dependency Dependency Dependency DependencyCycle b"},
	} {
		if got := blockedBy(t, tc.version, tc.bds...); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestChains: on random dependencies, every chain has exactly one root, which is its last step, and no step twice
// except for the end of a cycle.
func TestChains(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		var bds []*v1alpha1.BundleDeployment
		n := 1 + random.IntN(12)
		for i := range n {
			bd := waiting(fmt.Sprintf("b%d", i))
			for range random.IntN(3) {
				bd.Spec.DependsOn = append(bd.Spec.DependsOn, on(fmt.Sprintf("b%d", random.IntN(n+1))))
			}
			switch random.IntN(6) {
			case 0:
				applied(bd, fleet.Ready)
			case 1:
				applied(bd, fleet.NotReady)
			case 2:
				bd.Spec.Paused = true
			}
			bds = append(bds, bd)
		}
		for i := range bds {
			bds[0], bds[i] = bds[i], bds[0]
			got := strings.Fields(blockedBy(t, "v0.16.1", bds...))
			for j := 0; j < len(got)-2; j++ {
				if got[j] != string(StepDependency) {
					t.Fatalf("step %d of %v is not a dependency", j, got)
				}
			}
			if len(got) > n+2 || len(got) > 0 && got[len(got)-2] == string(StepDependency) {
				t.Fatalf("the chain does not end in a root: %v", got)
			}
		}
	}
}

// TestReadObject: a role is suggested only where a right is missing, or where a capture lacks objects.
func TestReadObject(t *testing.T) {
	for _, tc := range []struct {
		origin       source.Origin
		reason, want string
	}{
		{source.OriginCluster, string(source.Forbidden), "prints the role that the audit needs"},
		{source.OriginCluster, string(source.KindNotServed), "install the definition of the kind"},
		{source.OriginCluster, string(source.ReadFailed), "resolve what the message names"},
		{source.OriginSnapshot, string(source.KindNotServed), "capture the cluster again"},
	} {
		in := New(&facts.Facts{Result: &evaluate.Result{Source: source.Description{Origin: tc.origin}}},
			remedy.Commands{}, nil)
		c := &Causes{in: in}
		got := c.readObject(&evaluate.Object{Reason: tc.reason}).Text
		if !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s, %s: %q, want %q", tc.origin, tc.reason, got, tc.want)
		}
	}
}
