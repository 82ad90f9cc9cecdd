// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
)

func (in *Input) valuesPending(out *found, o *valuesOwner) {
	pending := o.result.State == values.Pending && o.facts.Owner.Hash != ""
	if !pending && o.result.State != values.Repair {
		return
	}
	f := o.finding("the values Secret of %s is or may be in an update: %s", o.key, o.pendingReason())
	f.Evidence = o.lastChange()
	again := in.Steps.Commands.Audit
	if o.deployment != nil {
		again += " " + in.Steps.Commands.BundleArgs(&o.deployment.Deployment)
	}
	out.report(f, remedy.Run(again, "shows whether the update has ended"))
}

func (o *valuesOwner) pendingReason() string {
	s := o.facts.Secret
	switch emptied := s != nil && s.Emptied && o.facts.Owner.Current; {
	case emptied && o.result.State == values.Pending:
		return "it has no current values yet"
	case o.result.Reason == values.NoTime:
		return "it and the stated hash do not match, and the data do not show when they last changed"
	case o.result.Reason == values.OwnerBehind:
		return "it and the stated hash do not match, and the controller has not observed the last change of the Bundle"
	case o.result.Reason == values.WaitsForIt:
		return "the controller has set waitingForValues, and the agent deploys nothing until the controller has " +
			"written the values again"
	case s != nil && s.Hash == o.facts.Owner.Hash:
		return "it does not have its owner yet"
	}
	return "it and the stated hash do not match yet"
}
