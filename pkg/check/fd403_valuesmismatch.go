// SPDX-License-Identifier: Apache-2.0

package check

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"

var valuesMismatch = Check{
	Code: "FD403", Name: "ValuesMismatch", Severity: Error,
	Title: "the values Secret of a BundleDeployment does not have the hash that the BundleDeployment states",
	Explain: "The agent accepts only values with the stated hash, and tries again without any message in the status. Somebody changed the Secret, or an update was interrupted. " +
		"From 0.15.3 on the controller discards the hash and writes both again. Before, it tries again for ever, and updates no target of the bundle, until the Secret and the hash are written again.",
	run: func(in *Input, report func(Finding)) {
		for o := range in.valuesOwners() {
			if o.deployment == nil || o.result.State != values.Mismatch {
				continue
			}
			f := o.finding("the values Secret of %s does not have the stated hash: the agent does not deploy the bundle", o.name())
			f.Evidence = []string{o.why(), in.withOtherValues()}
			f.Remediation = in.writeValues(&o)
			report(f)
		}
	},
}

// withOtherValues describes what the controller does if the hash of the Secret is another one.
func (in *Input) withOtherValues() string {
	switch c := in.controller(); {
	case c.RepairsMismatch():
		return in.controllerVersion() + ": it repairs this by itself when it processes the Bundle"
	case c.Known:
		return in.controllerVersion() + ": it does not repair this, and updates no target of the bundle (rancher/fleet#4962)"
	}
	return in.controllerVersion() + ": 0.15.3 and later repair this by themselves, earlier versions do not"
}
