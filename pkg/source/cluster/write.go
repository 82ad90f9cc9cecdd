// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// acceptMeta asks for one object's metadata alone.
const acceptMeta = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

// acceptLittle requests the cheapest answer, because the answer is ignored: metadata only, in protobuf if possible.
const acceptLittle = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1," + acceptMeta

// Writer writes the metadata of single objects.
type Writer struct {
	*Cluster
	// Manager is the field manager that the writes are recorded under.
	Manager string
	// DryRun has the server do everything but store it.
	DryRun bool
}

// Read returns an object's metadata as it is now.
func (w *Writer) Read(ctx context.Context, ref object.Ref) (*object.Meta, error) {
	kind, err := w.KindOf(ctx, ref.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	release, err := w.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	answer, err := answerOf(w.client.Get().AbsPath(path(kind, ref.Namespace), ref.Name).SetHeader("Accept", acceptMeta).Do(ctx))
	if err != nil {
		return nil, err
	}
	return object.ReadMeta(answer)
}

// Patch applies a JSON merge patch. The answer is not looked at: it is the object, of which only what failed matters.
func (w *Writer) Patch(ctx context.Context, ref object.Ref, patch []byte) error {
	kind, err := w.KindOf(ctx, ref.GroupVersionKind())
	if err != nil {
		return err
	}
	release, err := w.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	req := w.client.Patch(types.MergePatchType).AbsPath(path(kind, ref.Namespace), ref.Name).Param("fieldManager", w.Manager).
		SetHeader("Accept", acceptLittle).Body(patch)
	if w.DryRun {
		req = req.Param("dryRun", "All")
	}
	if err := req.Do(ctx).Error(); err != nil {
		return fmt.Errorf("patching %s: %w", ref.Key(), err)
	}
	return nil
}
