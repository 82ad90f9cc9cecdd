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

// acceptSmallest requests the smallest answer, because the answer is ignored: metadata only, in protobuf if possible.
const acceptSmallest = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1," + acceptMeta

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
	answer, err := w.do(ctx, w.client.Get().AbsPath(path(kind, ref.Namespace), ref.Name).SetHeader("Accept", acceptMeta))
	if err != nil {
		return nil, err
	}
	return object.ReadMeta(answer)
}

// Patch applies a JSON merge patch. It ignores the object in the answer.
func (w *Writer) Patch(ctx context.Context, ref object.Ref, patch []byte) error {
	kind, err := w.KindOf(ctx, ref.GroupVersionKind())
	if err != nil {
		return err
	}
	req := w.client.Patch(types.MergePatchType).AbsPath(path(kind, ref.Namespace), ref.Name).Param("fieldManager", w.Manager).
		SetHeader("Accept", acceptSmallest).Body(patch)
	if w.DryRun {
		req = req.Param("dryRun", "All")
	}
	if _, err := w.do(ctx, req); err != nil {
		return fmt.Errorf("patching %s: %w", ref.Key(), err)
	}
	return nil
}
