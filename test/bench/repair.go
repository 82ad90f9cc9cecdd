// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// creator is the bare loop: only the requests that create the objects of the releases, with the same concurrency, over
// an open connection. The answers are read and discarded.
type creator struct {
	client  *http.Client
	host    string
	objects []creation
}

// creation is an object that is created.
type creation struct {
	collection, name string // its path
	body             []byte
}

// newCreator reads the manifests of all releases. Each object gets the ownership metadata that a repair writes.
func (b *bench) newCreator(l *loader) (*creator, error) {
	config := b.cluster.Config()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to the server: %w", err)
	}
	c := &creator{client: client, host: strings.TrimSuffix(config.Host, "/")}
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
		body, err := json.Marshal(o.Object)
		if err != nil {
			return err
		}
		c.objects = append(c.objects, creation{collection: collectionOf(o), name: o.GetName(), body: body})
	}
}

// collectionOf is the path of the objects of a kind in a namespace.
func collectionOf(o *unstructured.Unstructured) string {
	prefix := "/api"
	if o.GroupVersionKind().Group != "" {
		prefix = "/apis"
	}
	of := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == o.GetKind() })]
	return path.Join(prefix, o.GetAPIVersion(), "namespaces", o.GetNamespace(),
		schema.ParseGroupResource(of.resource).Resource)
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

// create creates all objects with POST, apply with server-side apply. Both return the elapsed time.
func (c *creator) create(ctx context.Context) (time.Duration, error) {
	return atOnce(ctx, c.objects, func(ctx context.Context, o creation) error {
		return c.send(ctx, http.MethodPost, o.collection, "application/json", o.body)
	})
}

func (c *creator) apply(ctx context.Context) (time.Duration, error) {
	return atOnce(ctx, c.objects, func(ctx context.Context, o creation) error {
		return c.send(ctx, http.MethodPatch, o.collection+"/"+o.name, string(types.ApplyPatchType), o.body)
	})
}

// remove deletes all objects.
func (c *creator) remove(ctx context.Context) error {
	_, err := atOnce(ctx, c.objects, func(ctx context.Context, o creation) error {
		return c.send(ctx, http.MethodDelete, o.collection+"/"+o.name, "application/json",
			[]byte(`{"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background"}`))
	})
	return err
}

func (c *creator) send(ctx context.Context, method, path, contentType string, body []byte) error {
	uri := c.host + path
	if method != http.MethodDelete {
		uri += "?fieldManager=" + fleet.AgentManager
	}
	req, err := http.NewRequestWithContext(ctx, method, uri, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Accept", "application/json")
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it was read to its end, or another error is returned
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
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
