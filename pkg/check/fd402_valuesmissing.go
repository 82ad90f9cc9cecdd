// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
)

var valuesMissing = Check{
	Code: "FD402", Name: "ValuesMissing", Severity: Error,
	Title: "the values Secret of a BundleDeployment does not exist",
	Explain: "The agent needs the Helm values in this Secret for each deployment. Without it, the agent tries again without any message in the status, and the deployment stays as it is. " +
		"From 0.14.4 on the controller waits, and does not write the Secret while the options of the bundle stay the same; from 0.12.2 to 0.14.3 it may store empty values, and the agent then deploys " +
		"the defaults of the chart. First make Fleet deploy the bundle again with a new forceSyncGeneration, which writes the values of the Bundle and of its deployments. Do not clear valuesHash " +
		"before that: if deploymentID equals stagedDeploymentID, Fleet would store empty current values.",
	run: func(in *Input, report func(Finding)) {
		broken := map[string]bool{} // Bundles
		for o := range in.valuesOwners() {
			if o.deployment == nil && brokenValues(o.result.State) {
				broken[o.name()] = true
			}
		}
		for o := range in.valuesOwners() {
			if o.deployment == nil {
				continue
			}
			switch {
			case o.result.State == values.Missing:
				f := o.finding("the values Secret of %s does not exist: the agent cannot deploy the bundle", o.name())
				f.Evidence = append([]string{o.why(), in.withoutValues()}, cautions...)
				f.Remediation = in.writeValues(&o)
				report(o.withBundle(f, broken))
			case o.result.State == values.Foreign && o.result.Reason != values.Equal:
				f := o.finding("the values Secret of %s does not exist: a Secret of type %q has its name", o.name(), o.facts.Secret.Type)
				f.Evidence = []string{"the type of a Secret cannot be changed: rename or remove the other Secret, if nothing uses it", in.withoutValues()}
				f.Remediation = in.showSecret(o.secret())
				report(o.withBundle(f, broken))
			}
		}
	},
}

// cautions apply to the repair of a missing Secret.
var cautions = []string{
	"caution: do not clear valuesHash before the bundle is deployed again: if deploymentID equals stagedDeploymentID, the current values would be stored empty",
	"the repair follows from the source of Fleet: try it in a test cluster first",
}

// withoutValues describes what the controller does if the Secret does not exist.
func (in *Input) withoutValues() string {
	switch c := in.controller(); {
	case c.Waits():
		return in.controllerVersion() + ": it waits, and does not write the Secret while the options of the bundle stay the same"
	case c.LosesValues():
		return in.controllerVersion() + ": it may store the Secret with empty values, and the agent then deploys the defaults of the chart (rancher/fleet#4599)"
	case c.Known:
		return in.controllerVersion() + ": it updates no target of the bundle"
	}
	return in.controllerVersion() + ": up to 0.14.3 it may store the Secret with empty values, from 0.14.4 on it waits"
}

// withBundle adds that the values Secret of the Bundle is wrong too.
func (o *valuesOwner) withBundle(f Finding, broken map[string]bool) Finding {
	if broken[o.deployment.Bundle] {
		f.Evidence = append(f.Evidence, fmt.Sprintf("the values Secret of its Bundle %s is missing or different too: see FD404", o.deployment.Bundle))
	}
	return f
}
