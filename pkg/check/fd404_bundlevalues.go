// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
)

var bundleValues = Check{
	Code: "FD404", Name: "BundleValues", Severity: Error,
	Title: "the values Secret of a Bundle is missing or does not have the hash that the Bundle states",
	run: func(in *Input, report func(Finding)) {
		for o := range in.valuesOwners() {
			if o.deployment != nil || !brokenValues(o.result.State) || o.result.Reason == values.Equal {
				continue
			}
			f := Finding{}
			switch o.result.State {
			case values.Foreign:
				f = o.finding("the values Secret of bundle %s does not exist: a Secret of type %q has its name",
					o.name(), o.facts.Secret.Type)
				f.Remedies = []remedy.Remedy{in.Commands.ShowSecret(o.secret())}
			case values.Missing:
				f = o.finding("the values Secret of bundle %s does not exist", o.name())
				f.Remedies, f.Evidence = []remedy.Remedy{in.writeBundleValues(&o)}, []string{o.why()}
			default:
				f = o.finding("the values Secret of bundle %s does not have the stated hash", o.name())
				f.Remedies, f.Evidence = []remedy.Remedy{in.writeBundleValues(&o)}, []string{o.why()}
			}
			f.Evidence = append(f.Evidence, "the controller updates no target of the bundle and writes no status "+
				"until the Secret has the hash")
			if g, observed := o.bundle.Generation, o.bundle.Status.ObservedGeneration; observed < g {
				f.Evidence = append(f.Evidence,
					fmt.Sprintf("the controller has observed generation %d of %d", observed, g))
			}
			report(f)
		}
	},
}
