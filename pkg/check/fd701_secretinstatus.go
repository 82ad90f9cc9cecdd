// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

var secretInStatus = Check{
	Code: "FD701", Name: "SecretInStatus", Severity: Error,
	Title: "Fleet's status shows values of a Secret",
	run: func(in *Input, report func(Finding)) {
		reported := map[object.Ref]bool{} // the parents of deployments that are reported
		for _, d := range in.Deployments {
			if d.BD == nil {
				continue
			}
			if names := secretsShown(d.BD.Status.ModifiedStatus); len(names) > 0 {
				f := onDeployment(d, "the status of %s shows values of %s", d.Key(), facts.List(names))
				f.Evidence = []string{"every user who can read BundleDeployments in " + d.Namespace +
					", or Bundles or GitRepos in the namespace of the bundle, can read them"}
				f.Remedies = []remedy.Remedy{changePasswords(names)}
				report(f)
				for kind, key := range d.Parents() {
					namespace, name, _ := strings.Cut(key, "/")
					reported[facts.Ref(kind, namespace, name)] = true
				}
			}
		}
		in.exposedInSummaries(reported, report)
	},
}

// changePasswords is the remedy for Secrets with values that a status shows.
func changePasswords(secrets []string) remedy.Remedy {
	return remedy.Advise("restore %s to the values of the bundle, then change the exposed passwords",
		facts.List(secrets))
}

// exposedInSummaries reports the parents of deployments with summaries that show a value which no deployment shows any
// more. The status of a Cluster can be 15 minutes old.
func (in *Input) exposedInSummaries(reported map[object.Ref]bool, report func(Finding)) {
	for kind := range in.Tree {
		for a := range in.Aggregates(kind) {
			ref := facts.Ref(kind, a.Object.GetNamespace(), a.Object.GetName())
			if names := secretsShown(modifiedIn(a.Object.Reported().Summary)); len(names) > 0 && !reported[ref] {
				report(Finding{
					Object: ref,
					Message: fmt.Sprintf("the status of %s %s shows values of %s", strings.ToLower(kind), a.Key(),
						facts.List(names)),
					Remedies: []remedy.Remedy{changePasswords(names)},
				})
			}
		}
	}
}

func modifiedIn(s *v1alpha1.Summary) []v1alpha1.ModifiedStatus {
	var out []v1alpha1.ModifiedStatus
	if s != nil {
		for _, r := range s.NonReadyResources {
			out = append(out, r.ModifiedStatus...)
		}
	}
	return out
}

// secretsShown returns the Secrets with patches that contain a value. A patch that only removes keys, or changes
// labels, contains none.
func secretsShown(entries []v1alpha1.ModifiedStatus) []string {
	var out []string
	for _, m := range entries {
		if m.Kind != "Secret" || m.APIVersion != "v1" || m.Patch == "" {
			continue
		}
		var patch struct {
			Data       map[string]*string `json:"data"`
			StringData map[string]*string `json:"stringData"`
			Metadata   struct {
				Annotations map[string]*string `json:"annotations"`
			} `json:"metadata"`
		}
		err := json.Unmarshal([]byte(m.Patch), &patch)
		copied := patch.Metadata.Annotations[corev1.LastAppliedConfigAnnotation] != nil
		shown := hasValue(patch.Data) || hasValue(patch.StringData)
		if err != nil || copied || shown {
			ref := object.Ref{APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Namespace, Name: m.Name}
			out = append(out, ref.Key().String())
		}
	}
	return out
}

func hasValue(data map[string]*string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(data)), func(v *string) bool { return v != nil && *v != "" })
}
