// SPDX-License-Identifier: Apache-2.0

package state

import (
	"reflect"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// TestPods checks what is said of the pods of an agent that does not run.
func TestPods(t *testing.T) {
	pod := func(name, status string) []byte {
		return []byte(`{"metadata":{"name":"` + name + `"},"status":` + status + `}`)
	}
	forbidden := source.Failure{Reason: source.Forbidden}
	for _, test := range []struct {
		name   string
		pods   [][]byte
		unread source.Failure
		all    bool
		want   string
		logs   bool
	}{
		{"none", nil, source.Failure{}, true, "it has no pod", false},
		{"forbidden", nil, forbidden, false, "", false},
		{"not captured", nil, source.Failure{Reason: source.NotInSnapshot}, false, "", false},
		{"not scheduled", [][]byte{pod("b", `{}`), pod("a", `{"phase":"Pending","conditions":[{"type":"PodScheduled",`+
			`"status":"False","message":"Insufficient cpu"}]}`)}, source.Failure{}, true,
			"pod a is not scheduled: Insufficient cpu", false},
		{"image", [][]byte{pod("a", `{"phase":"Pending","containerStatuses":[{"name":"agent","state":{"waiting":`+
			`{"reason":"ImagePullBackOff","message":"no such image"}}}]}`)}, source.Failure{}, true,
			"pod a waits for container agent: ImagePullBackOff: no such image", false},
		{"init", [][]byte{pod("a", `{"phase":"Pending","initContainerStatuses":[{"name":"register","state":{"waiting":`+
			`{"reason":"CreateContainerConfigError"}}}]}`)}, source.Failure{}, true,
			"pod a waits for container register: CreateContainerConfigError", false},
		{"crash", [][]byte{pod("a", `{"phase":"Running","containerStatuses":[{"name":"agent","restartCount":3,`+
			`"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}`)}, source.Failure{}, true,
			"pod a waits for container agent: CrashLoopBackOff", true},
		{"evicted", [][]byte{pod("a", `{"phase":"Failed","reason":"Evicted","message":"low on memory"}`)},
			source.Failure{}, true, "pod a is Failed: Evicted: low on memory", false},
		{"not ready", [][]byte{pod("a", `{"phase":"Running"}`)}, source.Failure{}, true,
			"pod a is Running, and not ready", true},
		{"one is ready", [][]byte{pod("a", `{"phase":"Pending"}`),
			pod("b", `{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}`)}, source.Failure{}, true,
			"", false},
	} {
		c := &Cluster{Workloads: map[string]Workload{"agents": {Idle: "none of its pods is ready"}}}
		err := c.SetPods("agents", test.pods, test.unread, test.all)
		got := c.Workloads["agents"].Stuck
		says := strings.Contains(c.Workloads["agents"].Idle, "Forbidden")
		if says != (test.unread.Reason == source.Forbidden) {
			t.Errorf("%s: idle %q", test.name, c.Workloads["agents"].Idle)
		}
		if err != nil || got.Why != test.want || got.Logs != test.logs {
			t.Errorf("%s: got %+v, %v, want %q, log %v", test.name, got, err, test.want, test.logs)
		}
	}
	c := &Cluster{Workloads: map[string]Workload{"agents": {Idle: "none of its pods is ready"}}}
	if c.SetPods("agents", [][]byte{[]byte("[")}, source.Failure{}, true) == nil {
		t.Error("no error for a pod that is not valid")
	}
}

// TestPodsOf checks that a pod belongs to a workload by its owner references, and which pod explains it.
func TestPodsOf(t *testing.T) {
	const unscheduled = `"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","message":"full"}]`
	const unbound = `"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",` +
		`"message":"unbound PersistentVolumeClaims"}]`
	const crashes = `"phase":"Running","containerStatuses":[{"name":"c","state":{"waiting":` +
		`{"reason":"CrashLoopBackOff"}}}]`
	const ready = `"phase":"Running","conditions":[{"type":"Ready","status":"True"}]`
	pod := func(name, owner, status string) string {
		return `{"metadata":{"name":"` + name + `","namespace":"n","labels":{"app":"web"},"ownerReferences":[` +
			`{"uid":"` + owner + `","controller":true}]},"spec":{"volumes":[{},{"persistentVolumeClaim":` +
			`{"claimName":"data"}}]},"status":{` + status + `}}`
	}
	of := func(kind, name string) object.Ref {
		return object.Ref{APIVersion: "v1", Kind: kind, Namespace: "n", Name: name}
	}
	for _, test := range []struct {
		name string
		pods []string
		want *Stuck
	}{
		{"none", nil, nil},
		{"of another owner, with the same labels", []string{pod("a", "other", unscheduled)}, nil},
		{"ready", []string{pod("a", "set", ready)}, nil},
		{"ended", []string{pod("a", "set", `"phase":"Succeeded"`)}, nil},
		{"of a ReplicaSet, and full nodes", []string{pod("a", "set", unscheduled), pod("b", "set", ready)},
			&Stuck{Why: "pod a is not scheduled: full", Ref: of("Pod", "a")}},
		{"one that has failed was replaced", []string{pod("a", "web", `"phase":"Failed"`), pod("b", "set", crashes)},
			&Stuck{Why: "pod b waits for container c: CrashLoopBackOff", Ref: of("Pod", "b"), Crashed: "c"}},
		{"a claim", []string{pod("a", "web", unbound)}, &Stuck{Ref: of("PersistentVolumeClaim", "data"),
			Why: "pod a is not scheduled: unbound PersistentVolumeClaims; its claim data is Pending " +
				"(storage class: fast)"}},
	} {
		p := &Pods{}
		set := `{"metadata":{"uid":"set","ownerReferences":[{"uid":"web","controller":true}]}}`
		if err := p.AddSet([]byte(set)); err != nil {
			t.Fatal(err)
		}
		if err := p.AddClaim([]byte(`{"metadata":{"name":"data","namespace":"n"},"spec":{"storageClassName":"fast"},` +
			`"status":{"phase":"Pending"}}`)); err != nil {
			t.Fatal(err)
		}
		for _, raw := range test.pods {
			if err := p.Add([]byte(raw)); err != nil {
				t.Fatal(err)
			}
		}
		if got := p.Of("web"); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v", test.name, got)
		}
		if p.Of("") != nil {
			t.Errorf("%s: an object without a uid has a pod", test.name)
		}
	}
}
