// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

var notReady = Check{
	Code: "FD107", Name: "NotReady", Severity: report.Warning,
	Title: "the object is as desired, and not ready",
	Explain: "It is present, owned and unmodified; its own status says that it is not ready, judged by the rules of Fleet's agent. The bundle's ignore.conditions " +
		"are honoured.",
	run: func(c *Case) []report.Finding {
		return c.ofState(report.NotReady, func(_ *Deployment, o *Object) report.Finding {
			f := report.Finding{Message: fmt.Sprintf("%s is not ready", o.Key()),
				Remediation: fmt.Sprintf("%s describe %s", c.Commands.kubectl(o.Ref), kubectlName(o.Ref))}
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
