// SPDX-License-Identifier: Apache-2.0

// Package status says how an installed webhook is doing: a Reader gathers Facts, and Judge makes a Status of them. Nothing is written, and what
// could not be read is unknown.
package status

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"reflect"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
)

// Facts are what was read of an installation. What could not be read has a reason, and is never taken for absent.
type Facts struct {
	Namespace string
	TakenAt   time.Time
	// Desired is the installation that the program carries, with the options of the one that is there.
	Desired []*unstructured.Unstructured
	// Unsure are those of Desired of which it depends on options that could not be read whether, or how, they are to be there.
	Unsure  map[object.Key]bool
	Objects map[object.Key]Found
	// Ready and NotReady count the addresses that the Service leads to.
	Ready, NotReady int
	EndpointsReason string
	// Labels are those of this project, on namespaces that have any.
	Labels       map[string]map[string]string
	LabelsReason string
	Calls        map[string]Calls
	CallsReason  string
}

// Found is an object as it was read: nil where there is none, or where Reason says why it could not be read.
type Found struct {
	Object *unstructured.Unstructured
	Reason string
}

// adoptLabel asks for the exact webhook in a namespace, by the value "exact". It stands in that webhook's namespaceSelector, and the
// program nowhere looks at it but here.
const adoptLabel = "fleetdoctor.io/adopt"

// The kinds of the configurations.
const (
	mutating   = "MutatingWebhookConfiguration"
	validating = "ValidatingWebhookConfiguration"
)

// The kinds of which all objects are looked at.
var (
	namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace")
	sliceKind     = discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice")
)

// Reader reads what a status is made of.
type Reader struct {
	Cluster *install.Cluster
	// Metrics opens what the API server says of itself at /metrics.
	Metrics func(context.Context) (io.ReadCloser, error)
	// Files are the kustomizations of package manifests.
	Files fs.FS
}

// Gather reads how an installation is doing. The error is that of the manifests or of the context.
func (r Reader) Gather(ctx context.Context, namespace string, now time.Time) (*Facts, error) {
	f := &Facts{Namespace: namespace, TakenAt: now, Objects: map[object.Key]Found{}, Labels: map[string]map[string]string{}}
	all, err := install.RenderAll(r.Files, namespace)
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		o, err := r.Cluster.Get(ctx, install.RefOf(d))
		f.Objects[install.RefOf(d).Key()] = Found{o, reason(err)}
	}
	if err := f.want(r.Files); err != nil {
		return nil, err
	}
	for _, d := range f.Desired { // in the namespaces of releases
		if _, ok := f.Objects[install.RefOf(d).Key()]; !ok {
			o, err := r.Cluster.Get(ctx, install.RefOf(d))
			f.Objects[install.RefOf(d).Key()] = Found{o, reason(err)}
		}
	}
	f.EndpointsReason = reason(r.Cluster.List(ctx, sliceKind, namespace, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + install.Name}, f.count))
	f.LabelsReason = reason(r.Cluster.List(ctx, namespaceKind, metav1.NamespaceAll, metav1.ListOptions{}, func(o *unstructured.Unstructured) error {
		for k, v := range o.GetLabels() {
			if k != admission.IgnoreLabel && k != adoptLabel && k != admission.GuardLabel {
				continue
			}
			if f.Labels[o.GetName()] == nil {
				f.Labels[o.GetName()] = map[string]string{}
			}
			f.Labels[o.GetName()][k] = v
		}
		return nil
	}))
	f.Calls, err = r.Calls(ctx)
	f.CallsReason = reason(err)
	return f, ctx.Err()
}

// Calls reads what an API server counted of its calls, by the names of the webhooks.
func (r Reader) Calls(ctx context.Context) (map[string]Calls, error) {
	body, err := r.Metrics(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // it was only read
	return parseMetrics(body, install.StampWebhook, install.ExactWebhook, install.GuardWebhook)
}

// reason is why something could not be read, in few words; "" where it could.
func reason(err error) string {
	switch {
	case err == nil:
		return ""
	case apierrors.IsForbidden(err):
		return "forbidden"
	case apierrors.IsUnauthorized(err):
		return "not signed in"
	case meta.IsNoMatchError(err):
		return "" // a kind that the server does not have has no objects
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return "no answer in time"
	}
	return err.Error()
}

// count adds the addresses of an EndpointSlice. One that says nothing of being ready is taken to be (the API's own rule).
func (f *Facts) count(slice *unstructured.Unstructured) error {
	endpoints, _, _ := unstructured.NestedSlice(slice.Object, "endpoints")
	for _, e := range endpoints {
		m, _ := e.(map[string]any)
		addresses, _, _ := unstructured.NestedStringSlice(m, "addresses")
		if ready, stated, _ := unstructured.NestedBool(m, "conditions", "ready"); ready || !stated {
			f.Ready += len(addresses)
		} else {
			f.NotReady += len(addresses)
		}
	}
	return nil
}

func (f *Facts) configuration(kind string) Found {
	return f.Objects[object.Key{Group: admissionregistrationv1.GroupName, Kind: kind, Name: install.Name}]
}

func (f *Facts) deployment() Found {
	return f.Objects[object.Key{Group: appsv1.GroupName, Kind: "Deployment", Namespace: f.Namespace, Name: install.Name}]
}

func (f *Facts) secret() Found {
	return f.Objects[object.Key{Kind: "Secret", Namespace: f.Namespace, Name: install.SecretName}]
}

// want renders what is wanted, and finds out what of it would be otherwise with other options than those that could be read.
func (f *Facts) want(files fs.FS) error {
	var err error
	if f.Desired, err = install.Render(files, f.options()); err != nil {
		return err
	}
	f.Unsure = map[object.Key]bool{}
	for _, o := range f.alternatives() {
		objs, err := install.Render(files, o)
		if err != nil {
			return err
		}
		other := map[object.Key]*unstructured.Unstructured{}
		for _, u := range objs {
			other[install.RefOf(u).Key()] = u
		}
		for _, d := range f.Desired {
			if key := install.RefOf(d).Key(); other[key] == nil || !reflect.DeepEqual(d.Object, other[key].Object) {
				f.Unsure[key] = true
			}
		}
	}
	return nil
}

// alternatives are other options that the installation may have been made with, as far as what shows them could not be read: the Deployment shows
// whose Secrets may be read, and it and each configuration who makes certificates.
func (f *Facts) alternatives() []install.Options {
	var out []install.Options
	if f.deployment().Reason != "" {
		o := f.options()
		o.ReleaseNamespaces = []string{f.Namespace}
		out = append(out, o)
	}
	m, v := f.configuration(mutating), f.configuration(validating)
	if f.deployment().Object == nil && m.Object == nil && v.Object == nil && m.Reason+v.Reason != "" {
		o := f.options()
		o.Certificates = install.CertManager
		out = append(out, o)
	}
	return out
}

// options are those that the installation was made with, as far as it shows.
func (f *Facts) options() install.Options {
	return install.OptionsOf(f.Namespace, f.deployment().Object, f.configuration(mutating).Object, f.configuration(validating).Object)
}
