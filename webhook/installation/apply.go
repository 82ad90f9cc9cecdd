// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	jsonpatch "gomodules.xyz/jsonpatch/v2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Outcome is the result of a change for one object, in kubectl's words.
type Outcome string

// The outcomes.
const (
	Created    Outcome = "serverside-applied (created)"
	Configured Outcome = "serverside-applied (configured)"
	Unchanged  Outcome = "serverside-applied (unchanged)"
	Deleted    Outcome = "deleted"
	// Pruned is the outcome of an object that only other options of the installation need.
	Pruned Outcome = "pruned"
	// NotSent is the outcome of an apply in a dry run on the client.
	NotSent Outcome = "serverside-applied"
	// Unchecked is the outcome of a dry run for an object whose Namespace does not exist yet.
	Unchecked Outcome = "not checked: its namespace does not exist yet"
)

// Report is called with the outcome for each object.
type Report func(object.Ref, Outcome)

// DryRun limits a change, as kubectl's flag --dry-run.
type DryRun string

// The values of DryRun.
const (
	DryRunNone   DryRun = "none"
	DryRunClient DryRun = "client" // no request that writes
	DryRunServer DryRun = "server" // the server checks each request and stores nothing
)

// option is the value of the field dryRun of a request.
func (d DryRun) option() []string {
	if d == DryRunServer {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// Step is the desired state of one object beside its live state.
type Step struct {
	Desired *unstructured.Unstructured
	Live    *unstructured.Unstructured // nil if the object does not exist
}

// ForeignError refuses an installation that would change objects without the inventory label.
type ForeignError struct{ Objects []object.Ref }

// Error names all objects.
func (e *ForeignError) Error() string {
	text := "refusing to change objects that are not part of an installation of this webhook (they do not have the label " + Selector + "):"
	for _, r := range e.Objects {
		text += "\n  " + r.Key().String()
	}
	return text
}

// Plan reads the live state of the desired objects. The error is a *ForeignError if any of them exists without the
// inventory label; then nothing must be written.
func (c *Cluster) Plan(ctx context.Context, desired []*unstructured.Unstructured) ([]Step, error) {
	var steps []Step
	for _, d := range desired {
		live, err := c.Get(ctx, RefOf(d))
		if err != nil {
			return nil, err
		}
		steps = append(steps, Step{d, live})
	}
	return steps, check(steps)
}

func check(steps []Step) error {
	var foreign []object.Ref
	for _, s := range steps {
		switch {
		case s.Live == nil:
		case !isInstalled(s.Live):
			foreign = append(foreign, RefOf(s.Live))
		case s.Live.GetDeletionTimestamp() != nil:
			return fmt.Errorf("planning the installation: %s is being deleted; try again when it no longer exists", RefOf(s.Live).Key())
		}
	}
	if foreign != nil {
		return &ForeignError{foreign}
	}
	return nil
}

// Apply applies the steps in order. It stops at the first error, so that the API server never calls a webhook whose
// Deployment could not be applied.
func (c *Cluster) Apply(ctx context.Context, steps []Step, dryRun DryRun, report Report) error {
	absent := sets.Set[string]{} // Namespaces that a dry run does not create
	for _, s := range steps {
		outcome := NotSent
		switch {
		case dryRun == DryRunServer && absent.Has(s.Desired.GetNamespace()):
			outcome = Unchecked
		case dryRun != DryRunClient:
			var err error
			if outcome, err = c.apply(ctx, s, dryRun); err != nil {
				return err
			}
		}
		if s.Live == nil && s.Desired.GroupVersionKind() == namespaceKind {
			absent.Insert(s.Desired.GetName())
		}
		report(RefOf(s.Desired), outcome)
	}
	return nil
}

func (c *Cluster) apply(ctx context.Context, s Step, dryRun DryRun) (Outcome, error) {
	ref := RefOf(s.Desired)
	r, err := c.Resource(ref.GroupVersionKind(), ref.Namespace)
	if err != nil {
		return "", err
	}
	patch, err := preparingPatch(s)
	switch {
	case err != nil:
		return "", err
	case patch != nil && dryRun == DryRunServer:
		return Configured, nil // the server cannot check an apply that follows a patch which it does not store
	case patch != nil:
		if _, err := r.Patch(ctx, ref.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}); err != nil {
			return "", fmt.Errorf("removing outdated webhooks from %s: %w", ref.Key(), err)
		}
	}
	apply := func(dryRun DryRun) (*unstructured.Unstructured, error) {
		// Force takes fields back from other managers, but not in an object that another client created after Plan.
		got, err := r.Apply(ctx, ref.Name, s.Desired, metav1.ApplyOptions{FieldManager: fieldManager, Force: s.Live != nil, DryRun: dryRun.option()})
		if err == nil && dropsConditions(s.Desired, got) {
			err = errNoConditions
		}
		if err != nil {
			return nil, fmt.Errorf("applying %s: %w", ref.Key(), err)
		}
		return got, nil
	}
	if dryRun == DryRunNone && IsConfiguration(s.Desired) { // a server without matchConditions must not store it
		if _, err := apply(DryRunServer); err != nil {
			return "", err
		}
	}
	got, err := apply(dryRun)
	if err != nil {
		return "", err
	}
	return outcome(s.Live, got), nil
}

// errNoConditions is the error of a server that drops the matchConditions of a webhook: it would call the webhook for
// every write.
var errNoConditions = errors.New("this API server does not support matchConditions and would call the webhook for every write: Kubernetes 1.28 or later is required")

// dropsConditions reports whether the server dropped the matchConditions of a webhook.
func dropsConditions(desired, got *unstructured.Unstructured) bool {
	kept := sets.Set[string]{}
	for _, w := range webhooksOf(got) {
		if w.MatchConditions != nil {
			kept.Insert(w.Name)
		}
	}
	return slices.ContainsFunc(webhooksOf(desired), func(w admissionregistrationv1.ValidatingWebhook) bool {
		return w.MatchConditions != nil && !kept.Has(w.Name)
	})
}

// outcome compares an object before and after an apply. The resource version does not show a change: a dry run has no
// new one.
func outcome(before, after *unstructured.Unstructured) Outcome {
	switch {
	case before == nil:
		return Created
	case equality.Semantic.DeepEqual(content(before), content(after)):
		return Unchanged
	}
	return Configured
}

// content returns an object without the fields that count its changes.
func content(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	o.SetManagedFields(nil)
	o.SetResourceVersion("")
	o.SetGeneration(0)
	return o.Object
}

// preparingPatch returns a JSON patch that removes from a live configuration the fields that a server-side apply cannot remove, nil without any:
//   - Webhooks that are not desired. Another field manager owns their caBundle, so an apply would keep an incomplete entry, which is invalid.
//   - URLs in place of the Service. A webhook has exactly one of both. The caBundle stays, because its manager corrects it.
func preparingPatch(s Step) ([]byte, error) {
	desired := webhooksOf(s.Desired)
	var patch []jsonpatch.Operation
	for i, w := range slices.Backward(webhooksOf(s.Live)) {
		at := fmt.Sprintf("/webhooks/%d", i)
		isSame := jsonpatch.NewOperation("test", at+"/name", w.Name)
		d := slices.IndexFunc(desired, func(d admissionregistrationv1.ValidatingWebhook) bool { return d.Name == w.Name })
		switch {
		case d < 0:
			patch = append(patch, isSame, jsonpatch.NewOperation("remove", at, nil))
		case w.ClientConfig.URL != nil && desired[d].ClientConfig.Service != nil:
			patch = append(patch, isSame, jsonpatch.NewOperation("remove", at+"/clientConfig/url", nil),
				jsonpatch.NewOperation("add", at+"/clientConfig/service", desired[d].ClientConfig.Service))
		}
	}
	if patch == nil {
		return nil, nil
	}
	return json.Marshal(patch)
}

// Deployed returns the live objects of a plan that Fleet has deployed, because Fleet overwrites changes to them.
func Deployed(steps []Step) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, s := range steps {
		if ReleaseOf(s.Live) != "" {
			out = append(out, s.Live)
		}
	}
	return out
}
