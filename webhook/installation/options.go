// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// Certificates says what makes the webhook's certificate.
type Certificates string

// The makers of certificates.
const (
	SelfSigned  Certificates = "self-signed"
	CertManager Certificates = "cert-manager"
)

// Options are the options of an installation. A zero value keeps what the manifests have.
type Options struct {
	Namespace    string
	Certificates Certificates
	// Exact adds the webhook that also stamps objects without ownership metadata, in namespaces with a label for it.
	Exact bool
	// ReleaseNamespaces are the only namespaces whose Secrets the webhook may read; none means all.
	ReleaseNamespaces []string
	GuardDefault      admission.GuardMode
	Image             string
	Replicas          int
}

// What the manifests have.
const (
	Image    = "fleetdoctor/kubectl-fleetdoctor:dev"
	Replicas = 2
)

// OptionsOf reads the options of an installation from its Deployment and its configurations. Each may be nil. It is the inverse of Render.
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
	if deployment == nil {
		return o
	}
	replicas, _, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas")
	o.Replicas = int(replicas)
	c := container(deployment)
	o.Image, _ = c["image"].(string)
	args, _, _ := unstructured.NestedStringSlice(c, "args")
	for _, a := range args {
		flag, value, _ := strings.Cut(a, "=")
		switch {
		case a == "--certificates=files": // also if the configurations do not exist
			o.Certificates = CertManager
		case flag == "--release-namespaces" && value != "":
			o.ReleaseNamespaces = strings.Split(value, ",")
		case flag == "--guard-default" && slices.Contains(admission.GuardModes(), admission.GuardMode(value)):
			o.GuardDefault = admission.GuardMode(value)
		}
	}
	return o
}

// container returns the first container of a Deployment, nil if there is none.
func container(deployment *unstructured.Unstructured) map[string]any {
	list, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if len(list) == 0 {
		return nil
	}
	c, _ := list[0].(map[string]any)
	return c
}

// Change is an option in which a plan differs from the existing installation, with both values as text.
type Change struct{ Option, New, Old string }

// String returns one line of text.
func (c Change) String() string {
	if c.Option == releasesOption {
		return fmt.Sprintf("--%s: the webhook now reads Secrets in %s (before: %s)", c.Option, c.New, c.Old)
	}
	return fmt.Sprintf("--%s: now %s (before: %s)", c.Option, c.New, c.Old)
}

const releasesOption = "release-namespaces"

// Changes returns the options that a plan changes, the one that grants rights first. An option is left out if the objects that show its old
// value do not exist, so a first installation has none. stale are the objects that the plan prunes.
func Changes(steps []Step, stale []Target) []Change {
	var deployment, newDeployment *unstructured.Unstructured
	var live, desired []*unstructured.Unstructured
	for _, s := range steps {
		switch s.Desired.GetKind() {
		case deploymentKind.Kind:
			deployment, newDeployment = s.Live, s.Desired
		case mutatingKind.Kind, validatingKind.Kind:
			desired = append(desired, s.Desired)
			if s.Live != nil {
				live = append(live, s.Live)
			}
		}
	}
	before, after := OptionsOf("", deployment, live...), OptionsOf("", newDeployment, desired...)
	if deployment == nil {
		before.ReleaseNamespaces = boundNamespaces(stale)
	}
	var out []Change
	add := func(shown bool, option, now, old string) {
		if shown && now != old {
			out = append(out, Change{option, now, old})
		}
	}
	add(deployment != nil || before.ReleaseNamespaces != nil, releasesOption, readNamespaces(after), readNamespaces(before))
	add(live != nil, "exact", strconv.FormatBool(after.Exact), strconv.FormatBool(before.Exact))
	add(live != nil, "certificates", string(after.Certificates), string(before.Certificates))
	add(deployment != nil, "guard-default", string(cmp.Or(after.GuardDefault, admission.GuardWarn)), string(cmp.Or(before.GuardDefault, admission.GuardWarn)))
	add(deployment != nil, "image", after.Image, before.Image)
	add(deployment != nil, "replicas", strconv.Itoa(after.Replicas), strconv.Itoa(before.Replicas))
	return out
}

// readNamespaces names the namespaces whose Secrets a webhook may read.
func readNamespaces(o Options) string {
	if len(o.ReleaseNamespaces) == 0 {
		return "every namespace"
	}
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(o.ReleaseNamespaces))), ", ")
}

// boundNamespaces returns the namespaces of the RoleBindings that grant access to release records.
func boundNamespaces(targets []Target) []string {
	var out []string
	for _, t := range targets {
		if t.Kind == "RoleBinding" && t.Name == recordsRole {
			out = append(out, t.Namespace)
		}
	}
	return out
}
