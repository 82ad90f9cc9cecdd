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
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

func (in *Input) secretInStatus(out *found, d *evaluate.BundleDeployment) {
	names := shownBy(d)
	if len(names) == 0 {
		return
	}
	f := onDeployment(d, "the status of %s shows values of %s", d.Key(), facts.List(names))
	f.Evidence = []string{"every user who can read BundleDeployments in " + d.Namespace +
		", or Bundles or GitRepos in the namespace of the bundle, can read them"}
	out.report(f, changePasswords(names))
}

// shownBy returns the Secrets with values that the status of a bundle deployment shows.
func shownBy(d *evaluate.BundleDeployment) []string {
	if d.BD == nil {
		return nil
	}
	return secretsShown(d.BD.Status.ModifiedStatus)
}

// changePasswords is the remedy for Secrets with values that a status shows.
func changePasswords(secrets []string) remedy.Remedy {
	return remedy.Advise("restore %s to the values of the bundle, then change the exposed passwords",
		facts.List(secrets))
}

// secretInSummary reports an aggregate with a summary that shows a value which no deployment shows any more. The status
// of a Cluster can be 15 minutes old. Deployments name their Bundle, GitRepo, HelmOp and Cluster, but no ClusterGroup.
func (in *Input) secretInSummary(out *found, a *evaluate.Aggregate) {
	names := secretsShown(modifiedIn(a.Object.Reported().Summary))
	reported := a.Kind != state.ClusterGroup && slices.ContainsFunc(a.BundleDeployments,
		func(d *evaluate.BundleDeployment) bool { return len(shownBy(d)) > 0 })
	if len(names) == 0 || reported {
		return
	}
	out.report(Finding{Object: facts.RefOf(a), Message: fmt.Sprintf("the status of %s %s shows values of %s",
		strings.ToLower(a.Kind), a.Key(), facts.List(names))}, changePasswords(names))
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
