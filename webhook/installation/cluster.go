// SPDX-License-Identifier: Apache-2.0

// Package installation installs the admission webhook from the manifests that the program carries, changes its options, uninstalls and
// disables it, reports its status, and tests whether it answers. It prints nothing: results are data.
package installation

import (
	"context"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// fieldManager is the field manager of every object of an installation.
const fieldManager = "fleetdoctor-webhook-install"

// The names that all objects of an installation share.
const (
	Namespace = "fleetdoctor-system"
	Name      = "fleetdoctor-webhook"
	// NameLabel, with the value Name, is the inventory label: an object that has it is part of the installation.
	NameLabel  = "app.kubernetes.io/name"
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
	deploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")
	mutatingKind   = admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration")
	validatingKind = admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration")
)

// Resources that are read or deleted without discovery, which may fail while a webhook hangs.
var (
	configurations = map[schema.GroupVersionKind]schema.GroupVersionResource{
		mutatingKind:   admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations"),
		validatingKind: admissionregistrationv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations"),
	}
	bindingResource    = rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings")
	deploymentResource = appsv1.SchemeGroupVersion.WithResource("deployments")
)

// Cluster reads and writes objects of any kind.
type Cluster struct {
	Dynamic dynamic.Interface
	Mapper  meta.RESTMapper
}

// Resource returns the client for the objects of a kind.
func (c *Cluster) Resource(kind schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	if resource, ok := configurations[kind]; ok {
		return c.Dynamic.Resource(resource), nil
	}
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

// Get returns an object, nil if it does not exist.
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

const (
	// pageSize is the limit of a LIST, below kubectl's 500 because release records are large.
	pageSize = 50
	// maxPages bounds a list whose server never ends it.
	maxPages = 20_000
)

// errEndless is returned for a list that a server does not end.
var errEndless = errors.New("the server does not end the list: it repeats a continue token or sends too many pages")

// List passes each object of a kind to yield, page by page, until yield returns an error, which List returns. The namespace "" means all
// namespaces. A list that expires between two pages (410) is read again, once; yield still gets each object once.
func (c *Cluster) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions, yield func(*unstructured.Unstructured) error) error {
	r, err := c.Resource(kind, namespace)
	if err != nil {
		return err
	}
	pages := 0
	read := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		list, err := r.List(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", kind.Kind, err)
		}
		if pages++; pages > maxPages || list.GetContinue() != "" && list.GetContinue() == o.Continue {
			return nil, fmt.Errorf("listing %s: %w", kind.Kind, errEndless)
		}
		return list, nil
	}
	seen := map[object.Key]bool{}
	each := func(o runtime.Object) error {
		u, ok := o.(*unstructured.Unstructured)
		if !ok || seen[RefOf(u).Key()] {
			return nil
		}
		seen[RefOf(u).Key()] = true
		return yield(u)
	}
	p := &pager.ListPager{PageSize: pageSize, PageFn: read}
	if err = p.EachListItem(ctx, o, each); apierrors.IsResourceExpired(err) && pages > 0 {
		err = p.EachListItem(ctx, o, each)
	}
	return err
}

// RefOf returns the reference of an object.
func RefOf(o *unstructured.Unstructured) object.Ref {
	return object.Ref{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// WebhooksOf returns the webhooks of a webhook configuration; objects of other kinds have none.
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

// URLOf returns the URL of a webhook, "" if the webhook is called through a Service.
func URLOf(webhook map[string]any) string {
	address, _, _ := unstructured.NestedString(webhook, "clientConfig", "url")
	return address
}

// installed reports whether an object has the inventory label.
func installed(o *unstructured.Unstructured) bool { return o.GetLabels()[NameLabel] == Name }
