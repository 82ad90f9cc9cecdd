// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
)

func (in *pass) bundleValues(o *valuesOwner) {
	if !brokenValues(o.result.State) || o.result.Reason == values.Equal {
		return
	}
	f := o.finding("the values Secret of bundle %s does not have the stated hash", o.name())
	f.Evidence, f.Remedies = []string{o.why()}, []remedy.Remedy{in.writeBundleValues(o)}
	switch o.result.State {
	case values.Missing:
		f.Message = fmt.Sprintf("the values Secret of bundle %s does not exist", o.name())
	case values.Foreign:
		f.Message = fmt.Sprintf("the values Secret of bundle %s does not exist: a Secret of type %q has its name",
			o.name(), o.facts.Secret.Type)
		f.Evidence, f.Remedies = nil, []remedy.Remedy{in.Commands.ShowSecret(o.secret())}
	}
	f.Evidence = append(f.Evidence, "the controller updates no target of the bundle and writes no status until the "+
		"Secret has the hash")
	if g, observed := o.bundle.Generation, o.bundle.Status.ObservedGeneration; observed < g {
		f.Evidence = append(f.Evidence, fmt.Sprintf("the controller has observed generation %d of %d", observed, g))
	}
	in.report(f)
}
