// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// valuesOwner is a BundleDeployment or a Bundle, with the state of its values Secret, which has its name.
type valuesOwner struct {
	deployment *evaluate.BundleDeployment // nil for a Bundle
	bundle     *v1alpha1.Bundle           // of a BundleDeployment: nil if it was not read
	key        string
	secret     object.Ref
	facts      values.Facts
	result     values.Result
	// same asks whether the Secret and its owner are as they were: Fleet writes them in two requests.
	same func() []settle.Question
}

// valuesOf returns the state of the values Secret of a BundleDeployment.
func (in *Input) valuesOf(d *evaluate.BundleDeployment) *valuesOwner {
	f, result := in.Facts.ValuesOf(&d.Deployment)
	same := func() []settle.Question { return in.Facts.SameValues(state.DeploymentKey(d.BD), d.Ref()) }
	return &valuesOwner{d, in.Facts.Bundle(d.Bundle), d.Key(), secretRef(d.Namespace, d.Name), f, result, same}
}

// valuesOfBundle returns the state of the values Secret of a Bundle.
func (in *Input) valuesOfBundle(b *v1alpha1.Bundle) *valuesOwner {
	f := in.Result.Desired.Values.Facts(state.BundleKey(b), state.BundleOwner(b))
	result := values.Classify(f, in.Result.Now(), in.Facts.Controller())
	same := func() []settle.Question { return in.Facts.SameValues(state.BundleKey(b), facts.RefTo(b)) }
	return &valuesOwner{nil, b, facts.Key(b), secretRef(b.Namespace, b.Name), f, result, same}
}

func secretRef(namespace, name string) object.Ref {
	return object.Ref{APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: name}
}

func ofHelmOp(b *v1alpha1.Bundle) bool {
	return b.Labels[fleet.HelmOpLabel] != "" && b.Labels[fleet.RepoLabel] == ""
}

// finding returns a finding about the owner.
func (o *valuesOwner) finding(format string, args ...any) Finding {
	f := Finding{Message: fmt.Sprintf(format, args...)}
	if o.deployment != nil {
		f = about(o.deployment, o.deployment.Ref(), format, args...)
	} else {
		f.Object = facts.RefTo(o.bundle)
	}
	switch o.result.State {
	case values.Pending, values.Repair: // the finding says that they change
	case values.OK, values.Leftover:
		f.Settle = o.same()
	default:
		f.Settle, f.Pauses = o.same(), 1
	}
	return f
}

// why returns the evidence that the state is not that of an update in progress.
func (o *valuesOwner) why() string {
	since := facts.Time(o.result.Since)
	used := facts.Time(o.facts.Owner.Used)
	switch s := o.facts.Secret; {
	case o.result.Reason == values.Edited:
		return fmt.Sprintf("field manager %s changed the Secret at %s", s.Editor, facts.Time(s.Edited))
	case o.result.Reason == values.UsedSince && !o.result.Since.IsZero():
		return fmt.Sprintf("no update is in progress: Fleet used the Secret with this hash at %s, after the last "+
			"recorded change at %s", used, since)
	case o.result.Reason == values.UsedSince:
		return "no update is in progress: the present deployment was complete at " + used
	}
	return fmt.Sprintf("no update is in progress: the last change of the %s or its Secret was at %s",
		o.facts.Owner.Kind, since)
}

// lastChange is the evidence when the Secret or its owner changed last, if that is known.
func (o *valuesOwner) lastChange() []string {
	if o.result.Since.IsZero() {
		return nil
	}
	return []string{"the last change was at " + facts.Time(o.result.Since)}
}

// controllerVersion is a sentence that names the version of the controller.
func (in *Input) controllerVersion() string {
	if v := in.Result.Desired.ControllerVersion; in.Facts.Controller().Known {
		return "fleet-controller " + v
	}
	return "the version of fleet-controller is not known"
}

// writeBundleValues makes the job of the GitRepo write the values of a Bundle again.
func (in *Input) writeBundleValues(o *valuesOwner) remedy.Remedy {
	if g := in.Facts.GitRepo(o.bundle.Namespace + "/" + o.bundle.Labels[fleet.RepoLabel]); g != nil {
		return in.Steps.StartJob(facts.Key(g), g.Spec.ForceSyncGeneration+1)
	}
	return remedy.Advise("apply the bundle again, which writes its values")
}

// discardHash makes the controller write the values of a BundleDeployment again, and store them as current
// (docs/fleet-behavior.md, 6.3).
const discardHash = `{"spec":{"valuesHash":"","waitingForValues":true,"deploymentID":""}}`

// reportRewrite reports a finding with how to make the controller write the values of a BundleDeployment again, without
// a deploy.
func (in *Input) reportRewrite(out *found, o *valuesOwner, f Finding) {
	if o.deployment.Bundle == "" {
		out.report(f, remedy.Advise("restore the Bundle of the BundleDeployment: only the controller can write the "+
			"values"))
		return
	}
	rewrite := remedy.Step{Kind: remedy.StepDeploy, Object: o.deployment.Ref(), Patch: discardHash, Then: true,
		Effect: "Fleet's controller writes the values again; nothing that has not changed is deployed"}
	out.report(f, remedy.Make(rewrite,
		"makes the controller write the values from the Bundle again; the agent deploys nothing that has not changed"),
		in.Steps.Process(o.deployment.Bundle, ""))
}

// brokenValues reports whether a values Secret is missing or wrong.
func brokenValues(s values.State) bool {
	return s == values.Missing || s == values.Mismatch || s == values.Foreign
}
