// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// OnCluster is what is desired on one cluster.
type OnCluster struct {
	*directory.Cluster
	deployments map[object.DeploymentID]*BundleDeployment
	claims      *Claims[*Object, *BundleDeployment]
	evidence    map[object.DeploymentID]ownership.Evidence
}

// Deployment returns a bundle deployment; nil if it does not exist.
func (c OnCluster) Deployment(id object.DeploymentID) *BundleDeployment { return c.deployments[id] }

// Of returns the desired objects with an identity, ordered by bundle deployment, also those of release records that are
// not confirmed.
func (c OnCluster) Of(key object.Key) []*Object {
	return c.claims.Of(object.ID{Cluster: c.ID, Key: key})
}

// Confirmed returns the desired objects with an identity, without those of release records that are not confirmed. An
// object that several bundle deployments desire is contested.
func (c OnCluster) Confirmed(key object.Key) []*Object {
	return slices.DeleteFunc(slices.Clone(c.Of(key)), func(o *Object) bool {
		return !c.evidenceOf(c.Deployment(o.Deployment)).Confirms(key)
	})
}

// evidenceOf returns the evidence for the record of a bundle deployment. That of live objects is known if the bundle
// deployment was evaluated.
func (c OnCluster) evidenceOf(d *BundleDeployment) ownership.Evidence {
	if e, evaluated := c.evidence[d.ID()]; evaluated {
		return e
	}
	return d.Evidence()
}

// BySet returns the bundle deployments that have the set of a hash. Several share a hash if two agents without a scope
// deploy bundles of the same name. All bundles whose name begins with fleet-agent share one.
func (c OnCluster) BySet(hash string) []*BundleDeployment {
	return c.claims.BySet(Set{Cluster: c.ID, Hash: hash})
}

// MayHave returns the bundle deployments with the set of a hash that may have an undesired object with that set. The
// release record of any other does not count for the object.
func (c OnCluster) MayHave(hash string, key object.Key, have ownership.Metadata) []*BundleDeployment {
	return slices.DeleteFunc(slices.Clone(c.BySet(hash)), func(d *BundleDeployment) bool {
		return !c.evidenceOf(d).Confirms(key) && d.Release.Release() != have.Release()
	})
}

// Kinds returns the kinds of all desired objects, in no order.
func (c OnCluster) Kinds() map[schema.GroupKind]bool { return c.claims.Kinds(c.ID) }

// Owners finds the other owners of an object that d desires and that has this ownership metadata.
func (c OnCluster) Owners(d *directory.Deployment, key object.Key, have ownership.Metadata) ownership.Result {
	claim := ownership.Claim{Object: key, Have: have, Bundle: d.AsOwner()}
	for _, o := range c.Confirmed(key) {
		if o.Deployment != d.ID() {
			claim.DesiredBy = append(claim.DesiredBy, c.Deployment(o.Deployment).AsOwner())
		}
	}
	return ownership.Evaluate(c, claim)
}

// OwnerOf finds the bundle deployment of this cluster that has the set in the metadata. It returns nil if there is
// none, or if several share the set and the Helm annotations do not name the release of one of them.
func (c OnCluster) OwnerOf(m ownership.Metadata) *BundleDeployment {
	owners := ownership.BundlesOf(c, m)
	if len(owners) != 1 {
		return nil
	}
	for _, d := range c.BySet(owners[0].Desired.Hash) {
		if d.AsOwner() == owners[0] {
			return d
		}
	}
	return nil
}

// BundlesOf implements ownership.Facts.
func (c OnCluster) BundlesOf(hash string) []ownership.Bundle {
	var out []ownership.Bundle
	for _, d := range c.BySet(hash) {
		out = append(out, d.AsOwner())
	}
	return out
}

// Release implements ownership.Facts.
func (c OnCluster) Release(name string, bundle ownership.Bundle) ownership.Existence {
	last, own := c.State.Latest[name], name == bundle.Desired.Release()
	if own && last != nil {
		bundleID := bundle.Deployment[strings.LastIndexByte(bundle.Deployment, '/')+1:]
		switch {
		case last.Damaged != "":
			return ownership.NotDecided
		case last.BundleID == bundleID:
			return ownership.Own
		}
		return ownership.Exists
	}
	switch {
	case c.State.Releases[name]:
		return ownership.Exists
	case own: // it is not installed yet
		return ownership.Own
	case c.ReleasesComplete:
		return ownership.Absent
	}
	return ownership.NotDecided
}

// SetsKnown implements ownership.Facts.
func (c OnCluster) SetsKnown(k object.Key) bool { return c.SetsKnownIn(k.Namespace) }
