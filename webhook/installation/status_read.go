// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"maps"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// Facts are the data of an installation that were read. Data that could not be read have a reason, and never count as
// absent.
type Facts struct {
	Namespace string
	TakenAt   time.Time
	// Desired are the objects of the program's manifests, with the options of the installation.
	Desired []*unstructured.Unstructured
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

// Reading is the result of reading an object: nil if it does not exist, or if it could not be read for the Reason.
type Reading struct {
	Object *unstructured.Unstructured
	Reason string
}

// exactLabel is the label of a Namespace for which the exact webhook is called.
const exactLabel = "fleetdoctor.io/adopt"

// namespaceLabels are the labels of Namespaces by which users configure the webhook, with the valid values.
var namespaceLabels = map[string][]string{
	admission.IgnoreLabel: {"true"},
	admission.GuardLabel:  {string(admission.GuardOff), string(admission.GuardWarn), string(admission.GuardDeny)},
	exactLabel:            {"exact"},
}

// Read reads the facts of an installation. The error is one of the manifests or of the context.
func (c *Cluster) Read(ctx context.Context, namespace string, now time.Time) (*Facts, error) {
	f := &Facts{Namespace: namespace, TakenAt: now, Objects: map[object.Key]Reading{}, Labels: map[string]map[string]string{}}
	read := func(ref object.Ref) {
		if _, ok := f.Objects[ref.Key()]; !ok {
			o, err := c.Get(ctx, ref)
			f.Objects[ref.Key()] = Reading{o, reason(err)}
		}
	}
	read(refTo(mutatingKind, "", Name))
	read(refTo(validatingKind, "", Name))
	read(refTo(deploymentKind, namespace, Name))
	read(refTo(secretKind, namespace, SecretName)) // which cert-manager may have made
	var err error
	if f.Desired, err = Render(f.options()); err != nil {
		return nil, err
	}
	for _, d := range f.Desired {
		read(RefOf(d))
	}
	ofService := metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + Name}
	for slice, err := range c.List(ctx, discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), namespace, ofService) {
		f.EndpointsReason = reason(err)
		for _, e := range decode[discoveryv1.EndpointSlice](slice).Endpoints {
			if ptr.Deref(e.Conditions.Ready, true) { // as the API defines an unset condition
				f.Ready += len(e.Addresses)
			} else {
				f.NotReady += len(e.Addresses)
			}
		}
	}
	for o, err := range c.List(ctx, namespaceKind, metav1.NamespaceAll, metav1.ListOptions{}) {
		if f.LabelsReason = reason(err); err != nil {
			break
		}
		labels := maps.Clone(o.GetLabels())
		maps.DeleteFunc(labels, func(k, _ string) bool { return namespaceLabels[k] == nil })
		f.Labels[o.GetName()] = labels
	}
	f.Calls, err = c.Calls(ctx)
	f.CallsReason = reason(err)
	return f, ctx.Err()
}

// Calls reads how often an API server has called each webhook, by the name of the webhook.
func (c *Cluster) Calls(ctx context.Context) (map[string]Calls, error) {
	body, err := c.Metrics(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // it was only read
	return parseMetrics(body, StampWebhook, ExactWebhook, GuardWebhook)
}

// reason is the short reason why an object could not be read, "" without an error. A kind that the server does not have
// has no objects.
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

func (f *Facts) configuration(kind schema.GroupVersionKind) Reading {
	return f.Objects[refTo(kind, "", Name).Key()]
}

func (f *Facts) secret() Reading { return f.Objects[refTo(secretKind, f.Namespace, SecretName).Key()] }

func (f *Facts) deployment() Reading {
	return f.Objects[refTo(deploymentKind, f.Namespace, Name).Key()]
}

// options are the options of the installation, as far as they could be read.
func (f *Facts) options() Options {
	return OptionsOf(f.Namespace, f.deployment().Object, f.configuration(mutatingKind).Object, f.configuration(validatingKind).Object)
}

// isUnsure reports whether a desired object depends on options that could not be read: the release namespaces are read
// from the Deployment; the source of certificates from the Deployment and each configuration.
func (f *Facts) isUnsure(desired *unstructured.Unstructured) bool {
	m, v, d := f.configuration(mutatingKind), f.configuration(validatingKind), f.deployment()
	switch {
	case desired.GetName() == recordsRole && desired.GetKind() != "ClusterRole":
		return d.Reason != ""
	case desired.GetName() == certificatesRole || desired.GetKind() == secretKind.Kind:
		return d.Object == nil && m.Object == nil && v.Object == nil && m.Reason+v.Reason != ""
	}
	return false
}
