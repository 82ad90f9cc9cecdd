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
	Manifest  Manifest
	Objects   map[object.Key]Reading
	// Ready and NotReady count the addresses of the Service.
	Ready, NotReady int
	EndpointsReason string
	// Labels are the labels of this project on Namespaces, by the name of the Namespace.
	Labels       map[string]map[string]string
	LabelsReason string
	Calls        map[string]Calls
	CallsReason  string
}

// Manifest has the objects that the Helm release of an installation desires: none without a release, or if it could not
// be read for the Reason.
type Manifest struct {
	Objects []*unstructured.Unstructured
	Reason  string
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

// Read reads the facts of an installation. The error is one of the context.
func (c *Cluster) Read(ctx context.Context, namespace string, m Manifest, now time.Time) (*Facts, error) {
	f := &Facts{Namespace: namespace, TakenAt: now, Manifest: m, Objects: map[object.Key]Reading{},
		Labels: map[string]map[string]string{}}
	refs := []object.Ref{refTo(mutatingKind, "", Name), refTo(validatingKind, "", Name),
		refTo(deploymentKind, namespace, Name),
		refTo(secretKind, namespace, SecretName)} // which cert-manager may have made
	for _, d := range m.Objects {
		refs = append(refs, RefOf(d))
	}
	for _, ref := range refs {
		if _, ok := f.Objects[ref.Key()]; !ok {
			o, err := c.Get(ctx, ref)
			f.Objects[ref.Key()] = Reading{o, ReasonOf(err)}
		}
	}
	c.readEndpoints(ctx, f)
	c.readLabels(ctx, f)
	var err error
	f.Calls, err = c.calls(ctx)
	f.CallsReason = ReasonOf(err)
	return f, ctx.Err()
}

// readEndpoints counts the addresses of the Service.
func (c *Cluster) readEndpoints(ctx context.Context, f *Facts) {
	kind := discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice")
	ofService := metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + Name}
	for slice, err := range c.List(ctx, kind, f.Namespace, ofService) {
		f.EndpointsReason = ReasonOf(err)
		for _, e := range decode[discoveryv1.EndpointSlice](slice).Endpoints {
			if ptr.Deref(e.Conditions.Ready, true) { // as the API defines an unset condition
				f.Ready += len(e.Addresses)
			} else {
				f.NotReady += len(e.Addresses)
			}
		}
	}
}

// readLabels reads the labels of this project on Namespaces.
func (c *Cluster) readLabels(ctx context.Context, f *Facts) {
	for o, err := range c.List(ctx, namespaceKind, metav1.NamespaceAll, metav1.ListOptions{}) {
		if f.LabelsReason = ReasonOf(err); err != nil {
			return
		}
		labels := maps.Clone(o.GetLabels())
		maps.DeleteFunc(labels, func(k, _ string) bool { return namespaceLabels[k] == nil })
		f.Labels[o.GetName()] = labels
	}
}

// calls reads how often an API server has called each webhook, by the name of the webhook.
func (c *Cluster) calls(ctx context.Context) (map[string]Calls, error) {
	body, err := c.Metrics(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // it was only read
	return parseMetrics(body, StampWebhook, ExactWebhook, GuardWebhook)
}

// ReasonOf is the short reason why an object could not be read, "" without an error. A kind that the server does not
// have has no objects.
func ReasonOf(err error) string {
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
