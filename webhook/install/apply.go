// SPDX-License-Identifier: Apache-2.0

package install

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

// Outcome is what became of an object.
type Outcome string

// The outcomes.
const (
	Created    Outcome = "created"
	Configured Outcome = "configured"
	Unchanged  Outcome = "unchanged"
	// Pruned: it was of an installation with other options.
	Pruned Outcome = "pruned"
	// Unchecked: a dry run could not ask, because the namespace is not there yet.
	Unchecked Outcome = "unchecked"
)

// Step is one object of a plan.
type Step struct {
	Desired *unstructured.Unstructured
	// Live is the object as it is, nil where there is none.
	Live *unstructured.Unstructured
}

// ForeignError refuses an installation that would change objects which do not carry its label.
type ForeignError struct{ Objects []object.Ref }

// Error names them all.
func (e *ForeignError) Error() string {
	text := "refusing to change what is not of an installation of this webhook (the label " + Selector + " is missing):"
	for _, r := range e.Objects {
		text += "\n  " + r.Key().String()
	}
	return text
}

// plan lays what is wanted over what is there. The error is a *ForeignError where an object of one of the names is somebody else's: then
// nothing is to be written.
func plan(desired []*unstructured.Unstructured, live map[object.Key]*unstructured.Unstructured) ([]Step, error) {
	var steps []Step
	var foreign []object.Ref
	for _, d := range desired {
		l := live[RefOf(d).Key()]
		switch {
		case l == nil:
		case !ours(l):
			foreign = append(foreign, RefOf(l))
		case l.GetDeletionTimestamp() != nil:
			return nil, fmt.Errorf("planning: %s is being deleted; try again when it is gone", RefOf(l).Key())
		}
		steps = append(steps, Step{Desired: d, Live: l})
	}
	if len(foreign) > 0 {
		return nil, &ForeignError{foreign}
	}
	return steps, nil
}

// Read makes the plan from the cluster as it is.
func (c *Cluster) Read(ctx context.Context, desired []*unstructured.Unstructured) ([]Step, error) {
	live := map[object.Key]*unstructured.Unstructured{}
	for _, d := range desired {
		o, err := c.Get(ctx, RefOf(d))
		if err != nil {
			return nil, err
		}
		if o != nil {
			live[RefOf(d).Key()] = o
		}
	}
	return plan(desired, live)
}

// Apply writes the steps in order, and tells of each. With dryRun the server does everything but store it.
func (c *Cluster) Apply(ctx context.Context, steps []Step, dryRun bool, tell func(object.Ref, Outcome)) error {
	absent := map[string]bool{} // namespaces that a dry run does not make
	for _, s := range steps {
		if dryRun && absent[s.Desired.GetNamespace()] {
			tell(RefOf(s.Desired), Unchecked)
			continue
		}
		outcome, err := c.apply(ctx, s, dryRun)
		if err != nil {
			return err
		}
		if s.Live == nil && s.Desired.GroupVersionKind() == namespaceKind {
			absent[s.Desired.GetName()] = true
		}
		tell(RefOf(s.Desired), outcome)
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
		patch, err := dropPatch(s)
		switch {
		case err != nil:
			return "", err
		case patch != nil && dryRun:
			return Configured, nil // what would be applied after it cannot be asked for
		case patch != nil:
			if _, err := r.Patch(ctx, ref.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}); err != nil {
				return "", fmt.Errorf("taking out of %s what cannot be applied over: %w", ref.Key(), err)
			}
		}
	}
	// What is ours is taken back from whoever wrote it since. Of an object that appears meanwhile nothing is taken.
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

// errNoConditions is returned for a server that drops the matchConditions of a webhook: it would send it every write there is.
var errNoConditions = errors.New("this API server knows no matchConditions, and would ask the webhook about every write: want Kubernetes 1.28 or later")

// dropsConditions says whether the server keeps no conditions of a webhook that has some.
func dropsConditions(desired, got *unstructured.Unstructured) bool {
	kept := map[any]bool{}
	for _, w := range WebhooksOf(got) {
		kept[w["name"]] = w["matchConditions"] != nil
	}
	return slices.ContainsFunc(WebhooksOf(desired), func(w map[string]any) bool { return w["matchConditions"] != nil && !kept[w["name"]] })
}

// outcome says what an apply did, by what there was and what there is: a dry run has no new resource version to tell by.
func outcome(before, after *unstructured.Unstructured) Outcome {
	if before == nil {
		return Created
	}
	if equality.Semantic.DeepEqual(stored(before), stored(after)) {
		return Unchanged
	}
	return Configured
}

// stored is an object without what the server counts about it.
func stored(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	o.SetManagedFields(nil)
	o.SetResourceVersion("")
	o.SetGeneration(0)
	return o.Object
}

// dropPatch takes out of a configuration what an apply cannot be made over, as a JSON patch; nil where there is nothing. Those are webhooks that
// are not wanted any more: an apply that merely leaves one out would keep it for the sake of its caBundle, which another field manager wrote, and
// then be refused for what is missing in it. And addresses that somebody wrote in place of the Service: of the two a webhook has exactly one.
func dropPatch(s Step) ([]byte, error) {
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
		wanted := slices.IndexFunc(desired, func(d map[string]any) bool { return d["name"] == name })
		if wanted < 0 {
			patch = append(patch, operation{"test", at + "/name", name}, operation{Op: "remove", Path: at})
			continue
		}
		service, stated, _ := unstructured.NestedMap(desired[wanted], "clientConfig", "service")
		if URLOf(w) != "" && stated { // the caBundle stays: whoever keeps it up to date puts it right
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

// Deployed are the objects of a plan that Fleet has deployed: it will write over what is changed in them.
func Deployed(steps []Step) []Target {
	var out []Target
	for _, s := range steps {
		if s.Live != nil && ReleaseOf(s.Live) != "" {
			out = append(out, targetOf(s.Live))
		}
	}
	return out
}
