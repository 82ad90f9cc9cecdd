// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

func (in *pass) notReady(d *evaluate.BundleDeployment, o *evaluate.Object) {
	f := about(&d.Deployment, o.Ref, "%s is not ready", o.Key())
	f.Remedies = []remedy.Remedy{in.On(d.On).Describe(o.Ref)}
	if o.Condition != "" {
		f.Message += ": " + o.Condition
	}
	if o.Message != "" {
		f.Evidence = []string{o.Message}
	}
	in.report(f)
}
