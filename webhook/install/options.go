// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// Certificates says who makes the webhook's certificate.
type Certificates string

// Who makes certificates.
const (
	SelfSigned  Certificates = "self-signed"
	CertManager Certificates = "cert-manager"
)

// Options say what is to be installed. Zero values leave what the manifests say.
type Options struct {
	Namespace    string
	Certificates Certificates
	// Exact adds the webhook that also stamps bare objects, in namespaces that ask for it.
	Exact bool
	// ReleaseNamespaces are the only namespaces whose Secrets the webhook may read; none stands for all.
	ReleaseNamespaces []string
	GuardDefault      admission.GuardMode
	Image             string
	Replicas          int
}

// What the manifests say where no option does.
const (
	Image    = "fleetdoctor/kubectl-fleetdoctor:dev"
	Replicas = 2
)

// Options are those that an installation was made with, as far as its configurations and its Deployment show. It is for a hint, and not
// worth waiting for: what cannot be read is left out.
func (c *Cluster) Options(ctx context.Context, configurations []Target) Options {
	home, err := c.Home(ctx, configurations)
	if err != nil {
		home = ""
	}
	return c.OptionsIn(ctx, cmp.Or(home, Namespace), configurations)
}

// OptionsIn is Options of an installation in a namespace.
func (c *Cluster) OptionsIn(ctx context.Context, namespace string, configurations []Target) Options {
	var live []*unstructured.Unstructured
	for _, t := range configurations {
		live = append(live, t.live)
	}
	deployment, err := c.Dynamic.Resource(deploymentResource).Namespace(namespace).Get(ctx, Name, metav1.GetOptions{})
	if err != nil {
		deployment = nil
	}
	return OptionsOf(namespace, deployment, live...)
}

// OptionsOf reads the options off a Deployment and configurations; each may be nil. It is Render backwards.
func OptionsOf(namespace string, deployment *unstructured.Unstructured, configurations ...*unstructured.Unstructured) Options {
	o := Options{Namespace: namespace, Certificates: SelfSigned}
	for _, live := range configurations {
		if live == nil {
			continue
		}
		if live.GetAnnotations()["cert-manager.io/inject-ca-from"] != "" {
			o.Certificates = CertManager
		}
		o.Exact = o.Exact || slices.ContainsFunc(WebhooksOf(live), func(w map[string]any) bool { return w["name"] == ExactWebhook })
	}
	c := container(deployment)
	o.Image, _ = c["image"].(string)
	args, _, _ := unstructured.NestedStringSlice(c, "args")
	for _, a := range args {
		if a == "--certificates=files" { // also where the configurations are gone
			o.Certificates = CertManager
		}
		if v, ok := strings.CutPrefix(a, "--release-namespaces="); ok && v != "" {
			o.ReleaseNamespaces = strings.Split(v, ",")
		}
		if v, ok := strings.CutPrefix(a, "--guard-default="); ok && slices.Contains(admission.GuardModes(), admission.GuardMode(v)) {
			o.GuardDefault = admission.GuardMode(v)
		}
	}
	if deployment != nil {
		o.Replicas = int(replicasOf(deployment).wanted)
	}
	return o
}

// GuardOff says whether the guard does nothing by labels, which are those of a namespace, or of an object that is in none.
func (o Options) GuardOff(labels map[string]string) bool {
	mode, _ := admission.GuardModeOf(labels, cmp.Or(o.GuardDefault, admission.GuardWarn))
	return mode == admission.GuardOff
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
