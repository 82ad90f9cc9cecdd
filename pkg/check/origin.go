// SPDX-License-Identifier: Apache-2.0

package check

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"

// Origin is a finding from which another one follows, if it is reported: one of a code about an object, or about a
// bundle deployment or any of its objects.
type Origin struct {
	Code    string
	Cluster string // "namespace/name"
	// BundleDeployment is its key; empty for a finding about another Object.
	BundleDeployment string
	Object           object.Ref
}
