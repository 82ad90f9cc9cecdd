// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// addSteps adds the steps of the verb repair that the remedies of a finding name, and replaces these remedies by one
// command. Further steps are alternatives, which the verb does not make. If the first of these remedies is empty, the
// command is not shown: what it does depends on a decision.
func (in *Input) addSteps(f *Finding) {
	var allow, effects []string
	first := -1
	f.Remedies = slices.DeleteFunc(f.Remedies, func(r remedy.Remedy) bool {
		done := len(f.Steps) > 0 && !f.Steps[len(f.Steps)-1].More()
		if r.Step.Kind == "" || done {
			return false
		}
		f.Steps = append(f.Steps, r.Step)
		if r.Text != "" {
			effects = append(effects, r.Text)
		}
		if flag := r.Step.Kind.Allowed(); flag != "" && !slices.Contains(allow, flag) {
			allow = append(allow, flag)
		}
		return len(f.Steps) > 1
	})
	for i := range f.Remedies {
		r := &f.Remedies[i]
		if r.Step.Kind != "" && first < 0 {
			first = i
		}
		r.Step = remedy.Step{} // equal remedies of several objects are shown once
	}
	if first >= 0 && f.Remedies[first] == (remedy.Remedy{}) {
		f.Remedies = slices.Delete(f.Remedies, first, first+1)
		return
	}
	adopts := len(f.Steps) == 1 && f.Remedies[first].Command != "" && f.Steps[0].Kind == remedy.StepAdopt
	if first < 0 || adopts {
		return
	}
	f.Remedies[first] = repairing(in.repairs(f)+" --code="+f.Code, allow, effects...)
}

// repairing is a command of the verb repair.
func repairing(command string, allow []string, effects ...string) remedy.Remedy {
	if len(allow) > 0 {
		command += " --allow=" + strings.Join(allow, ",")
	}
	does, further, more := strings.Cut(strings.Join(effects, "; then "), ". ")
	does += "; shows the plan, and asks before it writes"
	if more {
		does += ". " + further
	}
	return remedy.Remedy{Command: command, Text: does}
}

// repairs is the command that repairs what a finding is about, on all clusters that are read.
func (in *Input) repairs(f *Finding) string {
	for _, d := range in.Result.Deployments {
		if d.Key() == f.BundleDeployment && d.Cluster == f.Cluster {
			return in.Steps.Commands.Repair + " " + in.Steps.Commands.BundleArgs(&d.Deployment)
		}
	}
	target := escape.Shell(strings.ToLower(f.Object.Kind) + "/" + f.Object.Name)
	return in.Steps.Commands.Repair + " " + target + remedy.InNamespace(f.Object.Namespace)
}
