// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// webhookConfigurations are the resources from which the API server reads the authority that it trusts.
var webhookConfigurations = []schema.GroupVersionResource{
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
}

// caRetryAfter is the time between two attempts to write a configuration.
const caRetryAfter = 2 * time.Second

// caInjector writes the authority into the caBundle of the webhooks of one mutating and one validating configuration.
// It applies only these fields, server-side: the installer owns all other fields. A configuration that does not exist
// is not an error.
type caInjector struct {
	name    string
	client  dynamic.Interface
	log     logr.Logger
	changed chan struct{} // contains a token if a configuration may have to be written
	// authority is in PEM, and nil until it is known.
	authority atomic.Pointer[[]byte]
}

// newCAInjector makes the caInjector of the configurations with a name, which is also the field manager. It makes no
// request.
func newCAInjector(client dynamic.Interface, name string, log logr.Logger) *caInjector {
	return &caInjector{name: name, client: client, log: log, changed: make(chan struct{}, 1)}
}

// Set sets the authority to trust, in PEM.
func (c *caInjector) Set(authority []byte) {
	c.authority.Store(&authority)
	c.wake(nil)
}

// wake has all configurations checked. It has the type of an event handler.
func (c *caInjector) wake(any) {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// Start writes until the context ends, and returns nil.
func (c *caInjector) Start(ctx context.Context) error {
	stores := make([]cache.Store, len(webhookConfigurations))
	var watching sync.WaitGroup
	defer watching.Wait()
	for i, resource := range webhookConfigurations {
		store, informer := newInformer(c.client, c.client.Resource(resource), c.name, &unstructured.Unstructured{},
			cache.ResourceEventHandlerFuncs{AddFunc: c.wake, UpdateFunc: func(_, o any) { c.wake(o) }}, &c.log)
		stores[i] = store
		watching.Go(func() { informer.RunWithContext(logr.NewContext(ctx, c.log)) })
	}
	var retry <-chan time.Time
	for {
		select {
		case <-c.changed:
		case <-retry:
		case <-ctx.Done():
			return nil
		}
		retry = nil
		if err := c.write(ctx, stores); err != nil && ctx.Err() == nil {
			c.log.Error(err, "the caBundle could not be written; trying again")
			retry = time.After(caRetryAfter)
		}
	}
}

// write applies the authority to the configurations that do not have it.
func (c *caInjector) write(ctx context.Context, stores []cache.Store) error {
	authority := c.authority.Load()
	if authority == nil {
		return nil
	}
	var failed []error
	for i, store := range stores {
		for _, o := range store.List() {
			live, _ := o.(*unstructured.Unstructured)
			patch := bundlePatch(live, *authority)
			if patch == nil {
				continue
			}
			options := metav1.ApplyOptions{FieldManager: c.name, Force: true}
			if _, err := c.client.Resource(webhookConfigurations[i]).Apply(ctx, c.name, patch, options); err != nil {
				failed = append(failed, fmt.Errorf("applying the caBundle of %s %q: %w", live.GetKind(), c.name, err))
				continue
			}
			c.log.Info("wrote the caBundle", "kind", live.GetKind(), "name", c.name)
		}
	}
	return errors.Join(failed...)
}

// bundlePatch is the patch for a configuration; nil if all its webhooks have the authority. It states the uid and the
// resource version, because otherwise it would create a configuration or a webhook again that was deleted.
func bundlePatch(live *unstructured.Unstructured, authority []byte) *unstructured.Unstructured {
	webhooks, _, err := unstructured.NestedSlice(live.Object, "webhooks")
	if err != nil || live.GetDeletionTimestamp() != nil {
		return nil
	}
	bundle := base64.StdEncoding.EncodeToString(authority)
	var applied []any
	same := true
	for _, w := range webhooks {
		webhook, ok := w.(map[string]any)
		if !ok {
			return nil
		}
		has, _, _ := unstructured.NestedString(webhook, "clientConfig", "caBundle")
		same = same && has == bundle
		trust := map[string]any{"caBundle": bundle}
		applied = append(applied, map[string]any{"name": webhook["name"], "clientConfig": trust})
	}
	if same {
		return nil
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": live.GetAPIVersion(), "kind": live.GetKind(),
		"metadata": map[string]any{
			"name": live.GetName(), "uid": string(live.GetUID()), "resourceVersion": live.GetResourceVersion()},
		"webhooks": applied,
	}}
}
