// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEvaluateActiveAndPhase(t *testing.T) {
	runCases(t, []readinessCase{
		{
			name:   "spec.active false is a state, no obstacle",
			object: `{kind: X, metadata: {}, spec: {active: false}}`,
			want:   Readiness{Ready: true, State: "inactive", Messages: []string{currentMessage}},
		},
		{
			name:   "spec.active as text",
			object: `{kind: X, metadata: {}, spec: {active: "true"}}`,
			want:   Readiness{Ready: true, State: "active", Messages: []string{currentMessage}},
		},
		{
			name:   "spec.active does not replace a state",
			object: `{kind: X, metadata: {}, spec: {active: true}, status: {display: {state: odd}}}`,
			want:   Readiness{Ready: true, State: "odd", Messages: []string{currentMessage}},
		},
		{
			name:   "a phase fills an empty state",
			object: `{apiVersion: v1, kind: Namespace, metadata: {}, status: {phase: Active}}`,
			want:   Readiness{Ready: true, State: "active", Messages: []string{currentMessage}},
		},
		{
			name:   "a phase that names a failure is no failure",
			object: `{kind: X, metadata: {}, status: {phase: Failed}}`,
			want:   Readiness{Ready: true, State: "failed", Messages: []string{currentMessage}},
		},
		{
			name:   "a phase does not replace a state",
			object: `{kind: X, metadata: {}, spec: {active: false}, status: {phase: Odd}}`,
			want:   Readiness{Ready: true, State: "inactive", Messages: []string{currentMessage}},
		},
		{
			name: "Succeeded ends what is under way",
			object: `{apiVersion: v1, kind: Pod, metadata: {}, status: {phase: Succeeded, conditions: [{type: Ready, ` +
				`status: "False", reason: PodCompleted}]}}`,
			want: Readiness{Ready: true, State: "succeeded", Messages: []string{"Pod has completed successfully"}},
		},
		{
			name: "Succeeded does not undo an error",
			object: `{kind: X, metadata: {}, status: {phase: Succeeded, conditions: [{type: Failed, status: "True", ` +
				`reason: F}]}}`,
			want: Readiness{
				State: "succeeded", Error: true, Messages: []string{currentMessage},
				Condition: Condition{"Failed", "True", "F"},
			},
		},
		{
			name:   "kstatus speaks after Succeeded (rule 11 after 5)",
			object: `{kind: X, metadata: {generation: 2}, status: {phase: Succeeded, observedGeneration: 1}}`,
			want: Readiness{State: "succeeded", Transitioning: true,
				Messages: []string{"X generation is 2, but latest observed generation is 1"}},
		},
		{
			name:   "Bound",
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {}, status: {phase: Bound}}`,
			want:   Readiness{Ready: true, State: "bound", Messages: []string{"PVC is Bound"}},
		},
		{
			name:   "a pending PersistentVolumeClaim is under way by rule 11 alone",
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {}, status: {phase: Pending}}`,
			want: Readiness{State: "pending", Transitioning: true,
				Messages: []string{"PVC is not Bound. phase: Pending"}},
		},
	})
}

func TestEvaluateByAge(t *testing.T) {
	runCases(t, []readinessCase{
		{
			name: "a young Rancher object",
			object: `{apiVersion: x.cattle.io/v3, kind: X, metadata: {created: "2026-08-22T11:59:56Z"}, ` +
				`status: {conditions: []}}`,
			want: Readiness{State: "initializing", Transitioning: true, Messages: []string{currentMessage},
				LookAgain: taken.Add(time.Second)},
		},
		{
			name: "five seconds are not young",
			object: `{apiVersion: x.cattle.io/v3, kind: X, metadata: {created: "2026-08-22T11:59:55Z"}, ` +
				`status: {conditions: []}}`,
			want: Readiness{Ready: true, State: "active", Messages: []string{currentMessage}},
		},
		{
			name:   "without a list of conditions",
			object: `{apiVersion: x.cattle.io/v3, kind: X, metadata: {created: "2026-08-22T11:59:56Z"}, status: {}}`,
			want:   Readiness{Ready: true, State: "active", Messages: []string{currentMessage}},
		},
		{
			name: "another group",
			object: `{apiVersion: x.example.com/v3, kind: X, metadata: {created: "2026-08-22T11:59:56Z"}, ` +
				`status: {conditions: []}}`,
			want: Readiness{Ready: true, State: "active", Messages: []string{currentMessage}},
		},
		{
			name: "metadata.removed",
			object: `{kind: X, metadata: {removed: "2026-08-22T11:59:00Z", finalizers: [a/b]}, ` +
				`status: {phase: Bound, conditions: [{type: Removed, status: Unknown, message: still busy}]}}`,
			want: Readiness{
				State: "removing", Transitioning: true,
				Messages:  []string{"still busy", "blocked by finalizer a/b", currentMessage},
				LookAgain: taken.Add(4*time.Minute + time.Nanosecond),
			},
		},
		{
			name:   "metadata.removed, held up for over five minutes",
			object: `{kind: X, metadata: {removed: "2026-08-22T11:54:59Z"}, spec: {finalizers: [kubernetes]}}`,
			want: Readiness{State: "removing", Error: true, Transitioning: true,
				Messages: []string{"blocked by finalizer kubernetes", currentMessage}},
		},
		{
			name:   "metadata.removed, with nothing to hold it up",
			object: `{kind: X, metadata: {removed: "2026-08-22T11:00:00Z"}}`,
			want:   Readiness{State: "removing", Transitioning: true, Messages: []string{currentMessage}},
		},
		{
			name: "a Pod that cannot be scheduled, young when it was read",
			object: `{apiVersion: v1, kind: Pod, metadata: {creationTimestamp: "2026-08-22T11:59:50Z"}, ` +
				`status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, ` +
				`message: no node}]}}`,
			want: Readiness{
				State: "scheduling", Error: true, Transitioning: true,
				Messages:  []string{"no node", "Pod has not been scheduled"},
				Condition: Condition{"PodScheduled", "False", "Unschedulable"},
				LookAgain: taken.Add(5 * time.Second),
			},
		},
		{
			name: "a Pod that cannot be scheduled, old when it was read",
			object: `{apiVersion: v1, kind: Pod, metadata: {creationTimestamp: "2026-08-22T11:59:45Z"}, ` +
				`status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, ` +
				`message: no node}]}}`,
			want: Readiness{
				State: "scheduling", Error: true, Messages: []string{"no node", "Pod could not be scheduled"},
				Condition: Condition{"PodScheduled", "False", "Unschedulable"},
			},
		},
	})
}

// TestLookAgain checks that the readiness changes at the time that it names, and not
// before.
func TestLookAgain(t *testing.T) {
	const unschedulable = `status: {phase: Pending, conditions: [{type: PodScheduled, status: "False",
		reason: Unschedulable, message: no node}]}`
	for _, tc := range []struct {
		name   string
		object string
		ignore []map[string]string
		after  time.Duration
	}{
		{
			name: "a Pod that cannot be scheduled",
			object: `{apiVersion: v1, kind: Pod, metadata: {creationTimestamp: "2026-08-22T11:59:50Z"}, ` +
				unschedulable + `}`,
			after: 5 * time.Second,
		},
		{
			name: "a Pod that could not be scheduled for long",
			object: `{apiVersion: v1, kind: Pod, metadata: {creationTimestamp: "2026-08-22T11:59:45Z"}, ` +
				unschedulable + `}`,
		},
		{
			name: "a Pod whose condition the bundle ignores",
			object: `{apiVersion: v1, kind: Pod, metadata: {creationTimestamp: "2026-08-22T11:59:50Z"}, ` +
				unschedulable + `}`,
			ignore: []map[string]string{{"type": "PodScheduled"}},
		},
		{
			name: "a Pod whose images are pulled",
			object: `{apiVersion: v1, kind: Pod, metadata: {creationTimestamp: "2026-08-22T11:59:50Z"},
				status: {phase: Pending}}`,
		},
		{
			name: "a young Rancher object",
			object: `{apiVersion: x.cattle.io/v3, kind: X, metadata: {created: "2026-08-22T11:59:56Z"},
				status: {conditions: []}}`,
			after: time.Second,
		},
		{
			name: "a Rancher object with a state",
			object: `{apiVersion: x.cattle.io/v3, kind: X, metadata: {created: "2026-08-22T11:59:56Z"},
				status: {phase: Bound, conditions: []}}`,
		},
		{
			name:   "a removal that a finalizer blocks",
			object: `{kind: X, metadata: {removed: "2026-08-22T11:59:00Z", finalizers: [a/b]}}`,
			after:  4*time.Minute + time.Nanosecond,
		},
		{
			name: "two times",
			object: `{apiVersion: v1, kind: Pod, metadata: {creationTimestamp: "2026-08-22T11:59:50Z",
				removed: "2026-08-22T11:59:00Z", finalizers: [a/b]}, ` + unschedulable + `}`,
			after: 5 * time.Second,
		},
		{name: "an object without a rule of time", object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			obj := object(t, tc.object)
			now := Evaluate(obj, tc.ignore, taken)
			if tc.after == 0 {
				if !now.LookAgain.IsZero() {
					t.Fatalf("look again at %s, want never", now.LookAgain)
				}
				return
			}
			if want := taken.Add(tc.after); !now.LookAgain.Equal(want) {
				t.Fatalf("look again at %s, want %s", now.LookAgain, want)
			}
			before := Evaluate(obj, tc.ignore, now.LookAgain.Add(-time.Nanosecond))
			if diff := cmp.Diff(now, before); diff != "" {
				t.Errorf("it changes before that time (-now +before):\n%s", diff)
			}
			then := Evaluate(obj, tc.ignore, now.LookAgain)
			now.LookAgain, then.LookAgain = time.Time{}, time.Time{}
			if cmp.Equal(now, then) {
				t.Error("it does not change at that time")
			}
		})
	}
}

func TestEvaluateKinds(t *testing.T) {
	runCases(t, []readinessCase{
		{
			name:   "a custom resource without status",
			object: `{apiVersion: x.example.com/v1, kind: X, metadata: {generation: 4}, spec: {a: b}}`,
			want:   Readiness{Ready: true, State: "active", Messages: []string{currentMessage}},
		},
		{
			name:   "ConfigMap",
			object: `{apiVersion: v1, kind: ConfigMap, metadata: {}}`,
			want:   Readiness{Ready: true, State: "active", Messages: []string{"Resource is always ready"}},
		},
		{
			name:   "Secret with a type like a path",
			object: `{apiVersion: v1, kind: Secret, metadata: {deletionTimestamp: "2026-08-22T11:00:00Z"}, type: /x}`,
			want: Readiness{State: "active", Transitioning: true,
				Messages: []string{"Resource scheduled for deletion"}},
		},
		{
			name: "a suspended CronJob",
			object: `{apiVersion: batch/v1, kind: CronJob, metadata: {generation: 1}, spec: {suspend: true}, ` +
				`status: {}}`,
			want: Readiness{Ready: true, State: "active", Messages: []string{"Resource is always ready"}},
		},
		{
			name: "a Job suspended after it had started",
			object: `{apiVersion: batch/v1, kind: Job, metadata: {generation: 2}, spec: {suspend: true}, ` +
				`status: {startTime: "2026-08-22T11:00:00Z", conditions: [{type: Suspended, status: "True", ` +
				`reason: JobSuspended}]}}`,
			want: Readiness{Ready: true, State: "active",
				Messages: []string{"Job in progress. success:0, active: 0, failed: 0"}},
		},
		{
			name: "a Job suspended from the start",
			object: `{apiVersion: batch/v1, kind: Job, metadata: {generation: 1}, spec: {suspend: true}, ` +
				`status: {conditions: [{type: Suspended, status: "True", reason: JobSuspended}]}}`,
			want: Readiness{State: "in-progress", Transitioning: true, Messages: []string{"Job not started"}},
		},
		{
			name: "a PodDisruptionBudget that allows nothing",
			object: `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}, ` +
				`status: {observedGeneration: 1, conditions: [{type: DisruptionAllowed, status: "False", ` +
				`reason: InsufficientPods}]}}`,
			want: Readiness{Ready: true, State: "active",
				Messages: []string{"AllowedDisruptions has been computed."}},
		},
		{
			name:   "a DaemonSet without status",
			object: `{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}}`,
			want: Readiness{State: "in-progress", Transitioning: true,
				Messages: []string{"DaemonSet status.observedGeneration not found"}},
		},
		{
			name:   "a Deployment without status",
			object: `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}}`,
			want:   Readiness{State: "in-progress", Transitioning: true, Messages: []string{"Replicas: 0/1"}},
		},
		{
			name: "a StatefulSet that lacks a replica",
			object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 2}, ` +
				`status: {observedGeneration: 1, replicas: 2, readyReplicas: 1}}`,
			want: Readiness{State: "in-progress", Transitioning: true, Messages: []string{"Ready: 1/2"}},
		},
		{
			name: "a CustomResourceDefinition whose names clash: kstatus names the condition",
			object: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {}, ` +
				`status: {conditions: [{type: NamesAccepted, status: "False", reason: ListKindConflict, ` +
				`message: in use}]}}`,
			want: Readiness{
				State: "failed", Error: true, Messages: []string{"in use"},
				Condition: Condition{"NamesAccepted", "False", "ListKindConflict"},
			},
		},
		{
			name: "a Pod in a crash loop",
			object: `{apiVersion: v1, kind: Pod, metadata: {}, status: {phase: Running, ` +
				`containerStatuses: [{name: a, state: {waiting: {reason: CrashLoopBackOff}}}]}}`,
			want: Readiness{State: "running", Error: true, Messages: []string{"Containers in CrashLoop state: a"}},
		},
		{
			name: "an object on its way out",
			object: `{apiVersion: v1, kind: ConfigMap, metadata: {deletionTimestamp: "2026-08-22T11:00:00Z", ` +
				`finalizers: [a/b]}}`,
			want: Readiness{State: "removing", Transitioning: true,
				Messages: []string{"Resource scheduled for deletion"}},
		},
	})
}

func TestEvaluateLoadBalancer(t *testing.T) {
	const pending = "no address assigned to the load balancer yet"
	runCases(t, []readinessCase{
		{
			name: "without an address",
			object: `{apiVersion: v1, kind: Service, metadata: {}, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}, ` +
				`status: {loadBalancer: {}}}`,
			want: Readiness{State: "pending", Transitioning: true, Messages: []string{"Service is ready", pending}},
		},
		{
			name: "with one",
			object: `{apiVersion: v1, kind: Service, metadata: {}, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}, ` +
				`status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}`,
			want: Readiness{Ready: true, State: "active", Messages: []string{"Service is ready"}},
		},
		{
			name:   "by serviceKind, in any group",
			object: `{apiVersion: x.example.com/v1, kind: Service, metadata: {}, spec: {serviceKind: LoadBalancer}}`,
			want:   Readiness{State: "pending", Transitioning: true, Messages: []string{currentMessage, pending}},
		},
		{
			name:   "of another type",
			object: `{apiVersion: v1, kind: Service, metadata: {}, spec: {type: NodePort}}`,
			want:   Readiness{Ready: true, State: "active", Messages: []string{"Service is ready"}},
		},
		{
			name:   "without a cluster address: kstatus is first",
			object: `{apiVersion: v1, kind: Service, metadata: {}, spec: {type: LoadBalancer}}`,
			want: Readiness{State: "in-progress", Transitioning: true,
				Messages: []string{"ClusterIP not set. Service type: LoadBalancer"}},
		},
	})
}

func TestEvaluateIgnoredConditions(t *testing.T) {
	const hpa = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {}
status:
  conditions:
  - {type: AbleToScale, status: "True"}
  - {type: ScalingActive, status: "False", reason: FailedGetResourceMetric, message: no metrics}`
	ready := Readiness{Ready: true, State: "active", Messages: []string{currentMessage}}
	failing := Readiness{
		State: "pending", Error: true, Messages: []string{"no metrics", currentMessage},
		Condition: Condition{"ScalingActive", "False", "FailedGetResourceMetric"},
	}
	runCases(t, []readinessCase{
		{name: "by type", object: hpa, ignore: []map[string]string{{"type": "ScalingActive"}}, want: ready},
		{name: "by all pairs", object: hpa, ignore: []map[string]string{{"type": "ScalingActive", "status": "False"}},
			want: ready},
		{name: "one pair differs", object: hpa, ignore: []map[string]string{{"type": "ScalingActive",
			"status": "Unknown"}}, want: failing},
		{name: "equality is exact", object: hpa, ignore: []map[string]string{{"type": "scalingActive"},
			{"type": "Scaling"}, {"message": "no metrics "}}, want: failing},
		{name: "any map will do", object: hpa, ignore: []map[string]string{{"type": "Other"},
			{"reason": "FailedGetResourceMetric"}}, want: ready},
		{name: "an empty map removes all", object: hpa, ignore: []map[string]string{{}}, want: ready},
		{
			name:   "kstatus does not see them either",
			object: `{kind: X, metadata: {}, status: {conditions: [{type: Ready, status: "False", message: no}]}}`,
			ignore: []map[string]string{{"type": "Ready"}},
			want:   ready,
		},
		{
			name: "the status annotation is out of reach",
			object: `{kind: X, metadata: {annotations: {cattle.io/status: '{"conditions":[{"type":"Failed",` +
				`"status":"True"}]}'}}}`,
			ignore: []map[string]string{{"type": "Failed"}},
			want: Readiness{
				State: "error", Error: true, Messages: []string{currentMessage},
				Condition: Condition{"Failed", "True", ""},
			},
		},
		{
			name:   "one malformed entry keeps all",
			object: `{kind: X, metadata: {}, status: {conditions: [{type: Failed, status: "True"}, text]}}`,
			ignore: []map[string]string{{"type": "Failed"}},
			want:   Readiness{State: "error", Error: true, Condition: Condition{"Failed", "True", ""}},
		},
		{
			name:   "nothing to remove from",
			object: `{kind: X, metadata: {}}`,
			ignore: []map[string]string{{"type": "Failed"}},
			want:   ready,
		},
	})
}

func TestEvaluateMalformed(t *testing.T) {
	silent := Readiness{Ready: true, State: "active"}
	runCases(t, []readinessCase{
		{name: "nothing", object: `{}`, want: Readiness{Ready: true, State: "active",
			Messages: []string{currentMessage}}},
		{name: "no object", object: `null`, want: Readiness{Ready: true, State: "active",
			Messages: []string{currentMessage}}},
		{name: "a status that is text", object: `{kind: X, metadata: {}, status: done}`, want: silent},
		{name: "conditions that are a map", object: `{kind: X, metadata: {}, status: {conditions: {type: Failed}}}`,
			want: silent},
		{name: "a condition that is text", object: `{kind: X, metadata: {}, status: {conditions: [Failed]}}`,
			want: silent},
		{name: "metadata that is text", object: `{kind: X, metadata: none, spec: []}`, want: silent},
		{
			name:   "a condition status that is a boolean: kstatus refuses, the rules do not match it",
			object: `{kind: X, metadata: {}, status: {conditions: [{type: Ready, status: false}]}}`,
			want:   silent,
		},
		{
			name:   "container statuses that make kstatus panic",
			object: `{apiVersion: v1, kind: Pod, metadata: {}, status: {phase: Running, containerStatuses: [none]}}`,
			want:   Readiness{Ready: true, State: "running"},
		},
		{
			name: "a group with too many slashes",
			object: `{apiVersion: a/b/c, kind: X, metadata: {}, status: {conditions: [{type: Failed, ` +
				`status: "True"}]}}`,
			want: Readiness{
				State: "error", Error: true, Messages: []string{currentMessage},
				Condition: Condition{"Failed", "True", ""},
			},
		},
	})
}
