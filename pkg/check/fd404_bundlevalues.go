// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
)

// brokenBundleValues returns the finding that the controller updates no target of a Bundle because of its values.
func (in *Input) brokenBundleValues(o *valuesOwner) (Finding, bool) {
	if !brokenValues(o.result.State) || o.result.Reason == values.Equal {
		return Finding{}, false
	}
	what, evidence, next := "does not have the stated hash", []string{o.why()}, in.writeBundleValues(o)
	switch o.result.State {
	case values.Missing:
		what = "does not exist"
	case values.Foreign:
		what = fmt.Sprintf("does not exist: a Secret of type %q has its name", o.facts.Secret.Type)
		evidence, next = nil, in.Steps.Commands.ShowSecret(o.secret)
	}
	f := o.finding("the values Secret of bundle %s %s", o.key, what)
	f.Evidence = evidence
	f.say("the controller updates no target of the bundle and writes no status until the Secret has the hash")
	if g, observed := o.bundle.Generation, o.bundle.Status.ObservedGeneration; observed < g {
		f.say("the controller has observed generation %d of %d", observed, g)
	}
	f.Code, f.Remedies = codes.BundleValues, []remedy.Remedy{next}
	return f, true
}
