// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// patcher is the bare loop: only the patches of an adoption, with the same concurrency, over an open connection.
type patcher struct {
	client  metadata.Interface
	objects []objectID
}

// objectID identifies an object.
type objectID struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

// newPatcher finds all objects of the releases.
func (b *bench) newPatcher(ctx context.Context) (*patcher, error) {
	client, err := metadata.NewForConfig(b.cluster.Config())
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to the server: %w", err)
	}
	p := &patcher{client: client}
	for _, k := range kinds {
		gvr := schema.ParseGroupResource(k.resource).WithVersion("v1")
		list, err := client.Resource(gvr).List(ctx,
			metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=bench"})
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", k.resource, err)
		}
		for i := range list.Items {
			p.objects = append(p.objects, objectID{gvr, list.Items[i].Namespace, list.Items[i].Name})
		}
	}
	return p, nil
}

// writeOwnership sets or removes the five keys of every object and returns the elapsed time.
func (p *patcher) writeOwnership(ctx context.Context, remove bool) (time.Duration, error) {
	return atOnce(ctx, p.objects, func(ctx context.Context, o objectID) error {
		patch, err := ownershipPatch(o.namespace, remove)
		if err != nil {
			return err
		}
		_, err = p.client.Resource(o.resource).Namespace(o.namespace).
			Patch(ctx, o.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "bench"})
		return err
	})
}

// ownershipPatch is the merge patch that sets or removes the ownership metadata of a release, whose name is also
// its namespace.
func ownershipPatch(release string, remove bool) ([]byte, error) {
	values := ownershipOf(release)
	labels, annotations := map[string]any{}, map[string]any{}
	for _, k := range ownership.Keys() {
		into := annotations
		if k.Label {
			into = labels
		}
		if into[k.Name] = values[k.Name]; remove {
			into[k.Name] = nil
		}
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels, "annotations": annotations}})
}

// ownershipOf is the ownership metadata of the objects of a release.
func ownershipOf(release string) map[string]string {
	id := fleet.SetID(release, "")
	return ownership.Metadata{SetID: id, Hash: fleet.Hash(id), ManagedBy: "Helm", ReleaseName: release,
		ReleaseNamespace: release}.Values()
}

// measureAdoption removes the ownership metadata of all objects and then measures the rounds. Each step starts
// without metadata.
func (b *bench) measureAdoption(ctx context.Context, l *loader) (changeResult, error) {
	p, err := b.newPatcher(ctx)
	if err != nil {
		return changeResult{}, err
	}
	if len(p.objects) != l.objects {
		return changeResult{}, fmt.Errorf("finding the objects: got %d, want %d", len(p.objects), l.objects)
	}
	if _, err := p.writeOwnership(ctx, true); err != nil {
		return changeResult{}, err
	}
	return b.measureChanges(ctx, l, "adopt", func(ctx context.Context) (r changeRound, err error) {
		if r.Bare, err = p.writeOwnership(ctx, false); err != nil {
			return r, err
		}
		_, err = p.writeOwnership(ctx, true)
		return r, err
	})
}
