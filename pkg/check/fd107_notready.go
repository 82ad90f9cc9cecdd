// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

var notReady = Check{
	Code: "FD107", Name: "NotReady", Severity: Warning,
	Title: "the object is as desired, but not ready",
	run: func(in *Input, report func(Finding)) {
		for d, o := range in.OfState(evaluate.NotReady) {
			f := about(&d.Deployment, o.Ref, "%s is not ready", o.Key())
			f.Remedies = []remedy.Remedy{in.On(d.On).Describe(o.Ref)}
			if o.Condition != "" {
				f.Message += ": " + o.Condition
			}
			if o.Message != "" {
				f.Evidence = []string{o.Message}
			}
			report(f)
		}
	},
}
