// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/guard"
)

// Facts are what was read of an installation. What could not be read has a reason, and is never taken for absent.
type Facts struct {
	Namespace string
	TakenAt   time.Time
	// Desired is the installation that the program carries, with the options of the one that is there.
	Desired []*unstructured.Unstructured
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

// Gather reads how an installation is doing. files are the kustomizations of package manifests. The error is that of the manifests or of the context.
func (c *Cluster) Gather(ctx context.Context, files fs.FS, namespace string, now time.Time) (*Facts, error) {
	f := &Facts{Namespace: namespace, TakenAt: now, Objects: map[object.Key]Found{}, Labels: map[string]map[string]string{}}
	all, err := RenderAll(files, namespace)
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		o, err := c.get(ctx, RefOf(d))
		f.Objects[RefOf(d).Key()] = Found{o, reason(err)}
	}
	if f.Desired, err = Render(files, f.options()); err != nil {
		return nil, err
	}
	for _, d := range f.Desired { // in the namespaces of releases
		if _, ok := f.Objects[RefOf(d).Key()]; !ok {
			o, err := c.get(ctx, RefOf(d))
			f.Objects[RefOf(d).Key()] = Found{o, reason(err)}
		}
	}
	f.EndpointsReason = reason(c.list(ctx, sliceKind, namespace, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + Name}, f.count))
	f.LabelsReason = reason(c.list(ctx, namespaceKind, metav1.NamespaceAll, metav1.ListOptions{}, func(o *unstructured.Unstructured) error {
		for k, v := range o.GetLabels() {
			if k != ignoreLabel && k != adoptLabel && k != guardLabel {
				continue
			}
			if f.Labels[o.GetName()] == nil {
				f.Labels[o.GetName()] = map[string]string{}
			}
			f.Labels[o.GetName()][k] = v
		}
		return nil
	}))
	f.CallsReason = reason(c.calls(ctx, f))
	return f, ctx.Err()
}

func (c *Cluster) calls(ctx context.Context, f *Facts) error {
	body, err := c.Metrics(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // it was only read
	f.Calls, err = ParseMetrics(body, StampWebhook, ExactWebhook, GuardWebhook)
	return err
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
	case meta.IsNoMatchError(errors.Unwrap(err)), meta.IsNoMatchError(err):
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

func (f *Facts) found(kind, namespace string) Found {
	for k, o := range f.Objects {
		if k.Kind == kind && k.Namespace == namespace && (k.Name == Name || k.Name == secretName) {
			return o
		}
	}
	return Found{}
}

func (f *Facts) deployment() Found { return f.found(deploymentKind.Kind, f.Namespace) }
func (f *Facts) secret() Found     { return f.found(secretKind.Kind, f.Namespace) }

// options are those that the installation was made with, as far as it shows.
func (f *Facts) options() Options {
	return optionsOf(f.Namespace, f.deployment().Object, f.found(mutatingKind.Kind, "").Object, f.found(validatingKind.Kind, "").Object)
}

// Options are those that an installation was made with, as far as its configurations and its Deployment show. It is for a hint, and not
// worth waiting for: what cannot be read is left out.
func (c *Cluster) Options(ctx context.Context, configurations []Target) Options {
	namespace := cmp.Or(Where(configurations), Namespace)
	var live []*unstructured.Unstructured
	for _, t := range configurations {
		live = append(live, t.live)
	}
	deployment, err := c.Dynamic.Resource(deploymentKind.GroupVersion().WithResource("deployments")).Namespace(namespace).Get(ctx, Name, metav1.GetOptions{})
	if err != nil {
		deployment = nil
	}
	return optionsOf(namespace, deployment, live...)
}

func optionsOf(namespace string, deployment *unstructured.Unstructured, configurations ...*unstructured.Unstructured) Options {
	o := Options{Namespace: namespace, Certificates: SelfSigned}
	for _, live := range configurations {
		if live == nil {
			continue
		}
		if live.GetAnnotations()["cert-manager.io/inject-ca-from"] != "" {
			o.Certificates = CertManager
		}
		o.Exact = o.Exact || slices.ContainsFunc(webhooksOf(live), func(w map[string]any) bool { return w["name"] == ExactWebhook })
	}
	c := container(deployment)
	o.Image, _ = c["image"].(string)
	args, _, _ := unstructured.NestedStringSlice(c, "args")
	for _, a := range args {
		if v, ok := strings.CutPrefix(a, "--release-namespaces="); ok && v != "" {
			o.ReleaseNamespaces = strings.Split(v, ",")
		}
		if v, ok := strings.CutPrefix(a, "--guard-default="); ok && slices.Contains(guard.Modes(), guard.Mode(v)) {
			o.GuardDefault = guard.Mode(v)
		}
	}
	if deployment != nil {
		o.Replicas = int(replicasOf(deployment).wanted)
	}
	return o
}

// container is the first container of a Deployment, nil where there is none.
func container(deployment *unstructured.Unstructured) map[string]any {
	if deployment == nil {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if len(list) == 0 {
		return nil
	}
	c, _ := list[0].(map[string]any)
	return c
}
