// SPDX-License-Identifier: Apache-2.0

package evaluate

import "testing"

// TestAnswerKeepsAdditions has a server that would change nothing. It clears the differences, except what another
// manager than Fleet's agent wrote.
func TestAnswerKeepsAdditions(t *testing.T) {
	differences := []Difference{{Path: ".spec.size"}, {Path: ".spec.groups", Manager: "mutator"}}
	for _, test := range []struct {
		others map[string]bool
		answer Answer
		state  State
		paths  int
	}{
		{nil, Answer{}, NotReady, 0},
		{map[string]bool{".spec.groups": true}, Answer{}, Modified, 1},
		{map[string]bool{".spec.groups": true}, Answer{paths: []string{".spec.size"}}, Modified, 2},
		{map[string]bool{".spec.replicas": true}, Answer{}, NotReady, 0}, // an autoscaler explained it
	} {
		o := Object{State: Modified, Differences: differences, addedByOthers: test.others}
		o.answered(test.answer, false)
		if o.State != test.state || len(o.Differences) != test.paths {
			t.Errorf("%+v: the state is %s with differences %+v", test, o.State, o.Differences)
		}
	}
}
