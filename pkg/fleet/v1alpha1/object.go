// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Object is one of Fleet's own objects.
type Object interface {
	metav1.Object
	// Reported returns the status of the object, in the form that all kinds share.
	Reported() Reported
}

// Reported is the status of an object. A field that the kind does not have is nil or empty.
type Reported struct {
	State  string
	Counts *ResourceCounts
	// Summary counts BundleDeployments.
	Summary *Summary
	// AsOf is when Fleet last wrote the status (RFC 3339), if that is recorded.
	AsOf string
}

// Reported implements Object. A BundleDeployment has no summary.
func (d *BundleDeployment) Reported() Reported {
	return Reported{State: d.Status.Display.State, Counts: d.Status.ResourceCounts, AsOf: newest(d.Status.Conditions)}
}

// Reported implements Object.
func (b *Bundle) Reported() Reported { return b.Status.reported() }

// Reported implements Object.
func (r *GitRepo) Reported() Reported { return r.Status.reported() }

// Reported implements Object.
func (o *HelmOp) Reported() Reported { return o.Status.reported() }

// Reported implements Object. The status of a Cluster is as old as the last heartbeat of its agent.
func (c *Cluster) Reported() Reported {
	return Reported{State: c.Status.Display.State, Counts: &c.Status.ResourceCounts, Summary: &c.Status.Summary,
		AsOf: c.Status.Agent.LastSeen}
}

// Reported implements Object. A ClusterGroup always has counts: Fleet does not write zeros.
func (g *ClusterGroup) Reported() Reported {
	out := g.Status.reported()
	out.Counts = cmp.Or(out.Counts, &ResourceCounts{})
	return out
}

func (s *Status) reported() Reported {
	return Reported{State: s.Display.State, Counts: s.ResourceCounts, Summary: &s.Summary, AsOf: newest(s.Conditions)}
}
