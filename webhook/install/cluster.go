// SPDX-License-Identifier: Apache-2.0

// Package install puts the admission webhook on a cluster from the manifests that the program carries, takes it away, and says how it is
// doing. It prints nothing and asks nobody: what is found comes back as data, and what is written is told as it happens.
package install

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// FieldManager is who the objects of an installation are applied as.
const FieldManager = "fleetdoctor-webhook-install"

// The names that all objects of an installation share.
const (
	Namespace = "fleetdoctor-system"
	Name      = "fleetdoctor-webhook"
	NameLabel = "app.kubernetes.io/name"
	// Selector finds what carries the label.
	Selector   = NameLabel + "=" + Name
	secretName = Name + "-cert"
)

// The webhooks of the configurations.
const (
	StampWebhook = "stamp.fleetdoctor.io"
	ExactWebhook = "stamp-exact.fleetdoctor.io"
	GuardWebhook = "guard.fleetdoctor.io"
)

// The labels that users set on namespaces, and on objects of cluster-scoped kinds.
const (
	ignoreLabel = "fleetdoctor.io/ignore"
	adoptLabel  = "fleetdoctor.io/adopt"
	guardLabel  = "fleetdoctor.io/guard"
)

var (
	namespaceKind  = corev1.SchemeGroupVersion.WithKind("Namespace")
	secretKind     = corev1.SchemeGroupVersion.WithKind("Secret")
	serviceKind    = corev1.SchemeGroupVersion.WithKind("Service")
	deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	sliceKind      = schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}
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
	// Metrics opens what the API server says of itself at /metrics.
	Metrics func(context.Context) (io.ReadCloser, error)
}

// resource returns where the objects of a kind are.
func (c *Cluster) resource(kind schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
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

// get returns an object, nil where there is none.
func (c *Cluster) get(ctx context.Context, ref object.Ref) (*unstructured.Unstructured, error) {
	r, err := c.resource(ref.GroupVersionKind(), ref.Namespace)
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

// list passes the objects of a kind on, page by page; the namespace "" stands for all.
func (c *Cluster) list(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions, yield func(*unstructured.Unstructured) error) error {
	r, err := c.resource(kind, namespace)
	if err != nil {
		return err
	}
	o.Limit = pageSize
	for {
		page, err := r.List(ctx, o)
		if err != nil {
			return fmt.Errorf("listing %s: %w", kind.Kind, err)
		}
		for i := range page.Items {
			if err := yield(&page.Items[i]); err != nil {
				return err
			}
		}
		if o.Continue = page.GetContinue(); o.Continue == "" {
			return nil
		}
	}
}

// pageSize is the limit of a LIST. Release records are large; of Secrets a page of as many is read as kubectl does.
const pageSize = 100

// RefOf names an object.
func RefOf(o *unstructured.Unstructured) object.Ref {
	return object.Ref{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// ours says whether an object carries the label of an installation.
func ours(o *unstructured.Unstructured) bool { return o.GetLabels()[NameLabel] == Name }
