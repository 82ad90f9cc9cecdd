// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// creator is the bare loop: only the requests that create the objects of the releases, with the concurrency of a repair,
// over an open connection.
type creator struct {
	client  dynamic.Interface
	objects []*unstructured.Unstructured
}

// newCreator reads the manifests of all releases. Each object gets the ownership metadata that a repair writes.
func (b *bench) newCreator(l *loader) (*creator, error) {
	client, err := dynamic.NewForConfig(b.cluster.Config())
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to the server: %w", err)
	}
	c := &creator{client: client}
	files, err := filepath.Glob(filepath.Join(l.manifests, "*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if err := c.read(file); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
	}
	if len(c.objects) != l.objects {
		return nil, fmt.Errorf("reading the manifests: got %d objects, want %d", len(c.objects), l.objects)
	}
	return c, nil
}

// read adds the objects of one manifest.
func (c *creator) read(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	for documents := yaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		o := &unstructured.Unstructured{}
		err := documents.Decode(&o.Object)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		addOwnership(o)
		c.objects = append(c.objects, o)
	}
}

// of is where an object is created.
func (c *creator) of(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	for _, k := range kinds {
		if k.name == o.GetKind() {
			gvr := schema.ParseGroupResource(k.resource).WithVersion("v1")
			return c.client.Resource(gvr).Namespace(o.GetNamespace()), nil
		}
	}
	return nil, fmt.Errorf("finding kind %s: it is not measured", o.GetKind())
}

// create creates all objects with POST, apply with server-side apply. Both return the elapsed time.
func (c *creator) create(ctx context.Context) (time.Duration, error) {
	return c.send(ctx, func(ctx context.Context, on dynamic.ResourceInterface, o *unstructured.Unstructured) error {
		_, err := on.Create(ctx, o, metav1.CreateOptions{FieldManager: fleet.AgentManager})
		return err
	})
}

func (c *creator) apply(ctx context.Context) (time.Duration, error) {
	return c.send(ctx, func(ctx context.Context, on dynamic.ResourceInterface, o *unstructured.Unstructured) error {
		body, err := o.MarshalJSON()
		if err != nil {
			return err
		}
		_, err = on.Patch(ctx, o.GetName(), types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: fleet.AgentManager})
		return err
	})
}

// remove deletes all objects.
func (c *creator) remove(ctx context.Context) error {
	background := metav1.DeletePropagationBackground
	_, err := c.send(ctx, func(ctx context.Context, on dynamic.ResourceInterface, o *unstructured.Unstructured) error {
		return on.Delete(ctx, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
	})
	return err
}

func (c *creator) send(ctx context.Context,
	request func(context.Context, dynamic.ResourceInterface, *unstructured.Unstructured) error) (time.Duration, error) {
	return atOnce(ctx, c.objects, func(ctx context.Context, o *unstructured.Unstructured) error {
		on, err := c.of(o)
		if err != nil {
			return err
		}
		return request(ctx, on, o)
	})
}

// measureRepair deletes all objects and then measures the rounds. Each step starts without objects.
func (b *bench) measureRepair(ctx context.Context, l *loader) (changeResult, error) {
	c, err := b.newCreator(l)
	if err != nil {
		return changeResult{}, err
	}
	if err := c.remove(ctx); err != nil {
		return changeResult{}, err
	}
	return b.measureChanges(ctx, l, "repair", func(ctx context.Context) (r changeRound, err error) {
		if r.Bare, err = c.create(ctx); err != nil {
			return r, err
		}
		if err := c.remove(ctx); err != nil {
			return r, err
		}
		if r.Apply, err = c.apply(ctx); err != nil {
			return r, err
		}
		return r, c.remove(ctx)
	})
}

// addOwnership adds the ownership metadata of the release of an object.
func addOwnership(o *unstructured.Unstructured) {
	values, labels, annotations := ownershipOf(o.GetNamespace()), o.GetLabels(), o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	for _, k := range ownership.Keys() {
		if k.Label {
			labels[k.Name] = values[k.Name]
		} else {
			annotations[k.Name] = values[k.Name]
		}
	}
	o.SetLabels(labels)
	o.SetAnnotations(annotations)
}
