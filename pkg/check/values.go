// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
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

func (in *Input) copyMissing(out *found) {
	for i := range in.Result.Copies {
		c := &in.Result.Copies[i]
		now := in.Facts.ReadAt(c.Deployment.ClusterID)
		switch since := now.Sub(c.Deployed); {
		case !c.Read, c.Equal, now.IsZero(), since <= values.Window: // or it is not known
		case !c.Changed.IsZero() && now.Sub(c.Changed) <= values.Window: // it may be copied now
		case !c.Exists:
			in.wrongCopy(out, c, "is missing")
		case !c.Changed.IsZero():
			in.wrongCopy(out, c, "does not have the data of the original")
		}
	}
}

func (in *Input) wrongCopy(out *found, c *evaluate.Copy, what string) {
	f := about(c.Deployment, c.Copied, "%s %s/%s, a copy of %s/%s for %s, %s", strings.ToLower(c.Copied.Kind),
		c.Copied.Namespace, c.Copied.Name, c.Original.Namespace, c.Original.Name, c.Deployment.Key(), what)
	f.say("the present deployment was complete at %s", facts.Time(c.Deployed))
	f.sayIf(!c.Changed.IsZero(), "the last change of the original was at "+facts.Time(c.Changed))
	v := in.Facts.Controller()
	f.sayIf(v.Known && v.Before(15, 0), in.controllerVersion()+": it copies them only when it deploys the bundle")
	out.report(f, in.Steps.Redeploy(c.Deployment)...)
}

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

func (in *Input) valuesMismatch(out *found, o *valuesOwner) {
	switch o.result.State {
	case values.Emptied:
		in.emptied(out, o)
	case values.Mismatch:
		f := o.finding("the values Secret of %s does not have the stated hash: the agent does not deploy the bundle",
			o.key)
		f.Evidence = []string{o.why(), in.withOtherValues()}
		in.reportRewrite(out, o, f)
	}
}

// emptied reports a Secret that lost its current values.
func (in *Input) emptied(out *found, o *valuesOwner) {
	f := o.finding("the values Secret of %s has no current values, although the bundle deployment has values: the "+
		"next deploy installs the defaults of the chart", o.key)
	f.Evidence = []string{"deploymentID equals stagedDeploymentID, and only stagedValues has values", o.why(),
		"if the agent has deployed since, the objects may have the defaults of the chart, and Fleet reports them as " +
			"ready"}
	if o.deployment.GitRepo == "" {
		in.reportRewrite(out, o, f)
		return
	}
	out.report(f, in.Steps.Redeploy(o.deployment)...) // the objects may have the defaults already
}

// withOtherValues describes what the controller does if the hash of the Secret is another one.
func (in *Input) withOtherValues() string {
	switch c := in.Facts.Controller(); {
	case c.RepairsMismatch():
		return in.controllerVersion() + ": it writes both again when it processes the Bundle, but stores empty " +
			"current values if deploymentID equals stagedDeploymentID"
	case c.Known:
		return in.controllerVersion() + ": it does not repair this, and updates no target of the bundle " +
			"(rancher/fleet#4962)"
	}
	return in.controllerVersion() + ": 0.15.3 and later write both again, with empty current values if deploymentID " +
		"equals stagedDeploymentID; earlier versions do not"
}

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
