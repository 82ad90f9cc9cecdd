// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// webhookConfigurations are empty objects of the kinds from which the API server reads the authority that it trusts.
func webhookConfigurations(name string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind(kind))
		u.SetName(name)
		out = append(out, u)
	}
	return out
}

// caInjector writes the authority into the caBundle of the webhooks of one mutating and one validating configuration.
// It applies only these fields, server-side: the installer owns all other fields.
type caInjector struct {
	name   string // of the configurations, and of the field manager
	reader client.Reader
	writer client.Writer
	log    logr.Logger
}

// inject applies the authority, in PEM, to the configurations that do not have it. A configuration that does not exist
// is not an error.
func (c caInjector) inject(ctx context.Context, authority []byte) error {
	var failed []error
	for _, live := range webhookConfigurations(c.name) {
		kind := live.GetKind()
		if err := c.reader.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
			failed = append(failed, client.IgnoreNotFound(err))
			continue
		}
		patch := bundlePatch(live, authority)
		if patch == nil {
			continue
		}
		apply := client.ApplyConfigurationFromUnstructured(patch)
		if err := c.writer.Apply(ctx, apply, client.FieldOwner(c.name), client.ForceOwnership); err != nil {
			failed = append(failed, fmt.Errorf("applying the caBundle of %s %q: %w", kind, c.name, err))
			continue
		}
		c.log.Info("wrote the caBundle", "kind", kind, "name", c.name)
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
