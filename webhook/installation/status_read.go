// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"reflect"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// Facts are what was read of an installation. What could not be read has a reason and never counts as absent.
type Facts struct {
	Namespace string
	TakenAt   time.Time
	// Desired are the objects of the program's manifests, with the options of the installation.
	Desired []*unstructured.Unstructured
	// Unsure are those of Desired that depend on options which could not be read.
	Unsure  map[object.Key]bool
	Objects map[object.Key]Reading
	// Ready and NotReady count the addresses of the Service.
	Ready, NotReady int
	EndpointsReason string
	// Labels are the labels of this project on Namespaces, by the name of the Namespace.
	Labels       map[string]map[string]string
	LabelsReason string
	Calls        map[string]Calls
	CallsReason  string
}

// Reading is the result of reading an object: nil if it does not exist, or if Reason says why it could not be read.
type Reading struct {
	Object *unstructured.Unstructured
	Reason string
}

// exactLabel is the label of a Namespace for which the exact webhook is called, if its value is "exact".
const exactLabel = "fleetdoctor.io/adopt"

// Reader reads the facts for a status.
type Reader struct {
	Cluster *Cluster
	// Metrics opens /metrics of the API server.
	Metrics func(context.Context) (io.ReadCloser, error)
	// Files are the kustomizations of package manifests.
	Files fs.FS
}

// Read reads the facts of an installation. The error is one of the manifests or of the context.
func (r Reader) Read(ctx context.Context, namespace string, now time.Time) (*Facts, error) {
	f := &Facts{Namespace: namespace, TakenAt: now, Objects: map[object.Key]Reading{}, Labels: map[string]map[string]string{}}
	all, err := RenderAll(r.Files, namespace)
	if err != nil {
		return nil, err
	}
	r.get(ctx, f, all)
	if err := f.render(r.Files); err != nil {
		return nil, err
	}
	r.get(ctx, f, f.Desired) // those in release namespaces
	ofService := metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + Name}
	f.EndpointsReason = reason(r.Cluster.List(ctx, discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), namespace, ofService, f.countAddresses))
	f.LabelsReason = reason(r.Cluster.List(ctx, namespaceKind, metav1.NamespaceAll, metav1.ListOptions{}, f.addLabels))
	f.Calls, err = r.Calls(ctx)
	f.CallsReason = reason(err)
	return f, ctx.Err()
}

// get reads those of the objects that have not been read.
func (r Reader) get(ctx context.Context, f *Facts, objects []*unstructured.Unstructured) {
	for _, d := range objects {
		key := RefOf(d).Key()
		if _, ok := f.Objects[key]; !ok {
			o, err := r.Cluster.Get(ctx, RefOf(d))
			f.Objects[key] = Reading{o, reason(err)}
		}
	}
}

// Calls reads how often an API server has called each webhook, by the name of the webhook.
func (r Reader) Calls(ctx context.Context) (map[string]Calls, error) {
	body, err := r.Metrics(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // it was only read
	return parseMetrics(body, StampWebhook, ExactWebhook, GuardWebhook)
}

// reason says in few words why something could not be read, "" if it could. A kind that the server does not have has no objects.
func reason(err error) string {
	switch {
	case err == nil, meta.IsNoMatchError(err):
		return ""
	case apierrors.IsForbidden(err):
		return "forbidden"
	case apierrors.IsUnauthorized(err):
		return "unauthorized"
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return "timeout"
	}
	return err.Error()
}

// countAddresses counts the addresses of an EndpointSlice. An unset ready condition means ready, as the API defines.
func (f *Facts) countAddresses(slice *unstructured.Unstructured) error {
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

func (f *Facts) addLabels(namespace *unstructured.Unstructured) error {
	for k, v := range namespace.GetLabels() {
		if k != admission.IgnoreLabel && k != exactLabel && k != admission.GuardLabel {
			continue
		}
		if f.Labels[namespace.GetName()] == nil {
			f.Labels[namespace.GetName()] = map[string]string{}
		}
		f.Labels[namespace.GetName()][k] = v
	}
	return nil
}

func (f *Facts) configuration(kind schema.GroupVersionKind) Reading {
	return f.Objects[object.Key{Group: kind.Group, Kind: kind.Kind, Name: Name}]
}

func (f *Facts) deployment() Reading {
	return f.Objects[object.Key{Group: deploymentKind.Group, Kind: deploymentKind.Kind, Namespace: f.Namespace, Name: Name}]
}

func (f *Facts) secret() Reading {
	return f.Objects[object.Key{Kind: secretKind.Kind, Namespace: f.Namespace, Name: SecretName}]
}

// options are the options of the installation, as far as they could be read.
func (f *Facts) options() Options {
	return OptionsOf(f.Namespace, f.deployment().Object, f.configuration(mutatingKind).Object, f.configuration(validatingKind).Object)
}

// render renders Desired, and finds what would be different with options that could not be read.
func (f *Facts) render(files fs.FS) error {
	var err error
	if f.Desired, err = Render(files, f.options()); err != nil {
		return err
	}
	f.Unsure = map[object.Key]bool{}
	for _, o := range f.possibleOptions() {
		objs, err := Render(files, o)
		if err != nil {
			return err
		}
		other := map[object.Key]*unstructured.Unstructured{}
		for _, u := range objs {
			other[RefOf(u).Key()] = u
		}
		for _, d := range f.Desired {
			if key := RefOf(d).Key(); other[key] == nil || !reflect.DeepEqual(d.Object, other[key].Object) {
				f.Unsure[key] = true
			}
		}
	}
	return nil
}

// possibleOptions are other options that the installation may have: the Deployment shows the release namespaces; the Deployment and each
// configuration show what makes certificates.
func (f *Facts) possibleOptions() []Options {
	var out []Options
	if f.deployment().Reason != "" {
		o := f.options()
		o.ReleaseNamespaces = []string{f.Namespace}
		out = append(out, o)
	}
	m, v := f.configuration(mutatingKind), f.configuration(validatingKind)
	if f.deployment().Object == nil && m.Object == nil && v.Object == nil && m.Reason+v.Reason != "" {
		o := f.options()
		o.Certificates = CertManager
		out = append(out, o)
	}
	return out
}
