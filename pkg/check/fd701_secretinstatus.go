// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

var secretInStatus = Check{
	Code: "FD701", Name: "SecretInStatus", Severity: report.Error,
	Title: "Fleet's status shows a Secret's value",
	Explain: "When a Secret of a bundle differs from its manifest, Fleet writes the desired value, in base64, into the status of the BundleDeployment, and from " +
		"there of Bundle and GitRepo. Whoever may read one of these reads it. Bring the Secret back to what the bundle wants, and change the value that was shown.",
	run: func(c *Case) []report.Finding {
		var out []report.Finding
		shown := map[object.Ref]bool{} // what stands above a deployment that was reported
		for _, d := range c.Deployments {
			if d.BD == nil {
				continue
			}
			if names := secretsShown(d.BD.Status.ModifiedStatus); len(names) > 0 {
				f := onDeployment(d)
				f.Message = fmt.Sprintf("the status of %s shows values of %s", d.Key(), list(names))
				f.Evidence = []string{"whoever may read BundleDeployments in " + d.Namespace + ", or Bundles or GitRepos in the bundle's namespace, reads them"}
				f.Remediation = fmt.Sprintf("bring %s back to what the bundle wants, then change the values that were shown", list(names))
				out = append(out, f)
				for kind, key := range map[string]string{"Bundle": d.Bundle, "GitRepo": d.GitRepo, "HelmOp": d.HelmOp, "Cluster": d.Cluster} {
					namespace, name := split(key)
					shown[Ref(kind, namespace, name)] = true
				}
			}
		}
		return append(out, summariesThatShow(c, shown)...)
	},
}

// summariesThatShow reports what stands above the deployments and shows a value that no deployment in scope shows any more: a Cluster's status
// is up to a quarter of an hour behind.
func summariesThatShow(c *Case, reported map[object.Ref]bool) []report.Finding {
	if !c.Whole {
		return nil
	}
	var out []report.Finding
	add := func(kind, namespace, name string, s v1alpha1.Summary) {
		var entries []v1alpha1.ModifiedStatus
		for _, r := range s.NonReadyResources {
			entries = append(entries, r.ModifiedStatus...)
		}
		ref := Ref(kind, namespace, name)
		if names := secretsShown(entries); len(names) > 0 && !reported[ref] {
			out = append(out, report.Finding{
				Object:      ref,
				Message:     fmt.Sprintf("the status of %s %s/%s shows values of %s", strings.ToLower(kind), namespace, name, list(names)),
				Remediation: fmt.Sprintf("bring %s back to what the bundle wants, then change the values that were shown", list(names)),
			})
		}
	}
	inv := c.Inventory
	for _, o := range inv.Bundles {
		add("Bundle", o.Namespace, o.Name, o.Status.Summary)
	}
	for _, o := range inv.GitRepos {
		add("GitRepo", o.Namespace, o.Name, o.Status.Summary)
	}
	for _, o := range inv.HelmOps {
		add("HelmOp", o.Namespace, o.Name, o.Status.Summary)
	}
	for _, o := range inv.Clusters {
		add("Cluster", o.Namespace, o.Name, o.Status.Summary)
	}
	return out
}

// secretsShown names the Secrets whose patches hold a value. A patch that only removes keys, or changes labels, holds none.
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
		if err != nil || copied || holdsValue(patch.Data) || holdsValue(patch.StringData) {
			ref := object.Ref{APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Namespace, Name: m.Name}
			out = append(out, ref.Key().String())
		}
	}
	return out
}

func holdsValue(data map[string]*string) bool {
	for _, v := range data {
		if v != nil && *v != "" {
			return true
		}
	}
	return false
}
