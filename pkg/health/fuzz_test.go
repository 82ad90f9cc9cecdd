// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
)

// FuzzEvaluate checks the invariants of every result for every object: no panic, the
// object unchanged, consistent flags and state, and the same result from kstatus
// with and without the shortcut.
func FuzzEvaluate(f *testing.F) {
	seeds := []string{
		`{}`,
		`null`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"b":"c"}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"generation":2},"spec":{"replicas":2},` +
			`"status":{"observedGeneration":2,"replicas":2,"conditions":[{"type":"Available","status":"False",` +
			`"reason":"MinimumReplicasUnavailable"},{"type":"Progressing","status":"False"}]}}`,
		`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler",` +
			`"status":{"conditions":[{"type":"ScalingActive","status":"False","reason":"Error"}]}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"creationTimestamp":"2026-08-22T11:59:50Z"},` +
			`"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",` +
			`"reason":"Unschedulable"}]}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{},"status":{"phase":"Running","containerStatuses":[{"name":1,` +
			`"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}}`,
		`{"apiVersion":"v1","kind":"Service","metadata":{},"spec":{"type":"LoadBalancer","clusterIP":"10.0.0.1"},` +
			`"status":{"loadBalancer":{"ingress":"none"}}}`,
		`{"kind":"X","metadata":{"annotations":{"cattle.io/status":"{\"conditions\":[{\"type\":\"Ready\",` +
			`\"status\":\"Unknown\"}]}"}},"status":{"display":{"state":["Odd"],"error":"yes"}}}`,
		`{"apiVersion":"x.cattle.io/v1","metadata":{"created":"2026-08-22T11:59:58Z",` +
			`"removed":"2026-08-22T11:00:00Z","finalizers":["a"]},"status":{"phase":"Bound","conditions":[]}}`,
		`{"kind":"X","metadata":[],"spec":{"active":{"a":1}},"status":{"conditions":[1,"a",null,{"type":["Ready"],` +
			`"status":false}]}}`,
	}
	for _, seed := range seeds {
		f.Add([]byte(seed), "type", "ScalingActive")
	}
	f.Fuzz(func(t *testing.T, data []byte, key, value string) {
		var obj map[string]any
		if err := json.Unmarshal(data, &obj); err != nil {
			return
		}
		before := runtime.DeepCopyJSON(obj)
		for _, ignore := range [][]map[string]string{nil, {{key: value}}, {{}}} {
			v := Evaluate(obj, ignore, taken)
			checkReadiness(t, v)
			if v.LookAgain.IsZero() {
				continue
			}
			if diff := cmp.Diff(v, Evaluate(obj, ignore, v.LookAgain.Add(-time.Nanosecond))); diff != "" {
				t.Errorf("the result changes before the time to look again (-now +before):\n%s", diff)
			}
		}
		if diff := cmp.Diff(before, obj); diff != "" {
			t.Errorf("the object was changed (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(withoutShortcut(obj), compute(obj), cmp.AllowUnexported(computed{})); diff != "" {
			t.Errorf("the result of the shortcut differs (-kstatus +shortcut):\n%s", diff)
		}
	})
}

func checkReadiness(t *testing.T, v Readiness) {
	t.Helper()
	if v.Ready != (!v.Error && !v.Transitioning) {
		t.Errorf("the flags contradict each other: %+v", v)
	}
	if v.State == "" {
		t.Errorf("no state: %+v", v)
	}
	if v.Ready && v.Condition != (Condition{}) {
		t.Errorf("a condition decided against a ready object: %+v", v)
	}
	clean := slices.DeleteFunc(distinct(slices.Clone(v.Messages)), func(m string) bool {
		return m == "" || m != strings.TrimSpace(m)
	})
	if diff := cmp.Diff(clean, v.Messages); diff != "" {
		t.Errorf("messages are not clean (-clean +got):\n%s", diff)
	}
}
