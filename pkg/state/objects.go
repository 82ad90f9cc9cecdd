// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

const (
	// maxNamespaceObjects limits the objects in the records of a namespace that nobody but their writer vouches for,
	// maxObjects those of all namespaces. An object needs about 2 KiB until it is evaluated.
	maxNamespaceObjects = 60_000
	maxObjects          = 100_000
)

// trust says how an administrator lifts the limits of a namespace.
const trust = ". If you trust everybody who can write Secrets there, set the label " +
	"records.fleetdoctor.io/<that namespace>=trusted on namespace kube-system"

var (
	errNamespaceObjects = errors.New("the releases of its namespace have more than 60,000 objects" + trust)
	errObjects          = errors.New("releases have more than 100,000 objects in total, and its namespace is one of " +
		"those with most of them" + trust)
)

// NamedReleases returns the revisions of releases that BundleDeployments name in the namespaces that Fleet made for
// Clusters: nobody else writes there.
func (f *Fleet) NamedReleases() map[release.Name]bool {
	out := map[release.Name]bool{}
	for _, bd := range f.BundleDeployments {
		if n, err := release.ParseName(bd.Status.Release); err == nil && fleet.IsClusterNamespace(bd.Namespace) {
			out[n] = true
		}
	}
	return out
}

// LimitObjects drops the objects of the records of the namespaces that have too many. These records do not count:
// NamedReleases, those of a namespace that an administrator trusts, and those of superseded revisions, whose objects
// are not evaluated.
func (c *Cluster) LimitObjects(f *Fleet, trusts func(namespace string) bool) {
	named := f.NamedReleases()
	counts, counted := shares{}, map[release.Name]*Record{}
	for n, r := range c.Records {
		if named[n] || trusts(n.Namespace) || r.Status == release.StatusSuperseded {
			continue
		}
		counts[n.Namespace] += len(r.Objects)
		counted[n] = r
	}
	exceeded := counts.exceeded(share{maxNamespaceObjects, errNamespaceObjects}, share{maxObjects, errObjects})
	for n, r := range counted {
		if why := exceeded[n.Namespace]; why != nil && len(r.Objects) > 0 {
			r.drop(why)
		}
	}
}
