// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// Change is an option by which a plan differs from the installation that is there. Is and Was are in words.
type Change struct{ Option, Is, Was string }

// Changes are the options that a plan changes, the one that grants rights first. What does not show, because the object that would show it is not
// there, is no change; none are of a first installation. stale is what the plan leaves behind.
func Changes(steps []Step, stale []Target) []Change {
	var out []Change
	add := func(option, is, was string) {
		if is != was {
			out = append(out, Change{option, is, was})
		}
	}
	live, desired := shown(steps, func(s Step) *unstructured.Unstructured { return s.Live }), shown(steps, func(s Step) *unstructured.Unstructured { return s.Desired })
	was, is := live.options(), desired.options()
	if released := bound(stale); was.ReleaseNamespaces == nil && live.deployment == nil {
		was.ReleaseNamespaces = released
	}
	if live.deployment != nil || was.ReleaseNamespaces != nil {
		add(releasesOption, reads(is), reads(was))
	}
	if len(live.configurations) > 0 {
		add("exact", strconv.FormatBool(is.Exact), strconv.FormatBool(was.Exact))
		add("certificates", string(is.Certificates), string(was.Certificates))
	}
	if live.deployment != nil {
		add("guard-default", string(cmp.Or(is.GuardDefault, admission.GuardWarn)), string(cmp.Or(was.GuardDefault, admission.GuardWarn)))
		add("image", is.Image, was.Image)
		add("replicas", strconv.Itoa(is.Replicas), strconv.Itoa(was.Replicas))
	}
	return out
}

// String says it in one line.
func (c Change) String() string {
	what := "is now"
	if c.Option == releasesOption {
		what = "now reads Secrets in"
	}
	return fmt.Sprintf("--%s: it %s %s; it was: %s", c.Option, what, c.Is, c.Was)
}

const releasesOption = "release-namespaces"

// reads says whose Secrets a webhook may read.
func reads(o Options) string {
	if len(o.ReleaseNamespaces) == 0 {
		return "every namespace"
	}
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(o.ReleaseNamespaces))), ", ")
}

// bound are the namespaces of bindings by which release records are read.
func bound(targets []Target) []string {
	var out []string
	for _, t := range targets {
		if t.Kind == "RoleBinding" && t.Name == recordsRole {
			out = append(out, t.Namespace)
		}
	}
	return out
}

// showing are the objects of an installation that show its options.
type showing struct {
	deployment     *unstructured.Unstructured
	configurations []*unstructured.Unstructured
}

func shown(steps []Step, of func(Step) *unstructured.Unstructured) showing {
	var out showing
	for _, s := range steps {
		o := of(s)
		if o == nil {
			continue
		}
		switch s.Desired.GetKind() {
		case deploymentKind.Kind:
			out.deployment = o
		case mutatingKind.Kind, validatingKind.Kind:
			out.configurations = append(out.configurations, o)
		}
	}
	return out
}

func (s showing) options() Options { return OptionsOf("", s.deployment, s.configurations...) }
