// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

func (in *Input) valuesLeftover(out *found, o *valuesOwner) {
	what := o.oddity()
	if what == "" {
		return
	}
	f := o.finding("the values Secret %s %s", o.key, what)
	f.Object, f.Evidence = o.secret, o.lastChange()
	remedies := only(in.Steps.Commands.ShowSecret(f.Object))
	if o.result.State == values.Leftover {
		remedies = append(remedies, removesValues(f.Object))
	}
	out.report(f, remedies...)
}

// removesValues deletes a values Secret that is left over.
func removesValues(secret object.Ref) remedy.Remedy {
	return remedy.Make(remedy.Step{Kind: remedy.StepRemove, Object: secret}, "deletes the Secret, which nothing uses")
}

// oddity describes what is unusual about a Secret that Fleet can use or does not need; empty if nothing is.
func (o *valuesOwner) oddity() string {
	kind := o.facts.Owner.Kind
	switch r := o.result; {
	case r.State == values.Leftover:
		return "is left over: its " + kind + " has no values"
	case r.State == values.Foreign && r.Reason == values.Equal:
		return fmt.Sprintf("has type %q, which Fleet does not give it", o.facts.Secret.Type)
	case r.State == values.OK && r.Reason == values.NoOwner:
		return "has no owner: Kubernetes does not delete it together with its " + kind
	case r.State == values.OK && r.Reason == values.OtherOwner:
		return "has an owner that is not the present " + kind +
			": Kubernetes deletes the Secret if that owner does not exist"
	}
	return ""
}

// ownerlessValues reports Secrets whose BundleDeployment or Bundle does not exist.
func (in *Input) ownerlessValues(out *found) {
	secrets := in.Result.Desired.Values
	if !in.Result.Whole || secrets == nil {
		return
	}
	known := map[state.ValuesKey]bool{}
	for _, bd := range in.Result.Desired.BundleDeployments {
		known[state.DeploymentKey(bd)] = true
	}
	for _, b := range in.Result.Desired.Bundles {
		known[state.BundleKey(b)] = true
	}
	kinds := map[string]string{values.DeploymentType: state.BundleDeployment, values.BundleType: state.Bundle}
	for k, s := range secrets.Secrets {
		kind := kinds[k.Type]
		if known[k] || s.Deleting || !in.Result.Desired.Read(kind, k.Namespace) {
			continue
		}
		alone := values.Facts{Type: k.Type, Owner: values.Owner{Kind: kind, Changed: s.Changed}, Secret: s, Read: true}
		if r := values.Classify(alone, in.Result.Now(), in.Facts.Controller()); r.State == values.Leftover {
			f := Finding{Object: secretRef(k.Namespace, k.Name),
				Message: fmt.Sprintf("the values Secret %s/%s is left over: its %s does not exist", k.Namespace, k.Name,
					kind),
				Settle: in.Facts.SameValues(k, facts.Ref(kind, k.Namespace, k.Name))}
			f.say("the last change was at %s", facts.Time(r.Since))
			out.report(f, in.Steps.Commands.ShowSecret(f.Object), removesValues(f.Object))
		}
	}
}
