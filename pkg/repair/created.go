// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// neverDeleted returns why an object is not deleted, also if it would be created again.
func neverDeleted(r object.Ref) []string {
	if why := remedy.NeverDeleted(r); why != "" {
		return []string{why}
	}
	return nil
}

// written is a desired object that a step writes.
type written struct {
	deployment *evaluate.BundleDeployment
	object     *evaluate.Object
	// secret is true for a Secret: no value of it is recorded.
	secret bool
}

// effects are the consequences of a step that writes the object.
func (w *written) effects(kind remedy.StepKind) []string {
	if w.secret && kind != remedy.StepCreate {
		return []string{"it is a Secret: its previous values are not recorded, and the undo leaves it as it is"}
	}
	return nil
}

// agents are the options with which the agent's Helm creates or updates an object. A field that another manager has is
// taken: the next deploy by the agent is then not refused.
func (w *written) agents(method source.Method) source.Apply {
	if w.deployment.ServerSide {
		return source.Apply{Manager: fleet.AgentManager, Force: true}
	}
	if method == source.Create {
		return source.Apply{Method: method, Manager: fleet.AgentManager}
	}
	return source.Apply{Method: method, Manager: ownership.FieldManager}
}

// creation creates a missing object.
type creation struct {
	written
	tried bool
	uid   string // of the object that was created
}

func (c *creation) prepare(context.Context, Client, *Item) error { return nil }

func (c *creation) try(ctx context.Context, client Client, i *Item) error {
	content, err := c.deployment.Manifest(c.object)
	if err != nil {
		return err
	}
	content = compare.Stored(content)
	body, err := json.Marshal(content)
	if err != nil {
		return err
	}
	as, sent := c.agents(source.Create), body
	switch {
	case c.tried:
		now, err := client.Content(ctx, i.Ref)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return err
		case compare.HasMerged(now, body): // the answer was lost
			c.uid, _ = uidOf(now)
			return nil
		default:
			return errExists
		}
	case as.Method == source.ServerSide:
		if sent, err = conditional(content, "", neverStored); err != nil {
			return err
		}
	}
	as.Force = false // it does not exist
	stored, err := client.Send(ctx, i.Ref, as, sent, false)
	switch {
	case apierrors.IsAlreadyExists(err):
		return errExists
	case apierrors.IsConflict(err) && !c.tried: // it exists, or another program used the same quota
		if _, readErr := client.Read(ctx, i.Ref); readErr == nil {
			return errExists
		}
		return err // nothing was stored
	case apierrors.IsNotFound(err): // its namespace
		return final{err}
	case err == nil:
		c.uid, _ = uidOf(stored)
	}
	c.tried = true
	return err
}

// errExists is an object that did not exist when the plan was made.
var errExists = changedError{"it exists now"}

// neverStored is a version that no object has. The server applies an object with it only if it creates the object.
// Before Kubernetes 1.23, the server refuses it also for a Service that does not exist; the next try states no version.
const neverStored = "1"

func (c *creation) created() string { return c.uid }

// recreation deletes an object, and creates it.
type recreation struct {
	creation
	previous object.Content // nil for a Secret, and for a Job that does not exist
}

func (r *recreation) prepare(ctx context.Context, client Client, i *Item) (err error) {
	if i.UID == "" {
		return nil
	}
	r.previous, err = previous(ctx, client, i, r.secret)
	return err
}

// previous reads the object that a step deletes; nil for a Secret.
func previous(ctx context.Context, client Client, i *Item, secret bool) (object.Content, error) {
	live, err := client.Content(ctx, i.Ref)
	uid, _ := uidOf(live)
	switch {
	case apierrors.IsNotFound(err):
		return nil, errDeleted
	case err != nil:
		return nil, err
	case i.UID != "" && uid != i.UID:
		return nil, errReplaced
	}
	i.UID = uid
	if secret {
		return nil, nil
	}
	return creatable(i.Ref, compare.Stored(live)), nil
}

// generatedLabels are what a server writes into the Pods of a Job. It refuses a Job that states them.
var generatedLabels = []string{"controller-uid", "batch.kubernetes.io/controller-uid"}

// creatable returns an object without what a server generates for it, and refuses in another object.
func creatable(ref object.Ref, content object.Content) object.Content {
	spec, _ := content["spec"].(map[string]any)
	if ref.Kind != "Job" || object.Group(ref.APIVersion) != "batch" || spec["manualSelector"] == true {
		return content
	}
	out := runtime.DeepCopyJSON(content)
	unstructured.RemoveNestedField(out, "spec", "selector")
	for _, label := range generatedLabels {
		unstructured.RemoveNestedField(out, "spec", "template", "metadata", "labels", label)
	}
	return out
}

// goneAfter is how long a deleted object may exist; another pause follows after each look at it.
const (
	goneAfter = 30 * time.Second
	lookAgain = 100 * time.Millisecond
)

func (r *recreation) try(ctx context.Context, client Client, i *Item) error {
	if i.UID != "" && !r.tried {
		if gone, err := deleted(ctx, client, i); err != nil || !gone {
			return err
		}
	}
	return r.creation.try(ctx, client, i)
}

// deleted deletes the object of an item, and waits until it is gone. After a dry run it is not.
func deleted(ctx context.Context, client Client, i *Item) (gone bool, err error) {
	stored, err := client.Delete(ctx, i.Ref, i.UID)
	switch {
	case apierrors.IsConflict(err):
		return false, errReplaced
	case apierrors.IsNotFound(err):
	case err != nil || !stored:
		return false, err
	}
	for until := time.Now().Add(goneAfter); ; {
		now, err := client.Read(ctx, i.Ref)
		switch {
		case apierrors.IsNotFound(err):
			return true, nil
		case err != nil:
			return false, err
		case now.Metadata.UID != i.UID:
			return false, changedError{"another program created it again"}
		case time.Now().After(until):
			return false, final{fmt.Errorf("it is still being deleted after %s: a finalizer keeps it; run repair "+
				"again when it is gone", goneAfter)}
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}

func (r *recreation) record(_ *Item, e *Entry) { e.Previous = r.previous }

// removal deletes what is left over.
type removal struct {
	secret bool
	key    object.Key
	// orphanOf is the bundle deployment whose record shows that the object is left over; nil if none does.
	orphanOf *evaluate.BundleDeployment
	previous object.Content
}

func (r *removal) prepare(ctx context.Context, client Client, i *Item) (err error) {
	r.previous, err = previous(ctx, client, i, r.secret)
	return err
}

func (r *removal) try(ctx context.Context, client Client, i *Item) error {
	return remove(ctx, client, i, errReplaced)
}

// remove deletes the object of an item. replaced is the error for another object of the same name.
func remove(ctx context.Context, client Client, i *Item, replaced changedError) error {
	_, err := client.Delete(ctx, i.Ref, i.UID)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return replaced
	}
	return err
}

func (r *removal) record(_ *Item, e *Entry) { e.Previous = r.previous }

// claim is what a step does because of a release record.
type claim interface {
	// of is the bundle deployment of the record; nil if the step does not depend on a record.
	bundleDeployment() *evaluate.BundleDeployment
	// follows reports whether the same follows from the bundle itself, as it was rendered.
	follows(rendered *evaluate.BundleDeployment) bool
}

// Unproven returns the bundle deployments of which items write or delete objects that only a release record shows,
// although who may write the record may not write the object: in another namespace, or cluster-scoped.
func Unproven(items []Item) map[object.DeploymentID]bool {
	out := map[object.DeploymentID]bool{}
	for i := range items {
		if c := items[i].unproven(); c != nil {
			out[c.bundleDeployment().ID()] = true
		}
	}
	return out
}

// unproven returns the claim of an item that only a release record shows; nil if it is proven.
func (i *Item) unproven() claim {
	c, ok := i.do.(claim)
	if !ok || c.bundleDeployment() == nil || !i.Writes() {
		return nil
	}
	namespace := c.bundleDeployment().Release.Namespace
	if ownership.Within(namespace, i.Key()) || c.bundleDeployment().RecordsTrusted {
		return nil
	}
	return c
}

// Prove refuses the items that only a release record shows, unless the same follows from the bundle itself, as it was
// rendered. rendered is nil if no bundle could be rendered.
func Prove(items []Item, rendered *evaluate.Result) {
	for n := range items {
		i := &items[n]
		c := i.unproven()
		if c == nil || proven(rendered, c) {
			continue
		}
		namespace := c.bundleDeployment().Release.Namespace
		i.refuse("only the release record in namespace " + namespace + " shows it, and who may write Secrets there " +
			"may have changed the record: the bundle itself could not be rendered, or says something else; " +
			ownership.TrustAdvice(namespace))
	}
}

func proven(rendered *evaluate.Result, c claim) bool {
	if rendered == nil {
		return false
	}
	for _, d := range rendered.Deployments {
		known := d.Problem == "" && d.From == desired.FromBundle && len(d.Uncertain()) == 0
		if d.ID() == c.bundleDeployment().ID() && known {
			return c.follows(d)
		}
	}
	return false
}

func (w *written) bundleDeployment() *evaluate.BundleDeployment { return w.deployment }

// follows implements claim: the bundle states the object without a difference.
func (w *written) follows(d *evaluate.BundleDeployment) bool {
	i := slices.IndexFunc(d.Objects, func(x evaluate.Object) bool { return x.Ref == w.object.Ref })
	if i < 0 {
		return false
	}
	recorded, err := w.deployment.Manifest(w.object)
	if err != nil {
		return false
	}
	bundle, err := d.Manifest(&d.Objects[i])
	if err != nil {
		return false
	}
	gvk := w.object.GroupVersionKind()
	return len(compare.Objects(recorded, bundle, gvk)) == 0 && len(compare.Objects(bundle, recorded, gvk)) == 0
}

func (r *removal) bundleDeployment() *evaluate.BundleDeployment { return r.orphanOf }

// follows implements claim: the bundle does not have the object.
func (r *removal) follows(d *evaluate.BundleDeployment) bool {
	return !slices.ContainsFunc(d.Objects, func(x evaluate.Object) bool { return x.Key() == r.key })
}
