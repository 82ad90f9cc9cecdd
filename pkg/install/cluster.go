// SPDX-License-Identifier: Apache-2.0

// Package install installs a chart of this project as a Helm release, finds and removes it, and compares it with its
// manifest. It prints nothing.
package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
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

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// The names that all installations share.
const (
	// Namespace is the default namespace.
	Namespace = "fleetdoctor-system"
	// NameLabel, with the name of the chart, is the inventory label: an object that has it is part of the installation.
	NameLabel = "app.kubernetes.io/name"

	// managedBy has the value helmManager on all objects of a chart, also if Argo CD installs it.
	managedBy   = "app.kubernetes.io/managed-by"
	helmManager = "Helm"
)

// The kinds that installations read, and map without discovery, which may fail while a webhook hangs.
var (
	NamespaceKind  = corev1.SchemeGroupVersion.WithKind("Namespace")
	SecretKind     = corev1.SchemeGroupVersion.WithKind("Secret")
	DeploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")
	MutatingKind   = admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration")
	ValidatingKind = admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration")
	APIServiceKind = schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}
	UserKind       = authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview")

	ClusterRoleBindingKind = rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding")
	RoleBindingKind        = rbacv1.SchemeGroupVersion.WithKind("RoleBinding")
)

// builtIn maps kinds without discovery.
var builtIn = sync.OnceValue(func() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(DeploymentKind, meta.RESTScopeNamespace)
	for _, kind := range []schema.GroupVersionKind{MutatingKind, ValidatingKind, APIServiceKind, UserKind,
		ClusterRoleBindingKind} {
		m.Add(kind, meta.RESTScopeRoot)
	}
	return m
})

// Cluster reads and writes objects of any kind.
type Cluster struct {
	Dynamic dynamic.Interface
	Mapper  meta.RESTMapper
	Getter  genericclioptions.RESTClientGetter // the same connection, for Helm
	// Open sends a GET for a path of the API server, such as /metrics, and returns the body of the response.
	Open func(ctx context.Context, path string) (io.ReadCloser, error)
}

// Resource returns the client for the objects of a kind.
func (c *Cluster) Resource(kind schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	m, err := builtIn().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		m, err = c.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
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
	// maxPages bounds a list that a server never ends.
	maxPages = 20_000
)

// errEndless is the error of a list that a server does not end.
var errEndless = errors.New("the server does not end the list: it repeats a continue token or sends too many pages")

// List returns the objects of a kind, page by page, and an error as the last element if the list fails. The namespace
// "" means all namespaces. A list that expires between two pages (410) is read again, once; each object is returned
// once.
func (c *Cluster) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions,
) iter.Seq2[*unstructured.Unstructured, error] {
	o.Limit = pageSize
	return func(yield func(*unstructured.Unstructured, error) bool) {
		r, err := c.Resource(kind, namespace)
		if err != nil {
			yield(nil, err)
			return
		}
		seen := sets.Set[object.Key]{}
		again := false
		for range maxPages {
			list, err := r.List(ctx, o)
			if apierrors.IsResourceExpired(err) && o.Continue != "" && !again {
				again, o.Continue = true, ""
				continue
			}
			if err != nil {
				yield(nil, fmt.Errorf("listing %s: %w", kind.Kind, err))
				return
			}
			for _, u := range list.Items {
				key := RefOf(&u).Key()
				if !seen.Has(key) && !yield(&u, nil) {
					return
				}
				seen.Insert(key)
			}
			next := list.GetContinue()
			if next == "" {
				return
			}
			if next == o.Continue {
				break
			}
			o.Continue = next
		}
		yield(nil, fmt.Errorf("listing %s: %w", kind.Kind, errEndless))
	}
}

// RefOf returns the reference of an object.
func RefOf(o *unstructured.Unstructured) object.Ref {
	return object.Ref{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// RefTo returns the reference of an object of a kind.
func RefTo(kind schema.GroupVersionKind, namespace, name string) object.Ref {
	return object.Ref{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: namespace, Name: name}
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
