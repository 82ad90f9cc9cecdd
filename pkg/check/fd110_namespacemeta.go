// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

var namespaceMeta = Check{
	Code: "FD110", Name: "NamespaceMeta", Severity: Warning,
	Title: "labels or annotations that a bundle states for its namespace are not on it",
	run: func(in *Input, report func(Finding)) {
		for _, d := range in.Deployments {
			if f, ok := in.namespaceMeta(d); ok {
				report(f)
			}
		}
	},
}

// namespaceMeta returns the finding about the namespace of a bundle deployment that is applied and whose agent is not
// told to wait.
func (in *Input) namespaceMeta(d *evaluate.BundleDeployment) (Finding, bool) {
	if d.On == nil || !facts.Applied(d) || d.BD.Status.Release == "" {
		return Finding{}, false
	}
	options := d.Options()
	live, exists := in.Namespaces[d.On.ID][options.ReleaseNamespace()]
	if !exists {
		return Finding{}, false
	}
	missing := slices.Concat(lacks("label", options.NamespaceLabels, live.Labels),
		lacks("annotation", options.NamespaceAnnotations, live.Annotations))
	if len(missing) == 0 {
		return Finding{}, false
	}
	ref := object.Ref{APIVersion: "v1", Kind: "Namespace", Name: options.ReleaseNamespace()}
	f := about(&d.Deployment, ref, "namespace %s lacks labels or annotations that %s states", ref.Name, d.Key())
	f.Evidence, f.Remedies = missing, in.Redeploy(d)
	if podSecurity(missing) {
		if labels := podSecurityLabels(options.NamespaceLabels, live.Labels); len(labels) == len(missing) {
			f.Remedies = []remedy.Remedy{remedy.Run(in.On(d.On).Kubectl+" label "+remedy.Named("namespace",
				ref.Name)+" --overwrite "+escape.ShellWords(labels),
				"sets these labels; Pod Security then applies them to new pods of the namespace")}
		}
		s := "some versions of the agent do not write labels of Pod Security"
		if tag := d.On.AgentVersion(d.Namespace); tag != "" {
			s += "; this one is " + tag
		}
		f.Evidence = append(f.Evidence, s)
	}
	return f, true
}

// lacks returns which stated labels or annotations are not live, as sentences.
func lacks(what string, stated, live map[string]string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(stated)) {
		value, exists := live[key]
		switch {
		case !exists:
			out = append(out, fmt.Sprintf("%s %s=%s is missing", what, key, stated[key]))
		case value != stated[key]:
			out = append(out, fmt.Sprintf("%s %s is %q, stated is %q", what, key, value, stated[key]))
		}
	}
	return out
}

// podSecurityLabels returns the stated labels of Pod Security that are not live, as arguments of kubectl.
func podSecurityLabels(stated, live map[string]string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(stated)) {
		if value, exists := live[key]; strings.HasPrefix(key, fleet.PodSecurityPrefix) &&
			(!exists || value != stated[key]) {
			out = append(out, key+"="+stated[key])
		}
	}
	return out
}

func podSecurity(missing []string) bool {
	return slices.ContainsFunc(missing, func(s string) bool {
		return strings.HasPrefix(s,
			"label "+fleet.PodSecurityPrefix)
	})
}
