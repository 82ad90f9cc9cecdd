// SPDX-License-Identifier: Apache-2.0

package metrics

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"

// Whoever may create a Secret in a namespace can make any number of bundle deployments there of which only a release is
// known. So the series about these are bounded by the namespace of the release, and in total. Those whose
// BundleDeployment was read are not: Fleet made them.
const (
	// maxNamedReleases is the number of such bundle deployments of a namespace that have series, maxAllNamedReleases
	// that of all namespaces. Those that are gone count while their counters remain.
	maxNamedReleases    = 250
	maxAllNamedReleases = 2000
	// maxReleaseObjects is the number of objects that are named, of all such bundle deployments of a namespace.
	maxReleaseObjects = 500
	// maxReleaseFindings is the number of findings of a check that are named, about those of a namespace.
	maxReleaseFindings = 100
)

// releaseNamespace is the namespace of the release of a bundle deployment of which nothing else is known; empty for
// others.
func releaseNamespace(d *view.Deployment) string {
	if d.Exists {
		return ""
	}
	namespace, _ := view.Split(d.Release)
	if namespace == "" {
		namespace, _ = view.Split(d.ID.Release)
	}
	return namespace
}

// share counts what is named about the bundle deployments of the namespaces of releases.
type share[K comparable] map[K]int

// take takes up to n of what is left of a limit, and returns how much that is.
func (s share[K]) take(owner K, n, limit int) int {
	n = min(n, limit-s[owner])
	s[owner] += n
	return n
}
