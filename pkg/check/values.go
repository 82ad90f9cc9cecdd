// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"iter"
	"strings"
	"time"

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

// valuesOwner is a BundleDeployment or a Bundle in scope, with the state of its values Secret.
type valuesOwner struct {
	in         *Input
	deployment *evaluate.BundleDeployment // nil for a Bundle
	bundle     *v1alpha1.Bundle           // of a BundleDeployment: nil if it was not read
	facts      values.Facts
	result     values.Result
}

// valuesOwners iterates over the BundleDeployments and Bundles in scope. It omits those without a Secret to report.
func (in *Input) valuesOwners() iter.Seq[valuesOwner] {
	return func(yield func(valuesOwner) bool) {
		controller, secrets := in.Controller(), in.Desired.Values
		for _, d := range in.Deployments {
			if d.BD == nil {
				continue
			}
			b := in.Bundle(d.Bundle)
			facts := secrets.Facts(state.DeploymentKey(d.BD), state.DeploymentOwner(d.BD, b))
			if !yield(valuesOwner{in, d, b, facts, values.Classify(facts, in.Now(), controller)}) {
				return
			}
		}
		for _, a := range in.Tree[state.Bundle] {
			b, ok := a.Object.(*v1alpha1.Bundle)
			inScope := a.InScope || len(a.BundleDeployments) > 0
			if !ok || !inScope || ofHelmOp(b) {
				continue // the values of a HelmOp are in its Bundle
			}
			facts := secrets.Facts(state.BundleKey(b), state.BundleOwner(b))
			if !yield(valuesOwner{in, nil, b, facts, values.Classify(facts, in.Now(), controller)}) {
				return
			}
		}
	}
}

func ofHelmOp(b *v1alpha1.Bundle) bool {
	return b.Labels[fleet.HelmOpLabel] != "" && b.Labels[fleet.RepoLabel] == ""
}

// finding returns a finding about the owner.
func (o *valuesOwner) finding(format string, args ...any) Finding {
	f := Finding{Message: fmt.Sprintf(format, args...)}
	if o.deployment != nil {
		f = about(&o.deployment.Deployment, o.deployment.Ref(), format, args...)
	} else {
		f.Object = facts.Ref(state.Bundle, o.bundle.Namespace, o.bundle.Name)
	}
	// Fleet writes the Secret and its owner in two requests.
	switch o.result.State {
	case values.Pending, values.Repair: // the finding says that they change
	case values.OK, values.Leftover:
		f.Settle = o.settle(f.Object)
	default:
		f.Settle, f.Pauses = o.settle(f.Object), 1
	}
	return f
}

// settle asks whether the Secret and its owner are as they were.
func (o *valuesOwner) settle(owner object.Ref) []settle.Question {
	namespace, name, _ := strings.Cut(o.name(), "/")
	return o.in.SameValues(state.ValuesKey{Type: o.facts.Type, Namespace: namespace, Name: name}, owner)
}

// name is the namespace and name of the owner, and of its Secret.
func (o *valuesOwner) name() string {
	if o.deployment != nil {
		return o.deployment.Key()
	}
	return facts.Key(o.bundle)
}

// secret is the reference of the Secret.
func (o *valuesOwner) secret() object.Ref {
	namespace, name, _ := strings.Cut(o.name(), "/")
	return secretRef(namespace, name)
}

func secretRef(namespace, name string) object.Ref {
	return object.Ref{APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: name}
}

// why returns the evidence that the state is not that of an update in progress.
func (o *valuesOwner) why() string {
	since := o.result.Since.UTC().Format(time.RFC3339)
	used := o.facts.Owner.Used.UTC().Format(time.RFC3339)
	switch s := o.facts.Secret; {
	case o.result.Reason == values.Edited:
		return fmt.Sprintf("field manager %s changed the Secret at %s", s.Editor, s.Edited.UTC().Format(time.RFC3339))
	case o.result.Reason == values.UsedSince && !o.result.Since.IsZero():
		return fmt.Sprintf("no update is in progress: Fleet used the Secret with this hash at %s, after the last "+
			"recorded change at %s", used, since)
	case o.result.Reason == values.UsedSince:
		return "no update is in progress: the present deployment was complete at " + used
	}
	return fmt.Sprintf("no update is in progress: the last change of the %s or its Secret was at %s",
		o.facts.Owner.Kind, since)
}

// controllerVersion is a sentence that names the version of the controller.
func (in *Input) controllerVersion() string {
	if v := in.Desired.ControllerVersion; in.Controller().Known {
		return "fleet-controller " + v
	}
	return "the version of fleet-controller is not known"
}

// writeBundleValues makes the job of the GitRepo write the values of a Bundle again.
func (in *Input) writeBundleValues(o *valuesOwner) remedy.Remedy {
	if g := in.GitRepo(o.bundle.Namespace + "/" + o.bundle.Labels[fleet.RepoLabel]); g != nil {
		return in.StartJob(facts.Key(g), g.Spec.ForceSyncGeneration+1)
	}
	return remedy.Advise("apply the bundle again, which writes its values")
}

// discardHash makes the controller write the values of a BundleDeployment again, and store them as current
// (docs/fleet-behavior.md, 6.3).
const discardHash = `{"spec":{"valuesHash":"","waitingForValues":true,"deploymentID":""}}`

// writeValues adds to a finding how to make the controller write the values of a BundleDeployment again, without a
// deploy.
func (in *Input) writeValues(o *valuesOwner, f Finding) Finding {
	namespace, name, found := strings.Cut(o.deployment.Bundle, "/")
	if !found {
		f.Remedies = []remedy.Remedy{remedy.Advise("restore the Bundle of the BundleDeployment: only the controller " +
			"can write the values")}
		return f
	}
	f.Remedies = []remedy.Remedy{remedy.Run(fmt.Sprintf("%s patch %s --type=merge -p '%s' && %s",
		in.Commands.For(o.deployment.Ref()), remedy.Named("bundledeployments.fleet.cattle.io",
			o.deployment.Name), discardHash, in.ProcessCommand(namespace, name)),
		"makes the controller write the values from the Bundle again; the agent deploys nothing that has not changed")}
	f.Evidence = append(f.Evidence, "the annotation makes the controller process the Bundle", caution)
	return f
}

// caution applies to the discarded hash.
const caution = "caution: clear valuesHash only together with deploymentID: if deploymentID equals " +
	"stagedDeploymentID, the current values would be stored empty"

// brokenValues reports whether a values Secret is missing or wrong.
func brokenValues(s values.State) bool {
	return s == values.Missing || s == values.Mismatch || s == values.Foreign
}
