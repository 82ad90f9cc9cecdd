// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Outcome is the result of an installation for one object.
type Outcome string

// The outcomes.
const (
	Created    Outcome = "created"
	Configured Outcome = "configured"
	Unchanged  Outcome = "unchanged"
	// Pruned is the outcome of an object that an installation with other options has left.
	Pruned Outcome = "pruned"
	// Unchecked is the outcome of a dry run for an object whose Namespace does not exist yet.
	Unchecked Outcome = "unchecked"
)

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

// Plan reads the live state of the desired objects. The error is a *ForeignError if any of them exists without the inventory label; then
// nothing must be written.
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
		case !installed(s.Live):
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

// Apply applies the steps in order and reports each. It stops at the first error, so that the API server never calls a webhook whose
// Deployment could not be applied. With dryRun the server stores nothing.
func (c *Cluster) Apply(ctx context.Context, steps []Step, dryRun bool, report func(object.Ref, Outcome)) error {
	absent := map[string]bool{} // Namespaces that a dry run does not create
	for _, s := range steps {
		if dryRun && absent[s.Desired.GetNamespace()] {
			report(RefOf(s.Desired), Unchecked)
			continue
		}
		outcome, err := c.apply(ctx, s, dryRun)
		if err != nil {
			return err
		}
		if s.Live == nil && s.Desired.GroupVersionKind() == namespaceKind {
			absent[s.Desired.GetName()] = true
		}
		report(RefOf(s.Desired), outcome)
	}
	return nil
}

func (c *Cluster) apply(ctx context.Context, s Step, dryRun bool) (Outcome, error) {
	ref := RefOf(s.Desired)
	r, err := c.Resource(ref.GroupVersionKind(), ref.Namespace)
	if err != nil {
		return "", err
	}
	if s.Live != nil {
		patch, err := preparingPatch(s)
		switch {
		case err != nil:
			return "", err
		case patch != nil && dryRun:
			return Configured, nil // the server cannot check an apply that follows a patch which it does not store
		case patch != nil:
			if _, err := r.Patch(ctx, ref.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}); err != nil {
				return "", fmt.Errorf("removing outdated webhooks from %s: %w", ref.Key(), err)
			}
		}
	}
	// Force takes fields back from other managers, but not in an object that somebody created since Plan.
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: s.Live != nil, DryRun: dryRunOf(true)}
	if !dryRun && len(WebhooksOf(s.Desired)) > 0 { // before the server goes by it
		got, err := r.Apply(ctx, ref.Name, s.Desired, options)
		if err != nil {
			return "", fmt.Errorf("applying %s: %w", ref.Key(), err)
		}
		if dropsConditions(s.Desired, got) {
			return "", fmt.Errorf("applying %s: %w", ref.Key(), errNoConditions)
		}
	}
	options.DryRun = dryRunOf(dryRun)
	got, err := r.Apply(ctx, ref.Name, s.Desired, options)
	if err != nil {
		return "", fmt.Errorf("applying %s: %w", ref.Key(), err)
	}
	return outcome(s.Live, got), nil
}

// errNoConditions is returned for a server that drops the matchConditions of a webhook: it would call the webhook for every write.
var errNoConditions = errors.New("this API server does not support matchConditions and would call the webhook for every write: Kubernetes 1.28 or later is required")

// dropsConditions reports whether the server dropped the conditions of a webhook.
func dropsConditions(desired, got *unstructured.Unstructured) bool {
	kept := map[any]bool{}
	for _, w := range WebhooksOf(got) {
		kept[w["name"]] = w["matchConditions"] != nil
	}
	return slices.ContainsFunc(WebhooksOf(desired), func(w map[string]any) bool { return w["matchConditions"] != nil && !kept[w["name"]] })
}

// outcome compares an object before and after an apply: a dry run has no new resource version that would tell.
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

// preparingPatch returns a JSON patch that removes from a live configuration what a server-side apply cannot remove, nil if there is nothing:
//   - Webhooks that are not desired. Another field manager owns their caBundle, so an apply would keep an incomplete entry, which is invalid.
//   - URLs in place of the Service. A webhook has exactly one of both.
func preparingPatch(s Step) ([]byte, error) {
	live, desired := WebhooksOf(s.Live), WebhooksOf(s.Desired)
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value,omitempty"`
	}
	var patch []operation
	for i, w := range slices.Backward(live) {
		name, _ := w["name"].(string)
		at := fmt.Sprintf("/webhooks/%d", i)
		match := slices.IndexFunc(desired, func(d map[string]any) bool { return d["name"] == name })
		if match < 0 {
			patch = append(patch, operation{"test", at + "/name", name}, operation{Op: "remove", Path: at})
			continue
		}
		service, stated, _ := unstructured.NestedMap(desired[match], "clientConfig", "service")
		if URLOf(w) != "" && stated { // the caBundle stays: its manager corrects it
			patch = append(patch, operation{"test", at + "/name", name}, operation{Op: "remove", Path: at + "/clientConfig/url"},
				operation{"add", at + "/clientConfig/service", service})
		}
	}
	if patch == nil {
		return nil, nil
	}
	return json.Marshal(patch)
}

func dryRunOf(dry bool) []string {
	if dry {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// Deployed returns the live objects of a plan that Fleet has deployed: Fleet will overwrite changes to them.
func Deployed(steps []Step) []Target {
	var out []Target
	for _, s := range steps {
		if s.Live != nil && ReleaseOf(s.Live) != "" {
			out = append(out, targetOf(s.Live))
		}
	}
	return out
}
