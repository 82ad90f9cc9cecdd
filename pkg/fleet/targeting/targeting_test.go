// SPDX-License-Identifier: Apache-2.0

package targeting

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// world is the data of a test in YAML. Clusters and groups are in namespace "w", unless they state one.
type world struct {
	Clusters []*v1alpha1.Cluster                `json:"clusters"`
	Groups   []*v1alpha1.ClusterGroup           `json:"groups"`
	Mappings []*v1alpha1.BundleNamespaceMapping `json:"mappings"`
	// Namespaces are the labels of Namespaces, by name.
	Namespaces map[string]map[string]string `json:"namespaces"`
}

func parse[T any](t *testing.T, text string) T {
	t.Helper()
	var out T
	if err := yaml.UnmarshalStrict([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// cluster returns a cluster with labels "k=v,...", ready for deployments.
func cluster(name, labels string) *v1alpha1.Cluster {
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "w", Name: name, Labels: map[string]string{}}}
	c.Status.Namespace = "cluster-w-" + name
	for pair := range strings.SplitSeq(labels, ",") {
		if k, v, ok := strings.Cut(pair, "="); ok {
			c.Labels[k] = v
		}
	}
	return c
}

func clusterGroup(name, labels, selector string) *v1alpha1.ClusterGroup {
	g := &v1alpha1.ClusterGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "w", Name: name, Labels: cluster("", labels).
		Labels}}
	if selector != "none" {
		g.Spec.Selector = &metav1.LabelSelector{MatchLabels: cluster("", selector).Labels}
	}
	return g
}

// short is a result in one line: "Expected all+prod", "Excluded DoNotDeploy skip-eu".
func short(r Result) string {
	parts := []string{string(r.Outcome)}
	if r.Reason != "" {
		parts = append(parts, string(r.Reason))
	}
	switch {
	case r.Decides != nil:
		parts = append(parts, r.Decides.String())
	case r.Target != nil:
		name := r.Target.String()
		for _, c := range r.Customizations {
			name += "+" + c.String()
		}
		parts = append(parts, name)
	}
	if r.Group != "" {
		parts = append(parts, "in "+r.Group)
	}
	if r.OptionsUnknown {
		parts = append(parts, "?")
	}
	return strings.Join(parts, " ")
}

func results(in Input, b *v1alpha1.Bundle) map[string]string {
	out := map[string]string{}
	for r := range New(in).Bundle(b).Results() {
		out[strings.TrimPrefix(r.Cluster.Key(), "w/")] = short(r)
	}
	return out
}

func bundle(t *testing.T, spec string) *v1alpha1.Bundle {
	t.Helper()
	return &v1alpha1.Bundle{ObjectMeta: metav1.ObjectMeta{Namespace: "w", Name: "b"},
		Spec: parse[v1alpha1.BundleSpec](t, spec)}
}

const (
	v010, v0136, v0137, v0140, v0141, v0142, v015, v016 = "v0.10.4", "v0.13.6", "v0.13.7", "v0.14.0", "v0.14.1",
		"v0.14.2", "v0.15.3", "v0.16.1"
)

var eachVersion = []string{v010, v0136, v0137, v0140, v0141, v0142, v015, "v0.16.0-rc.1", v016, "105.0.0-up0.17.0",
	"dev"}

// TestExample is the example of docs/fleet-behavior.md, 5.6.
func TestExample(t *testing.T) {
	clusters := []*v1alpha1.Cluster{cluster("c1", "env=dev"), cluster("c2", "env=prod"),
		cluster("c3", "env=prod,region=eu")}
	const prod, skip, all = "{name: prod, clusterSelector: {matchLabels: {env: prod}}}",
		"{name: skip-eu, clusterSelector: {matchLabels: {region: eu}}, doNotDeploy: true}",
		"{name: all, clusterSelector: {}}"
	for _, tt := range []struct {
		name, mode string
		targets    []string
		want       map[string]string
	}{
		{"the first customization decides", "FirstMatch", []string{prod, skip, all},
			map[string]string{"c1": "Expected all", "c2": "Expected all+prod", "c3": "Expected all+prod"}},
		{"every customization decides", "AllMatches", []string{prod, skip, all},
			map[string]string{"c1": "Expected all", "c2": "Expected all+prod", "c3": "Excluded DoNotDeploy skip-eu"}},
		{"the exclusion first", "FirstMatch", []string{skip, prod, all},
			map[string]string{"c1": "Expected all", "c2": "Expected all+prod", "c3": "Excluded DoNotDeploy skip-eu"}},
		{"the exclusion first, every customization", "AllMatches", []string{skip, prod, all},
			map[string]string{"c1": "Expected all", "c2": "Expected all+prod", "c3": "Excluded DoNotDeploy skip-eu"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := bundle(t, fmt.Sprintf("{targetCustomizationMode: %s, targets: [%s], targetRestrictions: [%s]}",
				tt.mode, strings.Join(tt.targets, ", "), all))
			for _, version := range []string{v016, "dev"} {
				if diff := cmp.Diff(tt.want, results(Input{Clusters: clusters, Version: version}, b)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", version, diff)
				}
			}
			if tt.mode == "AllMatches" {
				return // older versions do not have it
			}
			b.Spec.TargetCustomizationMode = ""
			for _, version := range eachVersion {
				if diff := cmp.Diff(tt.want, results(Input{Clusters: clusters, Version: version}, b)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", version, diff)
				}
			}
		})
	}
}

// TestMatch has the cases that are the same in every version.
func TestMatch(t *testing.T) {
	two := []*v1alpha1.Cluster{cluster("a", "env=dev"), cluster("b", "")}
	for _, tt := range []struct {
		name string
		in   Input
		spec string
		want map[string]string
	}{
		{"an empty selector matches every cluster", Input{Clusters: two}, "targets: [{name: t, clusterSelector: {}}]",
			map[string]string{"a": "Expected t", "b": "Expected t"}},
		{"no field matches no cluster", Input{Clusters: two}, "targets: [{name: t}]",
			map[string]string{"a": "Excluded NoMatch", "b": "Excluded NoMatch"}},
		{"no target", Input{Clusters: two}, "{}",
			map[string]string{"a": "Excluded NoMatch", "b": "Excluded NoMatch"}},
		{"a target without a name", Input{Clusters: two}, "targets: [{clusterName: a}]",
			map[string]string{"a": "Expected targets[0]", "b": "Excluded NoMatch"}},
		{"the default group", Input{Clusters: two, Groups: []*v1alpha1.ClusterGroup{clusterGroup("default", "",
			"env=dev")}},
			"targets: [{name: default, clusterGroup: default}]",
			map[string]string{"a": "Expected default in default", "b": "Excluded NoMatch"}},
		{"a group without a selector has no cluster",
			Input{Clusters: two, Groups: []*v1alpha1.ClusterGroup{clusterGroup("g", "", "none")}},
			"targets: [{name: t, clusterGroup: g}]", map[string]string{"a": "Excluded NoMatch",
				"b": "Excluded NoMatch"}},
		{"a group of another namespace", Input{Clusters: two,
			Groups: []*v1alpha1.ClusterGroup{elsewhere(clusterGroup("g", "", ""))}},
			"targets: [{name: t, clusterGroup: g}]", map[string]string{"a": "Excluded NoMatch",
				"b": "Excluded NoMatch"}},
		{"fields combine with AND", Input{Clusters: []*v1alpha1.Cluster{cluster("a", "env=dev"),
			cluster("c", "env=dev")}},
			"targets: [{name: t, clusterName: a, clusterSelector: {matchLabels: {env: dev}}}]",
			map[string]string{"a": "Expected t", "c": "Excluded NoMatch"}},
		{"an empty group selector matches a cluster without groups", Input{Clusters: two},
			"targets: [{name: t, clusterGroupSelector: {}}]",
			map[string]string{"a": "Expected t", "b": "Expected t"}},
		{"a group selector with NotIn matches a cluster without groups", Input{Clusters: two},
			"targets: [{name: t, clusterGroupSelector: {matchExpressions: [{key: k, operator: NotIn, values: [v]}]}}]",
			map[string]string{"a": "Expected t", "b": "Expected t"}},
		{"the criteria must hold for the same group", Input{
			Clusters: []*v1alpha1.Cluster{cluster("a", "env=dev")},
			Groups:   []*v1alpha1.ClusterGroup{clusterGroup("g1", "tier=1", ""), clusterGroup("g2", "tier=2", "")},
		}, "targets: [{name: t, clusterGroup: g1, clusterGroupSelector: {matchLabels: {tier: '2'}}}]",
			map[string]string{"a": "Excluded NoMatch"}},
		{"two groups, the second one matches", Input{
			Clusters: []*v1alpha1.Cluster{cluster("a", "env=dev")},
			Groups:   []*v1alpha1.ClusterGroup{clusterGroup("g1", "tier=1", ""), clusterGroup("g2", "tier=2", "")},
		}, "targets: [{name: t, clusterGroup: g2, clusterGroupSelector: {matchLabels: {tier: '2'}}, clusterSelector: " +
			"{matchLabels: {env: dev}}}]",
			map[string]string{"a": "Expected t in g2"}},
		{"the restriction must hold for the same group", Input{
			Clusters: []*v1alpha1.Cluster{cluster("a", "env=dev")},
			Groups:   []*v1alpha1.ClusterGroup{clusterGroup("g1", "tier=1", ""), clusterGroup("g2", "tier=2", "")},
		}, "{targets: [{name: t, clusterGroup: g1}], targetRestrictions: [{clusterGroup: g2}]}",
			map[string]string{"a": "Excluded Restricted"}},
		{"overrideTargets replace the targets", Input{Clusters: []*v1alpha1.Cluster{cluster("a", "env=dev"),
			cluster("b", "env=prod")}},
			"{targets: [{name: o, clusterName: b}], targetRestrictions: [{name: o, clusterName: b}]}",
			map[string]string{"a": "Excluded NoMatch", "b": "Expected o"}},
		{"overrideTargets [] makes customizations targets", Input{Clusters: []*v1alpha1.Cluster{cluster("a", "env=dev"),
			cluster("b", "env=prod")}},
			"{targets: [{name: custom, clusterSelector: {matchLabels: {env: dev}}}]}",
			map[string]string{"a": "Expected custom", "b": "Excluded NoMatch"}},
		{"a customization selects no cluster", Input{Clusters: two},
			"{targets: [{name: custom, clusterName: a}, {name: t, clusterName: b}], targetRestrictions: " +
				"[{clusterName: b}]}",
			map[string]string{"a": "Excluded Restricted", "b": "Expected t"}},
		{"a target of a HelmOp with doNotDeploy", Input{Clusters: two},
			"{helmOpOptions: {}, targets: [{name: skip, clusterName: a, doNotDeploy: true}, {name: t, " +
				"clusterSelector: {}}]}",
			map[string]string{"a": "Excluded DoNotDeploy skip", "b": "Expected t"}},
		{"doNotDeploy after a broader target has no effect", Input{Clusters: two},
			"{helmOpOptions: {}, targets: [{name: t, clusterSelector: {}}, {name: skip, clusterName: a, doNotDeploy: " +
				"true}]}",
			map[string]string{"a": "Expected t", "b": "Expected t"}},
		{"paused changes nothing", Input{Clusters: two}, "{paused: true, targets: [{name: t, clusterSelector: {}}]}",
			map[string]string{"a": "Expected t", "b": "Expected t"}},
		{"a selector that is not valid", Input{Clusters: two},
			"targets: [{name: t, clusterName: a}, {clusterSelector: {matchExpressions: [{key: k, operator: Is}]}}]",
			map[string]string{"a": "Unknown InvalidTarget", "b": "Unknown InvalidTarget"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := bundle(t, tt.spec)
			for _, version := range eachVersion {
				tt.in.Version = version
				if diff := cmp.Diff(tt.want, results(tt.in, b)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", version, diff)
				}
			}
		})
	}
}

func elsewhere(g *v1alpha1.ClusterGroup) *v1alpha1.ClusterGroup {
	g.Namespace = "x"
	return g
}

// TestVersions has the cases in which versions differ.
func TestVersions(t *testing.T) {
	const display = "management.cattle.io/cluster-display-name"
	named := []*v1alpha1.Cluster{cluster("c-1", display+"=paris"), cluster("c-2", "")}
	for _, tt := range []struct {
		name string
		in   Input
		spec string
		want map[string]string // by version
	}{
		{"the display name", Input{Clusters: named[:1]}, "targets: [{name: t, clusterName: paris}]", map[string]string{
			v010: "Excluded NoMatch", v0136: "Excluded NoMatch", v0137: "Expected t", v0140: "Excluded NoMatch",
			v0141: "Excluded NoMatch", v0142: "Expected t", v015: "Expected t", v016: "Expected t",
			"dev": "Unknown VersionUnknown"}},
		{"the display name in a restriction", Input{Clusters: named[:1]},
			"{targets: [{name: t, clusterSelector: {}}], targetRestrictions: [{clusterName: paris}]}",
			map[string]string{
				v0136: "Excluded Restricted",
				v0137: "Expected t",
				v016:  "Expected t",
				"dev": "Unknown VersionUnknown",
			}},
		{"the name of a cluster without a display name", Input{Clusters: named[1:]},
			"targets: [{name: t, clusterName: c-2}]", map[string]string{
				v010: "Expected t", v016: "Expected t", "dev": "Expected t"}},
		{"the type of the mode proves the version", Input{Clusters: named[:1]},
			"{targetCustomizationMode: FirstMatch, targets: [{name: t, clusterName: paris}]}", map[string]string{
				"dev": "Expected t", "": "Expected t"}},
		{"before 0.16, a customization that is allowed selects a cluster",
			Input{Clusters: []*v1alpha1.Cluster{cluster("a", "env=dev")}},
			"{targets: [{name: custom, clusterName: a}, {name: t, clusterName: other}], targetRestrictions: " +
				"[{clusterSelector: {}}]}", map[string]string{
				v010: "Expected custom", v015: "Expected custom", "v0.16.0-rc.1": "Expected custom",
				v016: "Excluded CustomizationOnly", "dev": "Unknown VersionUnknown"}},
		{"doNotDeploy of a target behind a customization",
			Input{Clusters: []*v1alpha1.Cluster{cluster("a", "env=dev")}},
			"{targets: [{name: custom, clusterName: a}, {name: t, clusterSelector: {}, doNotDeploy: true}], " +
				"targetRestrictions: [{clusterSelector: {}}]}", map[string]string{
				v015: "Expected t+custom", v016: "Excluded DoNotDeploy t", "dev": "Unknown VersionUnknown"}},
		{"a customization in another group than the one that is allowed",
			Input{Clusters: []*v1alpha1.Cluster{cluster("a", "env=dev")},
				Groups: []*v1alpha1.ClusterGroup{clusterGroup("g1", "", ""), clusterGroup("g2", "", "")}},
			"{targets: [{name: custom, clusterGroup: g2}, {name: t, clusterGroup: g1}], targetRestrictions: " +
				"[{clusterGroup: g1}]}", map[string]string{
				v015: "Expected t+custom in g1", v016: "Expected t+custom in g1", "dev": "Expected t+custom in g1"}},
		{"a target in a group that is not allowed", Input{Clusters: []*v1alpha1.Cluster{cluster("a", "env=dev")},
			Groups: []*v1alpha1.ClusterGroup{clusterGroup("g1", "", ""), clusterGroup("g2", "", "")}},
			"{targets: [{name: t1, clusterGroup: g2}, {name: t2, clusterGroup: g1}], targetRestrictions: " +
				"[{clusterGroup: g1}, {clusterName: z}]}", map[string]string{
				v015: "Expected t2+t1 in g1", v016: "Expected t2 in g1", "dev": "Expected t2 in g1 ?"}},
		{"more restrictions than targets", Input{Clusters: []*v1alpha1.Cluster{cluster("a", "env=dev")}},
			"{targets: [{name: t, clusterName: a}], targetRestrictions: [{clusterName: z}, {clusterName: a}]}",
			map[string]string{v015: "Expected t", v016: "Expected t", "dev": "Expected t"}},
		{"AllMatches before 0.16 has no effect", Input{Clusters: []*v1alpha1.Cluster{cluster("a", "env=dev")}},
			"{targetCustomizationMode: AllMatches, targets: [{name: c1, clusterName: a}, {name: c2, clusterSelector: " +
				"{}}, {name: t, clusterSelector: {}}], targetRestrictions: [{clusterSelector: {}}]}",
			map[string]string{v015: "Expected t+c1", v016: "Expected t+c1+c2", "dev": "Expected t+c1+c2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := bundle(t, tt.spec)
			for version, want := range tt.want {
				tt.in.Version = version
				got := results(tt.in, b)
				if diff := cmp.Diff(want, got[tt.in.Clusters[0].Name]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", version, diff)
				}
			}
		})
	}
}

// TestNamespaces checks the namespaces that a bundle reaches.
func TestNamespaces(t *testing.T) {
	w := parse[world](t, `
clusters:
- {metadata: {namespace: w, name: c}, status: {namespace: cluster-w-c}}
- {metadata: {namespace: x, name: c}, status: {namespace: cluster-x-c}}
- {metadata: {namespace: z, name: c}}
mappings:
- {metadata: {namespace: w, name: m}, bundleSelector: {matchLabels: {shared: 'yes'}},
    namespaceSelector: {matchLabels: {team: x}}}
- {metadata: {namespace: w, name: no-bundles}, namespaceSelector: {}}
- {metadata: {namespace: w, name: no-namespaces}, bundleSelector: {}}
- {metadata: {namespace: w, name: not-valid}, bundleSelector: {},
    namespaceSelector: {matchExpressions: [{key: k, operator: Is}]}}
- {metadata: {namespace: z, name: other}, bundleSelector: {}, namespaceSelector: {}}
namespaces: {w: {}, x: {team: x}, z: {team: z}}
`)
	unread := func(kinds ...string) func(string, string) bool {
		return func(kind, _ string) bool { return !slices.Contains(kinds, kind) }
	}
	for _, tt := range []struct {
		name     string
		change   func(*v1alpha1.Bundle, *Input)
		want     map[string]string
		complete bool
	}{
		{"no mapping selects the bundle", func(*v1alpha1.Bundle, *Input) {}, map[string]string{"c": "Expected t"},
			true},
		{"a mapping selects the bundle and a namespace", func(b *v1alpha1.Bundle, _ *Input) {
			b.Labels = map[string]string{"shared": "yes"}
		},
			map[string]string{"c": "Expected t", "x/c": "Expected t"}, true},
		{"a bundle of another namespace", func(b *v1alpha1.Bundle, _ *Input) { b.Namespace = "z" },
			map[string]string{"c": "Expected t", "x/c": "Expected t", "z/c": "Blocked NoNamespace t"}, true},
		{"mappings are not read", func(_ *v1alpha1.Bundle, in *Input) {
			in.Mappings, in.Read = nil, unread(KindMapping)
		},
			map[string]string{"c": "Expected t", "x/c": "Unknown MappingsUnread", "z/c": "Unknown MappingsUnread"},
			false},
		{"namespaces are not read", func(b *v1alpha1.Bundle, in *Input) {
			b.Labels = map[string]string{"shared": "yes"}
			in.Namespaces, in.Read = nil, unread(KindNamespace)
		}, map[string]string{"c": "Expected t", "x/c": "Unknown MappingsUnread", "z/c": "Unknown MappingsUnread"},
			false},
		{"namespaces are not read, and not needed", func(_ *v1alpha1.Bundle, in *Input) {
			in.Mappings, in.Namespaces, in.Read = nil, nil, unread(KindNamespace)
		}, map[string]string{"c": "Expected t"}, true},
		{"groups are not read, and not needed", func(_ *v1alpha1.Bundle, in *Input) { in.Read = unread(KindGroup) },
			map[string]string{"c": "Expected t"}, true},
		{"groups are not read", func(b *v1alpha1.Bundle, in *Input) {
			b.Spec.TargetRestrictions, in.Read = []v1alpha1.ClusterTarget{{ClusterGroup: "g"}}, unread(KindGroup)
		}, map[string]string{"c": "Unknown GroupsUnread"}, true},
		{"clusters are not read", func(_ *v1alpha1.Bundle, in *Input) { in.Read = unread(KindCluster) },
			map[string]string{"c": "Expected t"}, false},
		{"an agent bundle reaches one cluster", func(b *v1alpha1.Bundle, _ *Input) {
			b.Name, b.Annotations = "fleet-agent-c",
				map[string]string{"objectset.rio.cattle.io/id": "fleet-manage-agent"}
			b.Labels = map[string]string{"shared": "yes"}
		}, map[string]string{"c": "Expected t"}, true},
		{"the agent bundle of another cluster", func(b *v1alpha1.Bundle, _ *Input) {
			b.Name, b.Annotations = "fleet-agent-d",
				map[string]string{"objectset.rio.cattle.io/id": "fleet-manage-agent"}
		}, map[string]string{"c": "Excluded OtherAgent"}, true},
		{"a bundle with the name of an agent's", func(b *v1alpha1.Bundle, _ *Input) { b.Name = "fleet-agent-d" },
			map[string]string{"c": "Expected t"}, true},
		{"a cluster that is being deleted", func(_ *v1alpha1.Bundle, in *Input) {
			c := *in.Clusters[0]
			c.DeletionTimestamp = &metav1.Time{}
			in.Clusters = []*v1alpha1.Cluster{&c}
		}, map[string]string{"c": "Expected t"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := bundle(t, "targets: [{name: t, clusterSelector: {}}]")
			in := Input{Clusters: w.Clusters, Mappings: w.Mappings, Namespaces: w.Namespaces, Version: v016}
			tt.change(b, &in)
			if diff := cmp.Diff(tt.want, results(in, b)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := New(in).Bundle(b).Complete(); got != tt.complete {
				t.Errorf("complete: %v", got)
			}
		})
	}
}

// TestLabelChange checks that a result follows the present labels: 51 new clusters, and one that loses its label.
func TestLabelChange(t *testing.T) {
	var clusters []*v1alpha1.Cluster
	for i := range 51 {
		clusters = append(clusters, cluster(fmt.Sprintf("c%02d", i), "env=prod"))
	}
	b := bundle(t, "targets: [{name: t, clusterSelector: {matchLabels: {env: prod}}}]")
	count := func() int {
		n := 0
		for r := range New(Input{Clusters: clusters}).Bundle(b).Results() {
			if r.Outcome == Expected {
				n++
			}
		}
		return n
	}
	if n := count(); n != 51 {
		t.Errorf("%d clusters", n)
	}
	clusters[7].Labels["env"] = "dev"
	if n := count(); n != 50 {
		t.Errorf("%d clusters after the change of a label", n)
	}
}

func TestOn(t *testing.T) {
	in := Input{Clusters: []*v1alpha1.Cluster{cluster("a", "")}}
	b := New(in).Bundle(bundle(t, "targets: [{name: t, clusterSelector: {}}]"))
	if r, ok := b.On("w", "a"); !ok || short(r) != "Expected t" {
		t.Errorf("%v %s", ok, short(r))
	}
	if _, ok := b.On("w", "gone"); ok {
		t.Error("a cluster that does not exist was found")
	}
	in.Clusters[0].Namespace = "x"
	if r, ok := New(in).Bundle(b.Bundle).On("x", "a"); !ok || short(r) != "Excluded OtherNamespace" {
		t.Errorf("%v %s", ok, short(r))
	}
}
