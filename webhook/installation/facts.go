// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// Facts are the data of an installation of the webhook that were read.
type Facts struct {
	install.Facts
	// Ready and NotReady count the addresses of the Service.
	Ready, NotReady int
	EndpointsReason string
	// Labels are the labels of Namespaces, by the name of the Namespace.
	Labels       map[string]map[string]string
	LabelsReason string
	Calls        map[string]Calls
	CallsReason  string
	// Test is nil if no request was sent because no webhook configuration exists.
	Test *Test
}

// exactLabel is the label of a Namespace for which the exact webhook is called.
const exactLabel = "fleetdoctor.io/adopt"

// namespaceLabels are the labels of Namespaces by which users configure the webhook, with the valid values.
var namespaceLabels = map[string][]string{
	admission.IgnoreLabel: {"true"},
	admission.GuardLabel:  {string(admission.GuardOff), string(admission.GuardWarn), string(admission.GuardDeny)},
	exactLabel:            {"exact"},
}

// Read completes the facts of an installation, except for Test. The error is one of the context.
func Read(ctx context.Context, c *install.Cluster, known install.Facts) (*Facts, error) {
	f := &Facts{Facts: known, Labels: map[string]map[string]string{}}
	c.Read(ctx, &f.Facts, install.RefTo(install.MutatingKind, "", Name),
		install.RefTo(install.ValidatingKind, "", Name), install.RefTo(install.DeploymentKind, f.Namespace, Name),
		install.RefTo(install.SecretKind, f.Namespace, SecretName)) // which cert-manager may have made
	f.readEndpoints(ctx, c)
	f.readLabels(ctx, c)
	var err error
	f.Calls, err = calls(ctx, c)
	f.CallsReason = install.ReasonOf(err)
	return f, ctx.Err()
}

// readEndpoints counts the addresses of the Service.
func (f *Facts) readEndpoints(ctx context.Context, c *install.Cluster) {
	kind := discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice")
	ofService := metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + Name}
	for slice, err := range c.List(ctx, kind, f.Namespace, ofService) {
		f.EndpointsReason = install.ReasonOf(err)
		for _, e := range install.Decode[discoveryv1.EndpointSlice](slice).Endpoints {
			if ptr.Deref(e.Conditions.Ready, true) { // as the API defines an unset condition
				f.Ready += len(e.Addresses)
			} else {
				f.NotReady += len(e.Addresses)
			}
		}
	}
}

// readLabels reads the labels of Namespaces.
func (f *Facts) readLabels(ctx context.Context, c *install.Cluster) {
	for o, err := range c.List(ctx, install.NamespaceKind, metav1.NamespaceAll, metav1.ListOptions{}) {
		if f.LabelsReason = install.ReasonOf(err); err != nil {
			return
		}
		f.Labels[o.GetName()] = o.GetLabels()
	}
}

// calls reads how often an API server has called each webhook, by the name of the webhook.
func calls(ctx context.Context, c *install.Cluster) (map[string]Calls, error) {
	body, err := c.Open(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // it was only read
	return parseMetrics(body, StampWebhook, ExactWebhook, GuardWebhook)
}

func (f *Facts) configuration(kind schema.GroupVersionKind) install.Reading {
	return f.Objects[install.RefTo(kind, "", Name).Key()]
}

func (f *Facts) secret() install.Reading {
	return f.Objects[install.RefTo(install.SecretKind, f.Namespace, SecretName).Key()]
}
