// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
)

func (in *Input) valuesMissing(out *found, o *valuesOwner) {
	switch {
	case o.result.State == values.Missing:
		f := o.finding("the values Secret of %s does not exist: the agent cannot deploy the bundle", o.key)
		f.Evidence = append([]string{o.why(), in.withoutValues()}, in.brokenBundle(o)...)
		in.reportRewrite(out, o, f)
	case o.result.State == values.Foreign && o.result.Reason != values.Equal:
		f := o.finding("the values Secret of %s does not exist: a Secret of type %q has its name", o.key,
			o.facts.Secret.Type)
		f.Evidence = append([]string{"the type of a Secret cannot be changed: save the other Secret and remove it, " +
			"if nothing uses it", in.withForeign()}, in.brokenBundle(o)...)
		out.report(f, in.Steps.Commands.ShowSecret(o.secret))
	}
}

// withoutValues describes what the controller does if the Secret does not exist.
func (in *Input) withoutValues() string {
	switch c := in.Facts.Controller(); {
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
	switch c := in.Facts.Controller(); {
	case c.RepairsMismatch():
		return in.controllerVersion() + ": when it processes the Bundle, it overwrites the data of the other Secret"
	case c.Known:
		return in.controllerVersion() + ": it updates no target of the bundle"
	}
	return in.controllerVersion() + ": 0.15.3 and later overwrite the data of the other Secret"
}

// brokenBundle says that the values Secret of the Bundle is wrong too.
func (in *Input) brokenBundle(o *valuesOwner) []string {
	if o.bundle == nil || ofHelmOp(o.bundle) || !brokenValues(in.valuesOfBundle(o.bundle).result.State) {
		return nil
	}
	return []string{fmt.Sprintf("the values Secret of its Bundle %s is missing or different too, and must be repaired "+
		"first: see FD404", o.deployment.Bundle)}
}
