// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// AsOwner converts the bundle deployment for package ownership.
func (d *BundleDeployment) AsOwner() ownership.Bundle {
	b := ownership.Bundle{Deployment: d.Key(), Bundle: d.Bundle, Desired: d.Ownership}
	if d.Release.Name != "" {
		b.Release = d.Release.Release()
	}
	return b
}

// Owners finds the other owners of an object that d desires and that has this ownership metadata.
func (c *Cluster) Owners(d *BundleDeployment, key object.Key, have ownership.Metadata) ownership.Result {
	claim := ownership.Claim{Object: key, Have: have, Bundle: d.AsOwner()}
	for _, o := range c.Claims.Of(key) {
		if o.Deployment != d {
			claim.DesiredBy = append(claim.DesiredBy, o.Deployment.AsOwner())
		}
	}
	return ownership.Evaluate(c, claim)
}

// OwnerOf finds the bundle deployment of this cluster that has the set in the metadata. It returns nil if there is none, or if several share the
// set and the Helm annotations do not name the release of one of them.
func (c *Cluster) OwnerOf(m ownership.Metadata) *BundleDeployment {
	if owners := ownership.BundlesOf(c, m); len(owners) == 1 {
		for _, d := range c.Claims.BySet(owners[0].Desired.Hash) {
			if d.AsOwner() == owners[0] {
				return d
			}
		}
	}
	return nil
}

// BundlesOf implements ownership.Facts.
func (c *Cluster) BundlesOf(hash string) []ownership.Bundle {
	var out []ownership.Bundle
	for _, d := range c.Claims.BySet(hash) {
		out = append(out, d.AsOwner())
	}
	return out
}

// Release implements ownership.Facts.
func (c *Cluster) Release(name string, bundle ownership.Bundle) ownership.Existence {
	last, own := c.State.Latest[name], name == bundle.Desired.Release()
	switch {
	case own && last != nil && last.Damaged != "":
		return ownership.NotDecided
	case own && last != nil && last.BundleID == bundle.Deployment[strings.LastIndexByte(bundle.Deployment, '/')+1:]:
		return ownership.Own
	case c.State.Releases[name] || own && last != nil:
		return ownership.Exists
	case own: // it is not installed yet
		return ownership.Own
	case c.ReleasesComplete:
		return ownership.Absent
	}
	return ownership.NotDecided
}

// SetsRead implements ownership.Facts.
func (c *Cluster) SetsRead() bool { return c.SetsComplete }
