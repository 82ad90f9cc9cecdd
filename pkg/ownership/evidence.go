// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// TrustNamespace is the Namespace whose labels say which release records an administrator trusts. A label on the
// Namespace of the records would not do: a role with all rights in a namespace allows to write its Namespace.
const TrustNamespace = metav1.NamespaceSystem

// A label of TrustNamespace with the key TrustPrefix and the name of a namespace, and the value trusted, trusts the
// release records of that namespace for the objects of all namespaces.
const (
	TrustPrefix = "records.fleetdoctor.io/"
	trusted     = "trusted"
)

// TrustsRecords reports whether the release records of a namespace are trusted for the objects of all namespaces.
// labels are those of TrustNamespace. Who may write Secrets in a namespace of Fleet controls the agent.
func TrustsRecords(namespace string, labels map[string]string) bool {
	return fleet.IsSystemNamespace(namespace) || labels[TrustPrefix+namespace] == trusted
}

// TrustAdvice says how an administrator trusts the release records of a namespace.
func TrustAdvice(namespace string) string {
	return fmt.Sprintf("if you trust everybody who can write Secrets in namespace %s, label namespace %s %s%s=%s",
		namespace, TrustNamespace, TrustPrefix, namespace, trusted)
}

// Evidence confirms a release record. A record alone is no evidence: a user who may only create Secrets in one
// namespace can write a record that claims any object of the cluster, and any set. What it claims counts for the
// objects of its own namespace. For other objects, one of these confirms it:
//   - The record is trusted: a BundleDeployment names it, or TrustsRecords.
//   - An object names the release in its Helm annotations. Only a user who may write the object can set them, and Helm
//     writes them to all objects. It confirms the record for its own namespace or, if it is cluster-scoped, everywhere.
//
// A record that is not confirmed still counts as another owner that may exist. The zero value confirms nothing.
type Evidence struct {
	// Namespace is that of the record, Release the name of its release, "namespace/name".
	Namespace, Release string
	Trusted            bool
	// seen are the places of objects that name the release.
	seen map[string]bool
}

// Add adds an object of the release with its ownership metadata.
func (e *Evidence) Add(k object.Key, have Metadata) {
	if e.Trusted || e.Release == "" || have.Release() != e.Release {
		return
	}
	if e.seen == nil {
		e.seen = map[string]bool{}
	}
	e.seen[placeOf(k)] = true
}

// Confirms reports whether the record counts for an object.
func (e Evidence) Confirms(k object.Key) bool {
	if e.Trusted || e.seen[everywhere] {
		return true
	}
	place := placeOf(k)
	return place == e.Namespace || e.seen[place]
}

// Within reports whether who may write all objects of a namespace may write this one.
func Within(namespace string, k object.Key) bool { return placeOf(k) == namespace }

// Confirmed reports whether anything outside of its namespace confirms the record.
func (e Evidence) Confirmed() bool {
	elsewhere := len(e.seen)
	if e.seen[e.Namespace] {
		elsewhere--
	}
	return e.Trusted || elsewhere > 0
}

// everywhere is the place of cluster-scoped objects, except Namespaces.
const everywhere = ""

// placeOf returns where a user must have rights to write an object: its namespace, or the cluster. A Namespace is a
// place of its own, because a role in that namespace may allow to write it.
func placeOf(k object.Key) string {
	if k.Group == "" && k.Kind == "Namespace" {
		return "namespaces/" + k.Name
	}
	return k.Namespace
}
