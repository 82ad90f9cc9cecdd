// SPDX-License-Identifier: Apache-2.0

// Package install installs a chart of this project as a Helm release, finds it, evaluates its status, and removes it.
// It prints nothing.
package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

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
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// The names that all installations share.
const (
	// Namespace is the default namespace.
	Namespace = "fleetdoctor-system"
	// NameLabel, with the name of the chart, is the inventory label: an object that has it is part of the installation.
	NameLabel = "app.kubernetes.io/name"
)

// The kinds that installations read.
var (
	NamespaceKind  = corev1.SchemeGroupVersion.WithKind("Namespace")
	SecretKind     = corev1.SchemeGroupVersion.WithKind("Secret")
	DeploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")
	MutatingKind   = admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration")
	ValidatingKind = admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration")

	// PodMonitorKind is that of the Prometheus operator.
	PodMonitorKind = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "PodMonitor"}

	ClusterRoleKind        = rbacv1.SchemeGroupVersion.WithKind("ClusterRole")
	ClusterRoleBindingKind = rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding")
	RoleBindingKind        = rbacv1.SchemeGroupVersion.WithKind("RoleBinding")
)

var clusterScoped = sets.New(NamespaceKind, MutatingKind, ValidatingKind, ClusterRoleKind, ClusterRoleBindingKind)

// Cluster reads and writes the objects of installations.
type Cluster struct {
	Dynamic dynamic.Interface
	Getter  genericclioptions.RESTClientGetter // the same connection, for Helm
	// Open sends a GET for a path of the API server, such as /metrics, and returns the body of the response.
	Open func(ctx context.Context, path string) (io.ReadCloser, error)
}

// Resource returns the client for the objects of a kind of a chart, whose plural is regular. It needs no discovery,
// which fails for all kinds if it fails for one.
func (c *Cluster) Resource(kind schema.GroupVersionKind, namespace string) dynamic.ResourceInterface {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	if clusterScoped.Has(kind) {
		namespace = ""
	}
	return c.Dynamic.Resource(plural).Namespace(namespace)
}

// Get returns an object, nil if it or its kind does not exist.
func (c *Cluster) Get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string,
) (*unstructured.Unstructured, error) {
	o, err := c.Resource(kind, namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s %s: %w", kind.Kind, name, err)
	}
	return o, nil
}

const (
	// pageSize is the limit of a LIST, below kubectl's 500 because release records are large.
	pageSize = 50
	// maxPages bounds a list that a server never ends.
	maxPages = 20_000
)

// errEndless is the error of a list that a server does not end.
var errEndless = errors.New("the server does not end the list: it sends too many pages")

// errEnough ends a list whose further objects are not needed.
var errEnough = errors.New("enough")

// List returns the objects of a kind, page by page, and an error as the last element if the list fails. The namespace
// "" means all namespaces.
func (c *Cluster) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions,
) iter.Seq2[*unstructured.Unstructured, error] {
	return func(yield func(*unstructured.Unstructured, error) bool) {
		pages := 0
		lister := pager.ListPager{PageSize: pageSize, PageFn: func(ctx context.Context, o metav1.ListOptions,
		) (runtime.Object, error) {
			if pages++; pages > maxPages {
				return nil, errEndless
			}
			return c.Resource(kind, namespace).List(ctx, o)
		}}
		err := lister.EachListItem(ctx, o, func(each runtime.Object) error {
			if u, ok := each.(*unstructured.Unstructured); ok && !yield(u, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(nil, fmt.Errorf("listing %s: %w", kind.Kind, err))
		}
	}
}

// RefOf returns the reference of an object.
func RefOf(o *unstructured.Unstructured) object.Ref {
	return object.Ref{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Decode returns an object as its Go type. Errors are ignored: the API server or the manifests have defined the types
// of the fields.
func Decode[T any](o *unstructured.Unstructured) T {
	var out T
	if o != nil {
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &out)
	}
	return out
}
