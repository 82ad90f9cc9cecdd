// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// served is what the invented cluster serves; of some groups too much.
var served = []*metav1.APIResourceList{
	{GroupVersion: "v1", APIResources: []metav1.APIResource{resource("configmaps", "ConfigMap"), resource("endpoints", "Endpoints"), resource("events", "Event"),
		resource("pods", "Pod"), resource("secrets", "Secret"), resource("serviceaccounts", "ServiceAccount"), resource("services", "Service"),
		{Name: "pods/status", Kind: "Pod", Namespaced: true, Verbs: metav1.Verbs{"get"}}, {Name: "bindings", Kind: "Binding", Namespaced: true, Verbs: metav1.Verbs{"create"}},
		{Name: "nodes", Kind: "Node", Verbs: metav1.Verbs{"list"}}}},
	{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{resource("deployments", "Deployment"), resource("replicasets", "ReplicaSet")}},
	{GroupVersion: "cert-manager.io/v1", APIResources: []metav1.APIResource{resource("certificates", "Certificate"), resource("certificaterequests", "CertificateRequest")}},
	{GroupVersion: "discovery.k8s.io/v1", APIResources: []metav1.APIResource{resource("endpointslices", "EndpointSlice")}},
	{GroupVersion: "events.k8s.io/v1", APIResources: []metav1.APIResource{resource("events", "Event")}},
	{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{resource("widgets", "Widget")}},
	{GroupVersion: "metrics.k8s.io/v1beta1", APIResources: []metav1.APIResource{resource("pods", "PodMetrics")}},
}

func resource(name, kind string) metav1.APIResource {
	return metav1.APIResource{Name: name, Kind: kind, Namespaced: true, Verbs: metav1.Verbs{"get", "list"}}
}

// unremarkable is what a namespace holds that the webhook has to itself.
const unremarkable = `
- {kind: configmaps, metadata: {name: kube-root-ca.crt}}
- {kind: serviceaccounts, metadata: {name: default}}
- {kind: serviceaccounts, metadata: {name: fleetdoctor-webhook, uid: account}}
- {kind: services, metadata: {name: fleetdoctor-webhook, uid: service, labels: {app.kubernetes.io/name: fleetdoctor-webhook}}}
- {kind: endpoints, metadata: {name: fleetdoctor-webhook}}
- {kind: endpointslices.discovery.k8s.io, metadata: {name: fleetdoctor-webhook-1, ownerReferences: [{uid: service}]}}
- {kind: endpointslices.discovery.k8s.io, metadata: {name: by-hand, labels: {kubernetes.io/service-name: fleetdoctor-webhook}}}
- {kind: deployments.apps, metadata: {name: fleetdoctor-webhook, uid: deployment, labels: {app.kubernetes.io/name: fleetdoctor-webhook}}}
- {kind: replicasets.apps, metadata: {name: fleetdoctor-webhook-1, uid: set, ownerReferences: [{uid: deployment}]}}
- {kind: pods, metadata: {name: fleetdoctor-webhook-1-1, uid: pod, ownerReferences: [{uid: set}]}}
- {kind: pods.metrics.k8s.io, metadata: {name: fleetdoctor-webhook-1-1}}
- {kind: events, metadata: {name: something-happened}}
- {kind: events.events.k8s.io, metadata: {name: something-happened}}
- {kind: secrets, metadata: {name: fleetdoctor-webhook-cert, annotations: {cert-manager.io/certificate-name: fleetdoctor-webhook}}}
- {kind: secrets, metadata: {name: fleetdoctor-webhook-ca, annotations: {cert-manager.io/certificate-name: fleetdoctor-webhook-ca}}}
- {kind: secrets, metadata: {name: fleetdoctor-webhook-next, uid: next, ownerReferences: [{uid: certificate}]}}
- {kind: certificates.cert-manager.io, metadata: {name: fleetdoctor-webhook, uid: certificate, labels: {app.kubernetes.io/name: fleetdoctor-webhook}}}
- {kind: certificaterequests.cert-manager.io, metadata: {name: fleetdoctor-webhook-1, uid: request, ownerReferences: [{uid: certificate}]}}
`

func forbidden(what string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: what}, "", errors.New("invented"))
}

// TestInhabited holds who makes a namespace more than the webhook's own.
func TestInhabited(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, more string
		// broken are kinds that cannot be listed, and groups that do not answer.
		broken map[string]error
		want   string
	}{
		{name: "nobody"},
		{name: "a ConfigMap", more: "- {kind: configmaps, metadata: {name: lodger}}", want: "it holds what is not of this webhook: configmap ns/lodger"},
		{name: "a Secret", more: "- {kind: secrets, metadata: {name: lodger}}", want: "it holds what is not of this webhook: secret ns/lodger"},
		{name: "an account", more: "- {kind: serviceaccounts, metadata: {name: lodger}}", want: "it holds what is not of this webhook: serviceaccount ns/lodger"},
		{name: "a custom resource", more: "- {kind: widgets.example.com, metadata: {name: lodger}}", want: "it holds what is not of this webhook: widget.example.com ns/lodger"},
		{name: "a certificate of another", more: "- {kind: secrets, metadata: {name: theirs, annotations: {cert-manager.io/certificate-name: theirs}}}",
			want: "it holds what is not of this webhook: secret ns/theirs"},
		{name: "an owner that is not there", more: "- {kind: pods, metadata: {name: lodger, ownerReferences: [{uid: nobody}]}}", want: "it holds what is not of this webhook: pod ns/lodger"},
		{name: "an owner beside ours", more: "- {kind: pods, metadata: {name: lodger, ownerReferences: [{uid: set}, {uid: nobody}]}}", want: "it holds what is not of this webhook: pod ns/lodger"},
		{name: "an owner that is a lodger", more: "- {kind: pods, metadata: {name: p, ownerReferences: [{uid: theirs}]}}\n- {kind: widgets.example.com, metadata: {name: lodger, uid: theirs}}",
			want: "it holds what is not of this webhook: widget.example.com ns/lodger"},
		{name: "a kind that may not be listed", broken: map[string]error{"widgets.example.com": forbidden("widgets"), "secrets": errors.New("invented")},
			want: "whether somebody else lives in it is not known, as this could not be listed: secrets (invented), widgets.example.com (forbidden)"},
		{name: "a lodger beside a kind that may not be listed", more: "- {kind: widgets.example.com, metadata: {name: lodger}}", broken: map[string]error{"secrets": forbidden("secrets")},
			want: "it holds what is not of this webhook: widget.example.com ns/lodger"},
		{name: "a group that does not answer", broken: map[string]error{"example.com/v1": errors.New("invented"), "metrics.k8s.io/v1beta1": errors.New("invented")},
			want: "whether somebody else lives in it is not known, as this could not be listed: all of example.com/v1 (invented)"},
		{name: "measures that cannot be had", broken: map[string]error{"metrics.k8s.io/v1beta1": errors.New("invented"), "pods.metrics.k8s.io": errors.New("invented")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := inventedCluster(t, unremarkable+tc.more, tc.broken)
			account := Target{Ref: object.Ref{APIVersion: "v1", Kind: "ServiceAccount", Namespace: "ns", Name: Name}, UID: "account"}
			got, err := c.inhabited(t.Context(), "ns", []Target{account})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("reason (-want +got):\n%s", diff)
			}
		})
	}
}

// inventedCluster serves the objects of namespace ns, a YAML list whose kinds are resources. Some kinds and groups are broken.
func inventedCluster(t *testing.T, objects string, broken map[string]error) *Cluster {
	t.Helper()
	var list []struct {
		Kind     string
		Metadata metav1.ObjectMeta
	}
	if err := yaml.Unmarshal([]byte(objects), &list); err != nil {
		t.Fatal(err)
	}
	client := fake.NewSimpleMetadataClient(fake.NewTestScheme())
	client.PrependReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		gvr := action.GetResource()
		what := gvr.GroupResource().String()
		if o := optionsOf(action); gvr.Resource == "secrets" && o.FieldSelector != "type!=kubernetes.io/service-account-token" {
			t.Errorf("Secrets are listed by %q", o.FieldSelector)
		}
		if err := broken[what]; err != nil {
			return true, nil, err
		}
		out := &metav1.List{}
		for _, o := range list {
			if o.Kind == what {
				o.Metadata.Namespace = action.GetNamespace()
				out.Items = append(out.Items, runtime.RawExtension{Object: &metav1.PartialObjectMetadata{ObjectMeta: o.Metadata}})
			}
		}
		return true, out, nil
	})
	return &Cluster{Metadata: client, Discovery: &partial{&fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{Resources: served}}, broken}}
}

// partial is a discovery in which some groups do not answer.
type partial struct {
	*fakediscovery.FakeDiscovery
	broken map[string]error
}

func (p *partial) ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error) {
	if err := p.broken[groupVersion]; err != nil {
		return nil, err
	}
	return p.FakeDiscovery.ServerResourcesForGroupVersionWithContext(ctx, groupVersion)
}
