// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
)

var valuesMissing = Check{
	Code: "FD402", Name: "ValuesMissing", Severity: Error,
	Title: "the values Secret of a BundleDeployment does not exist",
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
				f.Evidence = []string{o.why(), in.withoutValues()}
				report(in.writeValues(&o, o.withBundle(f, broken)))
			case o.result.State == values.Foreign && o.result.Reason != values.Equal:
				f := o.finding("the values Secret of %s does not exist: a Secret of type %q has its name", o.name(),
					o.facts.Secret.Type)
				f.Evidence = []string{"the type of a Secret cannot be changed: save the other Secret and remove it, " +
					"if nothing uses it", in.withForeign()}
				f.Remedies = []remedy.Remedy{in.Commands.ShowSecret(o.secret())}
				report(o.withBundle(f, broken))
			}
		}
	},
}

// withoutValues describes what the controller does if the Secret does not exist.
func (in *Input) withoutValues() string {
	switch c := in.Controller(); {
	case c.Waits():
		return in.controllerVersion() + ": it waits for the Secret, and does not write it again, not even for a new " +
			"forceSyncGeneration"
	case c.LosesValues():
		return in.controllerVersion() + ": it may store the Secret with empty values, and the agent then deploys " +
			"the defaults of the chart (rancher/fleet#4599)"
	case c.Known:
		return in.controllerVersion() + ": it updates no target of the bundle"
	}
	return in.controllerVersion() + ": 0.14.4 and later wait for the Secret, 0.14.1 to 0.14.3 may store it with " +
		"empty values, earlier versions update no target of the bundle"
}

// withForeign describes what the controller does if a Secret of another type has the name.
func (in *Input) withForeign() string {
	switch c := in.Controller(); {
	case c.RepairsMismatch():
		return in.controllerVersion() + ": when it processes the Bundle, it overwrites the data of the other Secret"
	case c.Known:
		return in.controllerVersion() + ": it updates no target of the bundle"
	}
	return in.controllerVersion() + ": 0.15.3 and later overwrite the data of the other Secret"
}

// withBundle adds that the values Secret of the Bundle is wrong too.
func (o *valuesOwner) withBundle(f Finding, broken map[string]bool) Finding {
	if broken[o.deployment.Bundle] {
		f.Evidence = append(f.Evidence, fmt.Sprintf("the values Secret of its Bundle %s is missing or different "+
			"too, and must be repaired first: see FD404", o.deployment.Bundle))
	}
	return f
}
