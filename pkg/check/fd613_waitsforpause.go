// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
)

// waitsForPause reports what a pause keeps from being deployed, once for each object that is paused.
func (in *Input) waitsForPause(out *found) {
	causes := in.Causes()
	var all []Finding
	waiting, what := map[int][]string{}, map[int]string{}
	for _, d := range in.Result.Deployments {
		steps := causes.Blocked(&d.Deployment)
		if len(steps) == 0 || steps[0].Kind != StepPaused {
			continue
		}
		root := steps[len(steps)-1]
		if root.Of != nil { // what pauses it is not known
			continue
		}
		i := slices.IndexFunc(all, func(f Finding) bool { return f.Object == root.Object })
		if i < 0 {
			i = len(all)
			all = append(all, Finding{Object: root.Object, Cluster: root.Cluster, AsOf: root.AsOf, Remedies: root.Next,
				Message: strings.ToLower(root.Object.Kind) + " " + root.key() + " is paused"})
		}
		waiting[i] = append(waiting[i], d.Key())
		if spec := &d.BD.Spec; spec.DeploymentID != spec.StagedDeploymentID {
			what[i] = "newer "
		}
	}
	for i, f := range all {
		slices.Sort(waiting[i])
		f.Message += ", and a " + what[i] + "deployment waits in " +
			facts.Count(len(waiting[i]), "bundle deployment") + ": " + facts.List(waiting[i])
		out.report(f)
	}
}
