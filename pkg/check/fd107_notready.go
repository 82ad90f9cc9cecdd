// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

var notReady = Check{
	Code: "FD107", Name: "NotReady", Severity: Warning,
	Title: "the object is as desired, and not ready",
	Explain: "It is present, owned and unmodified; its own status says that it is not ready, judged by the rules of Fleet's agent. The bundle's ignore.conditions " +
		"are honoured.",
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
