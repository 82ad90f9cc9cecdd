// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// webhookConfigurations are the resources that state which authority the API server trusts.
var webhookConfigurations = []schema.GroupVersionResource{
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
}

// caRetryAfter is how long a configuration that could not be written is left alone.
const caRetryAfter = 2 * time.Second

// caInjector keeps the caBundle of the webhooks of one mutating and one validating configuration as the authority is. It applies these fields alone,
// server-side, so that all others stay those of whoever installed the webhookConfigurations. One that does not exist is no error.
type caInjector struct {
	name    string
	client  dynamic.Interface
	log     logr.Logger
	changed chan struct{} // holds a token where something may have to be written

	mu        sync.Mutex
	authority []byte
}

// newCAInjector makes the caInjector of the webhookConfigurations of a name, which is also the field manager. It makes no request.
func newCAInjector(client dynamic.Interface, name string, log logr.Logger) *caInjector {
	return &caInjector{name: name, client: client, log: log, changed: make(chan struct{}, 1)}
}

// NeedLeaderElection is false: every replica may write, and all write the same.
func (*caInjector) NeedLeaderElection() bool { return false }

// Set says which authority, in PEM, is to be trusted.
func (t *caInjector) Set(authority []byte) {
	t.mu.Lock()
	t.authority = bytes.Clone(authority)
	t.mu.Unlock()
	t.wake()
}

func (t *caInjector) wake() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// Start writes until the context ends, and returns nil.
func (t *caInjector) Start(ctx context.Context) error {
	stores := make([]cache.Store, len(webhookConfigurations))
	var watching sync.WaitGroup
	defer watching.Wait()
	for i, resource := range webhookConfigurations {
		store, informer := t.informer(resource)
		stores[i] = store
		watching.Go(func() { informer.RunWithContext(logr.NewContext(ctx, t.log)) })
	}
	var retry <-chan time.Time
	for {
		select {
		case <-t.changed:
		case <-retry:
		case <-ctx.Done():
			return nil
		}
		retry = nil
		if err := t.write(ctx, stores); err != nil && ctx.Err() == nil {
			t.log.Error(err, "the caBundle was not written; it is tried again")
			retry = time.After(caRetryAfter)
		}
	}
}

// informer watches one configuration. Lists are narrowed by name, as the role is.
func (t *caInjector) informer(resource schema.GroupVersionResource) (cache.Store, cache.Controller) {
	selector := fields.OneTermEqualSelector("metadata.name", t.name).String()
	client := t.client.Resource(resource)
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			return client.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			return client.Watch(ctx, o)
		},
	}, t.client)
	return cache.NewInformerWithOptions(cache.InformerOptions{Logger: &t.log, ObjectType: &unstructured.Unstructured{}, ListerWatcher: source,
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: func(any) { t.wake() }, UpdateFunc: func(_, _ any) { t.wake() }}})
}

// write applies the authority where it is not that of a configuration.
func (t *caInjector) write(ctx context.Context, stores []cache.Store) error {
	t.mu.Lock()
	authority := t.authority
	t.mu.Unlock()
	if len(authority) == 0 {
		return nil
	}
	var failed []error
	for i, store := range stores {
		for _, o := range store.List() {
			live, ok := o.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			patch := bundlePatch(live, authority)
			if patch == nil {
				continue
			}
			_, err := t.client.Resource(webhookConfigurations[i]).Apply(ctx, t.name, patch, metav1.ApplyOptions{FieldManager: t.name, Force: true})
			if err != nil {
				failed = append(failed, fmt.Errorf("applying the caBundle of %s %q: %w", live.GetKind(), t.name, err))
				continue
			}
			t.log.Info("the API server is told whom to trust", "kind", live.GetKind(), "name", t.name)
		}
	}
	return errors.Join(failed...)
}

// bundlePatch is what to apply to a configuration whose webhooks do not all have the authority; nil where they do. It is of the very state that
// was seen: to apply to a configuration, or a webhook, that is gone would make it anew.
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
		applied = append(applied, map[string]any{"name": webhook["name"], "clientConfig": map[string]any{"caBundle": bundle}})
	}
	if same {
		return nil
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": live.GetAPIVersion(), "kind": live.GetKind(),
		"metadata": map[string]any{"name": live.GetName(), "uid": string(live.GetUID()), "resourceVersion": live.GetResourceVersion()},
		"webhooks": applied,
	}}
}
