// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// acceptMeta requests the metadata of one object.
const acceptMeta = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

// Writer reads and writes the metadata of single objects.
type Writer struct {
	*Cluster
	// Manager is the field manager of the writes.
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

// Patch applies a JSON merge patch, and returns the metadata that the server stored.
func (w *Writer) Patch(ctx context.Context, ref object.Ref, patch []byte) (*object.Meta, error) {
	kind, err := w.KindOf(ctx, ref.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	req := at(w.client.Patch(types.MergePatchType), kind, ref.Namespace).Name(ref.Name).
		Param("fieldManager", w.Manager).SetHeader("Accept", acceptMeta).Body(patch)
	if w.DryRun {
		req = req.Param("dryRun", "All")
	}
	answer, err := w.do(ctx, req)
	var stored *object.Meta
	if err == nil {
		stored, err = object.ReadMeta(answer)
	}
	if err != nil {
		return nil, fmt.Errorf("patching %s: %w", ref.Key(), err)
	}
	return stored, nil
}
