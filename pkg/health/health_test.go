// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// taken is the time at which the objects of these tests were read.
var taken = time.Date(2026, 8, 22, 12, 0, 0, 0, time.UTC)

// object decodes a YAML document as apimachinery does, with int64 numbers.
func object(tb testing.TB, document string) map[string]any {
	tb.Helper()
	data, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		tb.Fatalf("converting the object: %v", err)
	}
	var obj map[string]any
	if err := json.Unmarshal(data, &obj); err != nil {
		tb.Fatalf("decoding the object: %v", err)
	}
	return obj
}

// readinessCase is one object and its readiness by the rules of the agent.
type readinessCase struct {
	name   string
	object string
	ignore []map[string]string
	want   Readiness
}

func runCases(t *testing.T, cases []readinessCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			obj := object(t, tc.object)
			before := runtime.DeepCopyJSON(obj)
			got := Evaluate(obj, tc.ignore, taken)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("readiness (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, obj); diff != "" {
				t.Errorf("the object was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestEvaluateOwnSummary(t *testing.T) {
	runCases(t, []readinessCase{
		{
			name: "display is copied",
			object: `{apiVersion: v1, kind: X, metadata: {}, status: {display: {state: Degraded, error: true, ` +
				`transitioning: "yes", message: " two of three "}}}`,
			want: Readiness{State: "degraded", Error: true, Transitioning: true, Messages: []string{"two of three",
				currentMessage}},
		},
		{
			name: "summary where display is empty",
			object: `{apiVersion: v1, kind: X, metadata: {}, status: {display: {}, summary: {state: Busy, ` +
				`transitioning: true}}}`,
			want: Readiness{State: "busy", Transitioning: true, Messages: []string{currentMessage}},
		},
		{
			name: "summary is not read beside a display",
			object: `{apiVersion: v1, kind: X, metadata: {}, status: {display: {readyBundleDeployments: 1/1}, ` +
				`summary: {error: true}}}`,
			want: Readiness{Ready: true, State: "active", Messages: []string{currentMessage}},
		},
		{
			name: "a state of its own does not silence kstatus",
			object: `{apiVersion: v1, kind: X, metadata: {}, status: {display: {state: Fine}, ` +
				`conditions: [{type: Ready, status: "False", reason: Why, message: because}]}}`,
			want: Readiness{
				State: "fine", Transitioning: true, Messages: []string{"because"},
				Condition: Condition{"Ready", "False", "Why"},
			},
		},
	})
}

func TestEvaluateErrorConditions(t *testing.T) {
	runCases(t, []readinessCase{
		{
			name: "Deployment: Progressing False",
			object: `
apiVersion: apps/v1
kind: Deployment
metadata: {generation: 2}
spec: {replicas: 1, progressDeadlineSeconds: 600}
status:
  observedGeneration: 2
  replicas: 1
  updatedReplicas: 1
  conditions:
  - {type: Available, status: "False", reason: MinimumReplicasUnavailable, message: no minimum availability}
  - {type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: timed out}`,
			want: Readiness{
				State: "error", Error: true, Messages: []string{"timed out", "Progress deadline exceeded"},
				Condition: Condition{"Progressing", "False", "ProgressDeadlineExceeded"},
			},
		},
		{
			name: "Deployment: ReplicaFailure True",
			object: `
apiVersion: apps/v1
kind: Deployment
metadata: {}
spec: {replicas: 1}
status:
  conditions:
  - {type: Progressing, status: "True", reason: NewReplicaSetCreated}
  - {type: ReplicaFailure, status: "True", reason: FailedCreate, message: exceeded quota}`,
			want: Readiness{
				State: "error", Error: true, Transitioning: true, Messages: []string{"exceeded quota", "Replicas: 0/1"},
				Condition: Condition{"ReplicaFailure", "True", "FailedCreate"},
			},
		},
		{
			name: "ReplicaSet: ReplicaFailure True",
			object: `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {}, spec: {replicas: 0}, ` +
				`status: {conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate}]}}`,
			want: Readiness{
				State: "error", Error: true, Transitioning: true,
				Messages:  []string{"Replica Failure condition. Check Pods"},
				Condition: Condition{"ReplicaFailure", "True", "FailedCreate"},
			},
		},
		{
			name: "the version is part of the kind",
			object: `{apiVersion: apps/v1beta2, kind: Deployment, metadata: {}, spec: {replicas: 0}, ` +
				`status: {conditions: [{type: ReplicaFailure, status: "True"}, {type: Available, status: "True"}]}}`,
			want: Readiness{Ready: true, State: "active", Messages: []string{"Deployment is available. Replicas: 0"}},
		},
		{
			name: "a listed kind does not know Failed",
			object: `{apiVersion: v1, kind: Node, metadata: {}, status: {conditions: [{type: Failed, ` +
				`status: "True"}]}}`,
			want: Readiness{Ready: true, State: "active", Messages: []string{currentMessage}},
		},
		{
			name: "Node: MemoryPressure True",
			object: `{apiVersion: v1, kind: Node, metadata: {}, status: {conditions: [{type: MemoryPressure, ` +
				`status: "True", reason: Low, message: low}]}}`,
			want: Readiness{
				State: "error", Error: true, Messages: []string{"low", currentMessage},
				Condition: Condition{"MemoryPressure", "True", "Low"},
			},
		},
		{
			name: "HelmChart: JobCreated says nothing, Failed does",
			object: `{apiVersion: helm.cattle.io/v1, kind: HelmChart, metadata: {}, ` +
				`status: {conditions: [{type: JobCreated, status: "False"}, {type: Failed, status: "True", ` +
				`reason: Install}]}}`,
			want: Readiness{
				State: "error", Error: true, Messages: []string{currentMessage},
				Condition: Condition{"Failed", "True", "Install"},
			},
		},
		{
			name: "any other kind: Stalled True",
			object: `{apiVersion: x.example.com/v1, kind: X, metadata: {}, status: {conditions: [{type: Stalled, ` +
				`status: "True", reason: Stuck, message: stuck}]}}`,
			want: Readiness{
				State: "error", Error: true, Messages: []string{"stuck"},
				Condition: Condition{"Stalled", "True", "Stuck"},
			},
		},
		{
			name: "Job: Failed True",
			object: `
apiVersion: batch/v1
kind: Job
metadata: {generation: 1}
spec: {completions: 1}
status: {startTime: "2026-08-22T11:00:00Z", failed: 7, conditions: [{type: Failed, status: "True",
	reason: BackoffLimitExceeded, message: limit}]}`,
			want: Readiness{
				State: "error", Error: true, Messages: []string{"limit", "Job Failed. failed: 7/1"},
				Condition: Condition{"Failed", "True", "BackoffLimitExceeded"},
			},
		},
		{
			name: "reason Error on any condition",
			object: `{apiVersion: x.example.com/v1, kind: X, metadata: {}, status: {conditions: [{type: Healthy, ` +
				`status: "True", reason: Error, message: left over}]}}`,
			want: Readiness{
				State: "error", Error: true, Messages: []string{"left over", currentMessage},
				Condition: Condition{"Healthy", "True", "Error"},
			},
		},
		{
			name: "the reason is exactly Error",
			object: `{apiVersion: x.example.com/v1, kind: X, metadata: {}, status: {conditions: [{type: Healthy, ` +
				`status: "False", reason: ErrorFound}]}}`,
			want: Readiness{Ready: true, State: "active", Messages: []string{currentMessage}},
		},
		{
			name: "a state other than active stays",
			object: `{apiVersion: x.example.com/v1, kind: X, metadata: {}, status: {display: {state: odd}, ` +
				`conditions: [{type: Failed, status: "True"}]}}`,
			want: Readiness{
				State: "odd", Error: true, Messages: []string{currentMessage},
				Condition: Condition{"Failed", "True", ""},
			},
		},
		{
			name: "conditions of the status annotation count",
			object: `{apiVersion: v1, kind: Namespace, ` +
				`metadata: {annotations: {cattle.io/status: '{"conditions":[{"type":"Failed","status":"True",` +
				`"message":"quota"}]}'}}}`,
			want: Readiness{
				State: "error", Error: true, Messages: []string{"quota", currentMessage},
				Condition: Condition{"Failed", "True", ""},
			},
		},
		{
			name: "a status annotation that is no JSON does not",
			object: `{apiVersion: v1, kind: Namespace, ` +
				`metadata: {annotations: {cattle.io/status: '{"conditions":[{'}}}`,
			want: Readiness{Ready: true, State: "active", Messages: []string{currentMessage}},
		},
	})
}

func TestEvaluateProgressConditions(t *testing.T) {
	runCases(t, []readinessCase{
		{
			name: "HorizontalPodAutoscaler: ScalingActive False is an error",
			object: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {}
status:
  conditions:
  - {type: AbleToScale, status: "True", reason: SucceededGetScale, message: found}
  - {type: ScalingActive, status: "False", reason: FailedGetResourceMetric, message: no metrics}`,
			want: Readiness{
				State: "pending", Error: true, Messages: []string{"no metrics", currentMessage},
				Condition: Condition{"ScalingActive", "False", "FailedGetResourceMetric"},
			},
		},
		{
			name: "Unknown is under way, and only the first such names the state",
			object: `{kind: X, metadata: {}, status: {conditions: [{type: Deployed, status: Unknown, reason: A, ` +
				`message: one}, {type: Saved, status: Unknown, message: two}]}}`,
			want: Readiness{
				State: "deploying", Transitioning: true, Messages: []string{"one", currentMessage},
				Condition: Condition{"Deployed", "Unknown", "A"},
			},
		},
		{
			name: "a later False overrules the Unknown before it",
			object: `{kind: X, metadata: {}, status: {conditions: [{type: Deployed, status: Unknown}, {type: Saved, ` +
				`status: "False", reason: B}]}}`,
			want: Readiness{
				State: "saving", Error: true, Transitioning: true, Messages: []string{currentMessage},
				Condition: Condition{"Saved", "False", "B"},
			},
		},
		{
			name: "Reconciling True",
			object: `{kind: X, metadata: {}, status: {conditions: [{type: Reconciling, status: "True", reason: New, ` +
				`message: step 1; step 1; step 2}]}}`,
			want: Readiness{
				State: "reconciling", Transitioning: true, Messages: []string{"step 1; step 1; step 2",
					"step 1; step 2"},
				Condition: Condition{"Reconciling", "True", "New"},
			},
		},
		{
			name: "Deployment: Available False",
			object: `
apiVersion: apps/v1
kind: Deployment
metadata: {}
spec: {replicas: 2}
status:
  replicas: 2
  updatedReplicas: 2
  availableReplicas: 1
  readyReplicas: 1
  conditions: [{type: Available, status: "False", reason: MinimumReplicasUnavailable,
    message: no minimum availability}]`,
			want: Readiness{
				State: "updating", Transitioning: true, Messages: []string{"no minimum availability", "Available: 1/2"},
				Condition: Condition{"Available", "False", "MinimumReplicasUnavailable"},
			},
		},
		{
			name:   "Available Unknown is an error",
			object: `{kind: X, metadata: {}, status: {conditions: [{type: Available, status: Unknown}]}}`,
			want: Readiness{
				State: "updating", Error: true, Messages: []string{currentMessage},
				Condition: Condition{"Available", "Unknown", ""},
			},
		},
		{
			name: "the reason is the state",
			object: `{kind: X, metadata: {}, status: {conditions: [{type: NodeHealthy, status: "False", ` +
				`reason: NodeGone}]}}`,
			want: Readiness{
				State: "nodegone", Transitioning: true, Messages: []string{currentMessage},
				Condition: Condition{"NodeHealthy", "False", "NodeGone"},
			},
		},
		{
			name:   "a reason that is none leaves the state to kstatus",
			object: `{kind: X, metadata: {}, status: {conditions: [{type: NodeHealthy, status: "False"}]}}`,
			want: Readiness{
				State: "active", Transitioning: true, Messages: []string{currentMessage},
				Condition: Condition{"NodeHealthy", "False", ""},
			},
		},
		{
			name: "Ready False comes after the others",
			object: `{kind: X, metadata: {}, status: {conditions: [{type: Ready, status: "False", reason: R, ` +
				`message: r}, {type: Completed, status: "False", reason: C, message: c}]}}`,
			want: Readiness{
				State: "activating", Transitioning: true, Messages: []string{"c", "r"},
				Condition: Condition{"Completed", "False", "C"},
			},
		},
		{
			name: "Ready False alone",
			object: `{kind: X, metadata: {}, status: {conditions: [{type: Ready, status: "False", reason: R, ` +
				`message: r}]}}`,
			want: Readiness{
				State: "unavailable", Transitioning: true, Messages: []string{"r"},
				Condition: Condition{"Ready", "False", "R"},
			},
		},
		{
			name: "Ready Unknown is an error, and under way for kstatus",
			object: `{kind: X, metadata: {}, status: {conditions: [{type: Ready, status: Unknown, reason: R, ` +
				`message: r}]}}`,
			want: Readiness{
				State: "unavailable", Error: true, Transitioning: true, Messages: []string{"r"},
				Condition: Condition{"Ready", "Unknown", "R"},
			},
		},
	})
}

// TestEveryProgressCondition compares the tables with the condition types of Fleet's agent (docs/fleet-behavior.md,
// 4.1).
func TestEveryProgressCondition(t *testing.T) {
	lists := []struct {
		types  string
		status string
		err    bool
	}{
		{`Active AddonDeploy AgentDeployed BackingNamespaceCreated Built CertsGenerated ConfigOK Created
			CreatorMadeOwner DefaultNamespaceAssigned DefaultNetworkPolicyCreated DefaultProjectCreated
			DockerProvisioned Deployed Drained Downloaded etcd Inactive Initialized Installed NodesCreated Pending
			PodScheduled Provisioned Reconciled Refreshed Registered Removed Saved Updated Updating Upgraded Waiting
			InitialRolesPopulated ScalingActive AbleToScale RunCompleted Processed`, "False", true},
		{"Reconciling", "True", false},
		{"Completed Ready Available BootstrapReady InfrastructureReady NodeHealthy", "False", false},
	}
	listed := 0
	for _, list := range lists {
		for _, name := range strings.Fields(list.types) {
			listed++
			got := Evaluate(map[string]any{
				"kind": "X", "metadata": map[string]any{},
				"status": map[string]any{"conditions": []any{map[string]any{"type": name, "status": list.status}}},
			}, nil, taken)
			if got.Error != list.err || got.Transitioning == list.err {
				t.Errorf("%s=%s: error %t, transitioning %t", name, list.status, got.Error, got.Transitioning)
			}
			if got.Condition.Type != name {
				t.Errorf("%s=%s: decided by %q", name, list.status, got.Condition)
			}
		}
	}
	if known := len(falseIsError) + len(trueIsProgress) + len(falseIsProgress); known != listed {
		t.Errorf("the tables have %d condition types, the test lists %d", known, listed)
	}
}

func TestConditionString(t *testing.T) {
	cases := map[string]Condition{
		"": {},
		"Available=False (MinimumReplicasUnavailable)": {"Available", "False", "MinimumReplicasUnavailable"},
		"Failed=True": {Type: "Failed", Status: "True"},
		"(Error)":     {Reason: "Error"},
	}
	for want, c := range cases {
		if got := c.String(); got != want {
			t.Errorf("%#v: got %q, want %q", c, got, want)
		}
	}
}
