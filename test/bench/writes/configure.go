// SPDX-License-Identifier: Apache-2.0

package writes

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
	webhookserver "github.com/fleetdoctor/kubectl-fleetdoctor/webhook/server"
)

// configurations are the webhook configurations of the manifests, limited to the namespace of the variant, with a
// URL on loopback in place of the Service.
func (h *webhookServer) configurations() ([]client.Object, error) {
	rendered, err := installation.Chart.Render(install.Namespace, &installation.Values{})
	if err != nil {
		return nil, err
	}
	// Every call is counted, so a slow machine must not reach the timeout.
	timeout := int32(30)
	var out []client.Object
	for _, u := range rendered {
		var configuration client.Object
		var narrow func()
		switch u.GetKind() {
		case "MutatingWebhookConfiguration":
			c := &admissionregistrationv1.MutatingWebhookConfiguration{}
			configuration, narrow = c, func() {
				for i := range c.Webhooks {
					c.Webhooks[i].TimeoutSeconds = &timeout
					h.narrow(&c.Webhooks[i].ClientConfig, c.Webhooks[i].NamespaceSelector)
				}
			}
		case "ValidatingWebhookConfiguration":
			c := &admissionregistrationv1.ValidatingWebhookConfiguration{}
			configuration, narrow = c, func() {
				for i := range c.Webhooks {
					c.Webhooks[i].TimeoutSeconds = &timeout
					h.narrow(&c.Webhooks[i].ClientConfig, c.Webhooks[i].NamespaceSelector)
				}
			}
		default:
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, configuration); err != nil {
			return nil, fmt.Errorf("reading %s: %w", u.GetKind(), err)
		}
		narrow()
		configuration.SetName(h.variant.namespace())
		out = append(out, configuration)
	}
	return out, nil
}

func (h *webhookServer) narrow(to *admissionregistrationv1.WebhookClientConfig, namespaces *metav1.LabelSelector) {
	url := fmt.Sprintf("https://127.0.0.1:%d%s", h.port, *to.Service.Path)
	*to = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: h.authority}
	namespaces.MatchExpressions = append(namespaces.MatchExpressions, metav1.LabelSelectorRequirement{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: []string{h.variant.namespace()}})
}

// register creates the configurations, and returns when the API server calls the webhook: it uses them a moment
// after they are stored.
func (h *webhookServer) register(ctx context.Context, c client.Client) error {
	configurations, err := h.configurations()
	if err != nil {
		return err
	}
	for _, o := range configurations {
		if err := c.Create(ctx, o); err != nil {
			return fmt.Errorf("registering the webhook %s: %w", h.variant, err)
		}
	}
	probe := &corev1.ConfigMap{}
	probe.Namespace, probe.Name = h.variant.namespace(), "probe"
	probe.Labels = map[string]string{fleet.HashLabel: "nobody"}
	probe.Annotations = map[string]string{"example.com/probe": ""} // the constant patch needs existing annotations
	if err := c.Create(ctx, probe.DeepCopy()); err != nil {
		return fmt.Errorf("creating an object to call the webhook %s: %w", h.variant, err)
	}
	for path, request := range map[string]func(context.Context) error{
		webhookserver.StampPath: func(ctx context.Context) error {
			return c.Update(ctx, probe.DeepCopy(), client.DryRunAll)
		},
		webhookserver.GuardPath: func(ctx context.Context) error { return c.Delete(ctx, probe, client.DryRunAll) },
	} {
		if err := h.await(ctx, path, request); err != nil {
			return err
		}
	}
	if err := c.Delete(ctx, probe); err != nil {
		return fmt.Errorf("deleting the object of the webhook %s: %w", h.variant, err)
	}
	return nil
}

// await repeats a request until the webhook is called for it.
func (h *webhookServer) await(ctx context.Context, path string, request func(context.Context) error) error {
	err := wait.PollUntilContextTimeout(ctx, poll.Interval, poll.Deadline, true, func(ctx context.Context) (bool,
		error) {
		before := h.calls[path].Load()
		if err := request(ctx); err != nil {
			return false, err
		}
		return h.calls[path].Load() > before, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the webhook %s to be called at %s: %w", h.variant, path, err)
	}
	return nil
}
