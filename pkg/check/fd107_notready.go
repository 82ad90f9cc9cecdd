// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

var notReady = Check{
	Code: "FD107", Name: "NotReady", Severity: Warning,
	Title: "the object is as desired, but not ready",
	Explain: "It exists, is owned by the bundle and is not modified, but by the rules of Fleet's agent its status is not ready. The ignore.conditions of the bundle " +
		"are respected.",
	run: func(in *Input) []Finding {
		return in.ofState(evaluate.NotReady, func(_ *evaluate.BundleDeployment, o *evaluate.Object) Finding {
			f := Finding{Message: fmt.Sprintf("%s is not ready", o.Key()),
				Remediation: fmt.Sprintf("%s describe %s", in.Commands.kubectl(o.Ref), kubectlName(o.Ref))}
			if o.Condition != "" {
				f.Message += ": " + o.Condition
			}
			if o.Message != "" {
				f.Evidence = []string{o.Message}
			}
			return f
		})
	},
}
