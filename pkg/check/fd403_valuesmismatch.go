// SPDX-License-Identifier: Apache-2.0

package check

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"

func (in *Input) valuesMismatch(out *found, o *valuesOwner) {
	switch o.result.State {
	case values.Emptied:
		in.emptied(out, o)
	case values.Mismatch:
		f := o.finding("the values Secret of %s does not have the stated hash: the agent does not deploy the bundle",
			o.key)
		f.Evidence = []string{o.why(), in.withOtherValues()}
		in.reportRewrite(out, o, f)
	}
}

// emptied reports a Secret that lost its current values.
func (in *Input) emptied(out *found, o *valuesOwner) {
	f := o.finding("the values Secret of %s has no current values, although the bundle deployment has values: the "+
		"next deploy installs the defaults of the chart", o.key)
	f.Evidence = []string{"deploymentID equals stagedDeploymentID, and only stagedValues has values", o.why(),
		"if the agent has deployed since, the objects may have the defaults of the chart, and Fleet reports them as " +
			"ready"}
	if o.deployment.GitRepo == "" {
		in.reportRewrite(out, o, f)
		return
	}
	out.report(f, in.Steps.Redeploy(o.deployment)...) // the objects may have the defaults already
}

// withOtherValues describes what the controller does if the hash of the Secret is another one.
func (in *Input) withOtherValues() string {
	switch c := in.Facts.Controller(); {
	case c.RepairsMismatch():
		return in.controllerVersion() + ": it writes both again when it processes the Bundle, but stores empty " +
			"current values if deploymentID equals stagedDeploymentID"
	case c.Known:
		return in.controllerVersion() + ": it does not repair this, and updates no target of the bundle " +
			"(rancher/fleet#4962)"
	}
	return in.controllerVersion() + ": 0.15.3 and later write both again, with empty current values if deploymentID " +
		"equals stagedDeploymentID; earlier versions do not"
}
