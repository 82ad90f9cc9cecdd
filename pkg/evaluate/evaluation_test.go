// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

var (
	workloads   = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	configMaps  = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	autoscalers = schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
)

// testCluster is a cluster with the live objects of random bundle deployments.
type testCluster struct {
	*rand.Rand
	desired *desired.State
	live    map[object.Key]source.Object
}

// newTestCluster makes four bundle deployments of two agents, whose scope only their releases show. Each desires two
// workloads, an autoscaler and three ConfigMaps. Neighbors desire one of them together. The record of the last one is
// in another namespace.
func newTestCluster(r *rand.Rand) *testCluster {
	on := &directory.Cluster{State: &state.Cluster{}}
	found := &directory.Directory{Fleet: &state.Fleet{}, Clusters: []*directory.Cluster{on}}
	var all []*desired.BundleDeployment
	for i := range 4 {
		name := fmt.Sprintf("b%d", i)
		own := ownership.Desired("default-"+name, name, namespaceOf(name))
		d := &desired.BundleDeployment{Deployment: directory.Deployment{Name: name, Placed: true,
			Agent: fmt.Sprintf("agent-%d", i%2), Scope: directory.AgentScope{Evidence: directory.EvidenceReleases},
			Release: release.Name{Namespace: namespaceOf(name), Name: name, Revision: 2}, Ownership: own,
			ReleaseOwnership: own},
			EarlierKnown: true, Earlier: map[desired.KindName]bool{{Kind: "ConfigMap",
				Name: fmt.Sprintf("old-%d", i)}: true}}
		add := func(gvk schema.GroupVersionKind, name, spec string) {
			ref := object.Ref{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: "web", Name: name}
			raw := fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":{"namespace":"web","name":%q},%s}`,
				ref.APIVersion, ref.Kind, name, spec)
			d.Desired = append(d.Desired, &desired.Object{Ref: ref, Deployment: d.ID(), Raw: raw, Namespaced: true,
				Index: len(d.Desired)})
		}
		for n := range 3 {
			add(configMaps, fmt.Sprintf("shared-%d", (2*i+n)%8), `"data":{"a":"1"}`)
		}
		for n := range 2 {
			add(workloads, fmt.Sprintf("web-%d-%d", i, n), `"spec":{"replicas":1}`)
		}
		add(autoscalers, fmt.Sprintf("scaler-%d", i), `"spec":{"maxReplicas":5}`)
		all, found.Deployments = append(all, d), append(found.Deployments, &d.Deployment)
	}
	return &testCluster{Rand: r, desired: desired.IndexState(found, all), live: map[object.Key]source.Object{}}
}

// namespaceOf is the namespace of a release.
func namespaceOf(release string) string {
	if release == "b3" {
		return "tenant"
	}
	return "web"
}

func (c *testCluster) evaluator() *Evaluator {
	return New(c.desired.On(c.desired.Clusters[0].ID), c.desired.Deployments, Options{})
}

// change creates, changes or deletes one live object, and returns its key and kind.
func (c *testCluster) change() (object.Key, schema.GroupVersionKind) {
	i := c.IntN(4)
	// Few objects have the set of a release, so that the objects of an agent often contradict its releases.
	own := []string{fmt.Sprintf("default-b%d-other", i), "", fmt.Sprintf("default-b%d", i)}[min(c.IntN(12)/5, 2)]
	gvk, name, spec := configMaps, fmt.Sprintf("shared-%d", c.IntN(8)), fmt.Sprintf(`"data":{"a":"%d"}`, c.IntN(2))
	switch c.IntN(4) {
	case 0:
		gvk, name = workloads, fmt.Sprintf("web-%d-%d", i, c.IntN(2))
		spec = fmt.Sprintf(`"spec":{"replicas":%d},"status":{"readyReplicas":%d}`, 1+c.IntN(6), c.IntN(2))
	case 1:
		gvk, name = autoscalers, fmt.Sprintf("scaler-%d", i)
		spec = fmt.Sprintf(`"spec":{"maxReplicas":%d,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment",`+
			`"name":"web-%d-0"}}`,
			1+c.IntN(6), c.IntN(4))
	case 2:
		name = fmt.Sprintf("old-%d", i)
	}
	named := []string{"b3", "", fmt.Sprintf("b%d", i)}[min(c.IntN(12), 2)]
	metadata := fmt.Sprintf(`"metadata":{"namespace":"web","name":%q,"labels":{%q:%q},"annotations":{%q:%q,%q:%q,`+
		`%q:%q}}`, name, fleet.HashLabel, fleet.Hash(own), fleet.IDAnnotation, own, fleet.ReleaseNameAnnotation,
		named, fleet.ReleaseNamespaceAnnotation, namespaceOf(named))
	raw := fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,%s,%s}`, gvk.GroupVersion().String(), gvk.Kind, metadata, spec)
	key := object.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: "web", Name: name}
	if c.live[key] = (source.Object{Item: object.Item{Raw: raw}, Kind: gvk}); c.IntN(4) == 0 {
		delete(c.live, key)
	}
	return key, gvk
}

// whole is the list of a kind that was read completely.
func whole() *List { return &List{Coverage: source.Covered(), Whole: true} }

// all evaluates all live objects.
func (c *testCluster) all(t *testing.T) *Evaluation {
	t.Helper()
	e := c.evaluator()
	observed := Observed{AutoscalersRead: source.Covered(),
		Lists: map[schema.GroupVersionKind]*List{configMaps: whole(), workloads: whole(), autoscalers: whole()}}
	for _, o := range c.live {
		seen, err := e.Observe(o, o.Kind)
		if err != nil {
			t.Fatal(err)
		}
		observed.Lists[o.Kind].Add(seen)
	}
	return e.Evaluate(observed)
}

// replace replaces what is known about one object.
func (c *testCluster) replace(t *testing.T, x *Evaluation, key object.Key, gvk schema.GroupVersionKind) {
	t.Helper()
	var seen Observation
	if live, exists := c.live[key]; exists {
		var err error
		if seen, err = x.Observe(live, gvk); err != nil {
			t.Fatal(err)
		}
	} else {
		for _, o := range x.cluster.Of(key) {
			seen.Objects = append(seen.Objects, Absent(o, whole()))
		}
	}
	for _, o := range seen.Objects {
		x.Replace(o)
	}
	x.ReplaceUndesired(key, seen.Undesired)
	if gvk == autoscalers {
		x.ReplaceAutoscaler(key.Namespace, key.Name, seen.Autoscaler)
	}
}

// TestReplace replaces random cells, undesired objects and autoscalers. The result is that of an evaluation of all live
// objects, and a bundle deployment that does not change is not made again without need.
func TestReplace(t *testing.T) {
	kept := 0
	for seed := range uint64(60) {
		c := newTestCluster(rand.New(rand.NewPCG(seed, 0)))
		x := c.all(t)
		for range 30 {
			before := x.Deployments()
			key, gvk := c.change()
			c.replace(t, x, key, gvk)
			got, want := x.Evaluated(), c.all(t).Evaluated()
			if !reflect.DeepEqual(got.Undesired, want.Undesired) {
				t.Fatalf("seed %d, %s: undesired %+v, want %+v", seed, key, got.Undesired, want.Undesired)
			}
			for i, d := range got.Deployments {
				if !reflect.DeepEqual(d, want.Deployments[i]) {
					t.Fatalf("seed %d, %s: %s is %+v, want %+v", seed, key, d.Key(), d, want.Deployments[i])
				}
				if d == before[i] {
					kept++
				}
			}
		}
	}
	if all := 60 * 30 * 4; kept < all/2 {
		t.Errorf("%d of %d bundle deployments were kept", kept, all)
	}
}

// TestReplaceOne checks that the replacement of a cell makes only its own bundle deployment be evaluated again.
func TestReplaceOne(t *testing.T) {
	c := newTestCluster(rand.New(rand.NewPCG(1, 1)))
	x := c.all(t)
	before := slices.Clone(x.Deployments())
	o := before[2].Objects[4]
	o.State = NotReady
	x.Replace(o)
	for i, d := range x.Deployments() {
		if again := d != before[i]; again != (i == 2) {
			t.Errorf("%s was evaluated again: %v", d.Key(), again)
		}
	}
}
