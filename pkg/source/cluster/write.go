// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// acceptMeta requests the metadata of one object.
const acceptMeta = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

// Writer reads and writes single objects.
type Writer struct {
	*Cluster
	// Manager is the field manager of patches of metadata.
	Manager string
	// DryRun makes the server process each write without storing it.
	DryRun bool
}

// Read returns the present metadata of an object.
func (w *Writer) Read(ctx context.Context, ref object.Ref) (*object.Meta, error) {
	kind, err := w.KindOf(ctx, ref.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	answer, err := w.do(ctx, at(w.client.Get(), kind, ref.Namespace).Name(ref.Name).SetHeader("Accept", acceptMeta))
	if err != nil {
		return nil, err
	}
	return object.ReadMeta(answer)
}

// Content returns the present object.
func (w *Writer) Content(ctx context.Context, ref object.Ref) (object.Content, error) {
	kind, err := w.KindOf(ctx, ref.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	return w.Get(ctx, kind, ref)
}

// Patch applies a JSON merge patch, and returns the metadata that the server stored.
func (w *Writer) Patch(ctx context.Context, ref object.Ref, patch []byte) (*object.Meta, error) {
	kind, err := w.KindOf(ctx, ref.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	req := at(w.client.Patch(types.MergePatchType), kind, ref.Namespace).Name(ref.Name).
		Param("fieldManager", w.Manager).SetHeader("Accept", acceptMeta).Body(patch)
	answer, err := w.do(ctx, w.maybe(req))
	var stored *object.Meta
	if err == nil {
		stored, err = object.ReadMeta(answer)
	}
	if err != nil {
		return nil, fmt.Errorf("patching %s: %w", ref.Key(), err)
	}
	return stored, nil
}

// Send writes an object by a method, and returns what the server stored. The server only processes it if dry is set.
func (w *Writer) Send(ctx context.Context, ref object.Ref, as source.Apply, body []byte, dry bool) (object.Content,
	error) {
	kind, err := w.KindOf(ctx, ref.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	dryRun := &Writer{Cluster: w.Cluster, DryRun: dry || w.DryRun}
	out, _, err := w.content(ctx, dryRun.maybe(w.write(kind, ref, as).Param("fieldManager", as.Manager).Body(body)))
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", ref.Key(), err)
	}
	return out, nil
}

// Delete deletes an object if it still has a uid. What it owns is deleted after it.
func (w *Writer) Delete(ctx context.Context, ref object.Ref, uid string) (stored bool, err error) {
	kind, err := w.KindOf(ctx, ref.GroupVersionKind())
	if err != nil {
		return false, err
	}
	id, background := types.UID(uid), metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{
		TypeMeta:      metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions: &metav1.Preconditions{UID: &id}, PropagationPolicy: &background}
	if w.DryRun { // a server ignores the parameters of the address if there is a body
		options.DryRun = []string{metav1.DryRunAll}
	}
	body, err := json.Marshal(options)
	if err != nil {
		return false, err
	}
	req := at(w.client.Delete(), kind, ref.Namespace).Name(ref.Name).SetHeader("Content-Type", "application/json")
	if _, err := w.do(ctx, req.Body(body)); err != nil {
		return false, fmt.Errorf("deleting %s: %w", ref.Key(), err)
	}
	return !w.DryRun, nil
}

// maybe makes a request a dry run if all requests are.
func (w *Writer) maybe(req *rest.Request) *rest.Request {
	if w.DryRun {
		return req.Param("dryRun", "All")
	}
	return req
}
