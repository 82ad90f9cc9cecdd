// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// Certificates is the component that makes the webhook's certificate.
type Certificates string

// The values of Certificates.
const (
	SelfSigned  Certificates = "self-signed"
	CertManager Certificates = "cert-manager"
)

// Options are the options of an installation. A zero value keeps the value of the manifests.
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

// Replicas is the number of replicas in the manifests.
const Replicas = 2

// repository is the name of the image in the manifests, which has the tag dev.
const repository = "fleetdoctor/kubectl-fleetdoctor"

// described is the end of a version that git describe or the go command makes of a commit without a tag, or of a
// changed tree.
var described = regexp.MustCompile(`(-[0-9]+-g[0-9a-f]+|[-.][0-9]{14}-[0-9a-f]{12})?(-dirty|\+dirty)?$`)

// ImageOf returns the image of a version of the program; ok is false if no release has that version, and so no image exists.
func ImageOf(version string) (image string, ok bool) {
	number, tagged := strings.CutPrefix(version, "v")
	if _, err := semver.StrictNewVersion(number); !tagged || err != nil || described.FindString(version) != "" {
		return "", false
	}
	return repository + ":" + strings.ReplaceAll(version, "+", "_"), true // a tag cannot contain a plus sign
}

// OptionsOf reads the options of an installation from its Deployment and its configurations. Each may be nil. It is the
// inverse of Render.
func OptionsOf(namespace string, deployment *unstructured.Unstructured, configurations ...*unstructured.Unstructured) Options {
	o := Options{Namespace: namespace, Certificates: SelfSigned}
	for _, live := range configurations {
		if live != nil && live.GetAnnotations()["cert-manager.io/inject-ca-from"] != "" {
			o.Certificates = CertManager
		}
		for _, w := range webhooksOf(live) {
			o.Exact = o.Exact || w.Name == ExactWebhook
		}
	}
	spec := decode[appsv1.Deployment](deployment).Spec
	o.Replicas = int(ptr.Deref(spec.Replicas, 0))
	if len(spec.Template.Spec.Containers) == 0 {
		return o
	}
	o.Image = spec.Template.Spec.Containers[0].Image
	for _, a := range spec.Template.Spec.Containers[0].Args {
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

// releaseNamespaces returns ReleaseNamespaces in order, each once.
func (o Options) releaseNamespaces() []string {
	return slices.Compact(slices.Sorted(slices.Values(o.ReleaseNamespaces)))
}

// Change is an option in which a plan differs from the existing installation, with both values as text.
type Change struct{ Option, New, Old string }

// String returns one line of text.
func (c Change) String() string {
	text := "now"
	if c.Option == releasesOption {
		text = "the webhook now reads Secrets in"
	}
	return fmt.Sprintf("--%s: %s %s (before: %s)", c.Option, text, c.New, c.Old)
}

const releasesOption = "release-namespaces"

// Changes returns the options that a plan changes, the one that grants rights first. An option is left out if the
// objects that show its old value do not exist, so a first installation has none. stale are the objects that the plan
// prunes.
func Changes(steps []Step, stale []*unstructured.Unstructured) []Change {
	var deployment, newDeployment *unstructured.Unstructured
	var live, desired []*unstructured.Unstructured
	for _, s := range steps {
		switch {
		case s.Desired.GetKind() == deploymentKind.Kind:
			deployment, newDeployment = s.Live, s.Desired
		case IsConfiguration(s.Desired):
			desired = append(desired, s.Desired)
			if s.Live != nil {
				live = append(live, s.Live)
			}
		}
	}
	before, after := OptionsOf("", deployment, live...), OptionsOf("", newDeployment, desired...)
	for _, o := range stale {
		if deployment == nil && o.GetKind() == "RoleBinding" && o.GetName() == recordsRole {
			before.ReleaseNamespaces = append(before.ReleaseNamespaces, o.GetNamespace())
		}
	}
	secretsIn := func(o Options) string { return cmp.Or(strings.Join(o.releaseNamespaces(), ", "), "every namespace") }
	guard := func(o Options) string { return string(cmp.Or(o.GuardDefault, admission.GuardWarn)) }
	var out []Change
	add := func(known bool, option, now, old string) {
		if known && now != old {
			out = append(out, Change{option, now, old})
		}
	}
	add(deployment != nil || before.ReleaseNamespaces != nil, releasesOption, secretsIn(after), secretsIn(before))
	add(live != nil, "exact", strconv.FormatBool(after.Exact), strconv.FormatBool(before.Exact))
	add(live != nil, "certificates", string(after.Certificates), string(before.Certificates))
	add(deployment != nil, "guard-default", guard(after), guard(before))
	add(deployment != nil, "image", after.Image, before.Image)
	add(deployment != nil, "replicas", strconv.Itoa(after.Replicas), strconv.Itoa(before.Replicas))
	return out
}
