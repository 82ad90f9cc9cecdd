// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// TestObservedLookAgain checks that an observation carries the time at which the readiness of the live object changes,
// whatever the state of the object is. The readiness of an object of another owner does not matter.
func TestObservedLookAgain(t *testing.T) {
	created := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	changes := created.Add(15 * time.Second)
	for _, tc := range []struct {
		name, set, node string
		now             time.Time
		state           State
		want            time.Time
	}{
		{"young", "default-b0", "a", created, NotReady, changes},
		{"young and modified", "default-b0", "b", created, Modified, changes},
		{"old", "default-b0", "a", changes, NotReady, time.Time{}},
		{"of another owner", "default-b1", "a", created, Unowned, time.Time{}},
	} {
		c := newTestCluster(rand.New(rand.NewPCG(1, 1)))
		d := c.desired.Deployments[0]
		ref := object.Ref{APIVersion: "v1", Kind: "Pod", Namespace: "web", Name: "pod"}
		const identity = `"apiVersion":"v1","kind":"Pod"`
		d.Desired = []*desired.Object{{Ref: ref, Deployment: d.ID(), Namespaced: true,
			Raw: []byte(`{` + identity + `,"metadata":{"namespace":"web","name":"pod"},"spec":{"nodeName":"a"}}`)}}
		desired := desired.IndexState(c.desired.Directory, []*desired.BundleDeployment{d})
		raw := fmt.Appendf(nil, `{%s,"metadata":{"namespace":"web","name":"pod","creationTimestamp":%q,
			"labels":{%q:%q,%q:%q},"annotations":{%q:%q,%q:%q,%q:%q}},"spec":{"nodeName":%q},
			"status":{"phase":"Pending","conditions":[{"reason":"Unschedulable","type":"PodScheduled","status":"False"
			}]}}`,
			identity, created.Format(time.RFC3339), fleet.HashLabel, fleet.Hash(tc.set), fleet.ManagedByLabel,
			fleet.ManagedByHelm, fleet.IDAnnotation, tc.set, fleet.ReleaseNameAnnotation, "b0",
			fleet.ReleaseNamespaceAnnotation, "web", tc.node)
		live := source.Object{Item: object.Item{Raw: raw}, Kind: ref.GroupVersionKind()}
		e := New(desired.On(desired.Clusters[0].ID), desired.Deployments, Options{Now: tc.now})
		seen, err := e.Observe(live, live.Kind)
		if err != nil || len(seen.Objects) != 1 {
			t.Fatalf("%s: %d observations, error %v", tc.name, len(seen.Objects), err)
		}
		if o := seen.Objects[0]; o.State != tc.state || !o.LookAgain.Equal(tc.want) {
			t.Errorf("%s: %s, look again at %s, want %s and %s", tc.name, o.State, o.LookAgain, tc.state, tc.want)
		}
	}
}

// TestAgentLookAgain checks that the state of an agent changes at the time that it names, and not before.
func TestAgentLookAgain(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	generation := int64(1)
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }
	seen := func(d time.Duration) func(*v1alpha1.Cluster) {
		return func(c *v1alpha1.Cluster) { c.Status.Agent.LastSeen = now.Add(-d).Format(time.RFC3339) }
	}
	for _, tc := range []struct {
		name    string
		cluster func(*v1alpha1.Cluster)
		after   time.Duration // 0: never
	}{
		{"alive", seen(time.Hour), 23*time.Hour + time.Nanosecond},
		{"stale", seen(25 * time.Hour), 0},
		{"ahead", seen(-time.Hour), 59 * time.Minute},
		{"registered, and never seen", func(c *v1alpha1.Cluster) {
			c.Spec.ClientID, c.CreationTimestamp = "id", ago(time.Minute)
		}, 4*time.Minute + time.Nanosecond},
		{"registered long ago, and never seen", func(c *v1alpha1.Cluster) {
			c.Spec.ClientID, c.CreationTimestamp = "id", ago(25*time.Hour)
		}, 0},
		{"imported again, and never seen", func(c *v1alpha1.Cluster) {
			c.Spec.KubeConfigSecret, c.CreationTimestamp = "kubeconfig", ago(48*time.Hour)
			c.Status.AgentDeployedGeneration = &generation
			c.Status.Conditions = []v1alpha1.Condition{{Type: "Imported", Status: "True",
				LastUpdateTime: now.Add(-time.Minute).Format(time.RFC3339)}}
		}, 44*time.Minute + time.Nanosecond},
		{"deleted, and never seen", func(c *v1alpha1.Cluster) {
			deleted := ago(time.Minute)
			c.Spec.ClientID, c.CreationTimestamp, c.DeletionTimestamp = "id", ago(time.Hour), &deleted
		}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &v1alpha1.Cluster{}
			tc.cluster(c)
			at := func(when time.Time) Agent {
				d := &directory.Directory{Fleet: &state.Fleet{Clusters: []*v1alpha1.Cluster{c}}}
				return Agents(d, source.Description{TakenAt: when})[0]
			}
			first := at(now)
			if tc.after == 0 {
				if !first.LookAgain.IsZero() {
					t.Fatalf("look again at %s, want never", first.LookAgain)
				}
				return
			}
			if want := now.Add(tc.after); !first.LookAgain.Equal(want) {
				t.Fatalf("look again at %s, want %s", first.LookAgain, want)
			}
			same := func(a Agent) bool { return a.Heartbeat.State == first.Heartbeat.State && a.Silent == first.Silent }
			if a := at(first.LookAgain.Add(-time.Nanosecond)); !same(a) {
				t.Errorf("it changes before that time: %+v", a)
			}
			if a := at(first.LookAgain); same(a) {
				t.Errorf("it does not change at that time: %+v", a)
			}
		})
	}
}
