// SPDX-License-Identifier: Apache-2.0

// Package install puts the admission webhook on a cluster from the manifests that the program carries, brings it to other options, and takes
// it away. It prints nothing and asks nobody: what is found comes back as data, and what is written is told as it happens.
//
// What an installation is made of stands here too, for those who look at one: the names, its options, and the small reads of a Cluster.
package install

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// fieldManager is who the objects of an installation are applied as.
const fieldManager = "fleetdoctor-webhook-install"

// The names that all objects of an installation share.
const (
	Namespace = "fleetdoctor-system"
	Name      = "fleetdoctor-webhook"
	NameLabel = "app.kubernetes.io/name"
	// Selector finds what carries the label.
	Selector   = NameLabel + "=" + Name
	SecretName = Name + "-cert"
)

// The webhooks of the configurations.
const (
	StampWebhook = "stamp.fleetdoctor.io"
	ExactWebhook = "stamp-exact.fleetdoctor.io"
	GuardWebhook = "guard.fleetdoctor.io"
)

var (
	namespaceKind  = corev1.SchemeGroupVersion.WithKind("Namespace")
	secretKind     = corev1.SchemeGroupVersion.WithKind("Secret")
	deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	mutatingKind   = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"}
	validatingKind = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"}
)

// configurations are the resources that the API server calls webhooks by. They are written down here and not discovered: what takes them
// away must work when little else does.
var configurations = []struct {
	kind     schema.GroupVersionKind
	resource string
}{
	{mutatingKind, "mutatingwebhookconfigurations"},
	{validatingKind, "validatingwebhookconfigurations"},
}

// Cluster is what is read and written.
type Cluster struct {
	Dynamic dynamic.Interface
	Mapper  meta.RESTMapper
	// Discovery and Metadata are what Removal asks who else lives in a namespace.
	Discovery discovery.DiscoveryInterfaceWithContext
	Metadata  metadata.Interface
}

// Resource returns where the objects of a kind are.
func (c *Cluster) Resource(kind schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	m, err := c.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("looking up %s: %w", kind.Kind, err)
	}
	r := c.Dynamic.Resource(m.Resource)
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		return r.Namespace(namespace), nil
	}
	return r, nil
}

// Get returns an object, nil where there is none.
func (c *Cluster) Get(ctx context.Context, ref object.Ref) (*unstructured.Unstructured, error) {
	r, err := c.Resource(ref.GroupVersionKind(), ref.Namespace)
	if err != nil {
		return nil, err
	}
	o, err := r.Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", ref.Key(), err)
	}
	return o, nil
}

// List passes the objects of a kind on, page by page, until yield returns an error, which it returns; the namespace "" stands for all. Where the
// list expires while it is read (410) it is begun again, once; what was passed on before is not passed on twice.
func (c *Cluster) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions, yield func(*unstructured.Unstructured) error) error {
	r, err := c.Resource(kind, namespace)
	if err != nil {
		return err
	}
	o.Limit = pageSize
	return paged(kind.Kind, o, func(o metav1.ListOptions) ([]*unstructured.Unstructured, string, error) {
		page, err := r.List(ctx, o)
		if err != nil {
			return nil, "", err
		}
		return pointers(page.Items), page.GetContinue(), nil
	}, yield)
}

// maxPages bounds how many pages a list may have.
const maxPages = 10_000

// pageSize is the limit of a LIST, below kubectl's 500 because release records are large.
const pageSize = 100

// paged reads the pages of a list, and passes on what is in them, each object once. A list that expires a second time is an error: whoever reads it
// is too slow for this server. A list whose continue token does not change, or that has more than maxPages, is an error too.
func paged[T metav1.Object](what string, o metav1.ListOptions, read func(metav1.ListOptions) (items []T, next string, err error), yield func(T) error) error {
	type key struct{ namespace, name string }
	seen, again, pages := map[key]bool{}, false, 0
	for {
		items, next, err := read(o)
		switch {
		case apierrors.IsResourceExpired(err) && o.Continue != "" && !again:
			again, o.Continue = true, ""
			continue
		case apierrors.IsResourceExpired(err) && o.Continue != "":
			return fmt.Errorf("listing %s: it expired twice before it was read to its end: %w", what, err)
		case err != nil:
			return fmt.Errorf("listing %s: %w", what, err)
		}
		for _, item := range items {
			k := key{item.GetNamespace(), item.GetName()}
			if seen[k] {
				continue
			}
			seen[k] = true
			if err := yield(item); err != nil {
				return err
			}
		}
		pages++
		switch {
		case next == "":
			return nil
		case next == o.Continue, pages == maxPages:
			return fmt.Errorf("listing %s: the list was given up: the server gave the same continue token twice, or more than %d pages", what, maxPages)
		}
		o.Continue = next
	}
}

func pointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}

// RefOf names an object.
func RefOf(o *unstructured.Unstructured) object.Ref {
	return object.Ref{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// WebhooksOf returns the webhooks of a configuration, none of any other kind.
func WebhooksOf(o *unstructured.Unstructured) []map[string]any {
	if o == nil {
		return nil
	}
	list, _ := o.Object["webhooks"].([]any)
	var out []map[string]any
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// URLOf returns the address that a webhook is called at, "" where it is called through a Service.
func URLOf(webhook map[string]any) string {
	address, _, _ := unstructured.NestedString(webhook, "clientConfig", "url")
	return address
}

// ours says whether an object carries the label of an installation.
func ours(o *unstructured.Unstructured) bool { return o.GetLabels()[NameLabel] == Name }
