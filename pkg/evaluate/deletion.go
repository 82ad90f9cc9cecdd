// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// remaining are the conditions of a Namespace that name what keeps it from being deleted.
var remaining = []any{"NamespaceContentRemaining", "NamespaceFinalizersRemaining"}

// Deletion returns what keeps an object from being deleted, as a sentence; empty if nothing is stated, or if it is not
// being deleted.
func Deletion(content object.Content) string {
	if at, _, _ := unstructured.NestedFieldNoCopy(content, "metadata", "deletionTimestamp"); at == nil {
		return ""
	}
	var out []string
	if names, _, _ := unstructured.NestedStringSlice(content, "metadata", "finalizers"); len(names) > 0 {
		out = append(out, "it has the finalizers "+strings.Join(names, ", "))
	}
	conditions, _, _ := unstructured.NestedFieldNoCopy(content, "status", "conditions")
	all, _ := conditions.([]any)
	for _, c := range all {
		condition, _ := c.(map[string]any)
		message, _ := condition["message"].(string)
		if slices.Contains(remaining, condition["type"]) && condition["status"] == "True" && message != "" {
			out = append(out, message)
		}
	}
	return strings.Join(out, "; ")
}

// terminating are the words of an API server about a Namespace that is being deleted.
var terminating = regexp.MustCompile(`in namespace ([a-z0-9-]{1,63}) because it is being terminated`)

// Terminates returns the Namespace for whose deletion a deploy waits.
func (d *BundleDeployment) Terminates() (namespace string, ok bool) {
	if d.BD == nil {
		return "", false
	}
	for _, c := range d.BD.Status.Conditions {
		if m := terminating.FindStringSubmatch(c.Message); m != nil && c.Type == "Deployed" {
			return m[1], true
		}
	}
	return "", false
}
