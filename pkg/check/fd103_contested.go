// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// contested reports each object once, even if several bundles in scope desire it.
func (in *Input) contested(out *found, c *directory.Cluster) {
	type desired struct {
		by *evaluate.BundleDeployment
		o  *evaluate.Object
	}
	last := map[object.Key]desired{}
	for d, o := range in.Facts.ObjectsOn(c) {
		if o.Reason == evaluate.Unconfirmed {
			continue
		}
		if len(in.Result.Desired.On(c.ID).Confirmed(o.Key())) > 1 {
			last[o.Key()] = desired{d, o}
		}
	}
	for _, x := range last {
		out.report(in.contestedObject(x.by, x.o), remedy.Advise("remove it from all bundles but one"))
	}
}

func (in *Input) contestedObject(d *evaluate.BundleDeployment, o *evaluate.Object) Finding {
	on := in.Result.Desired.On(d.ClusterID)
	desired := on.Confirmed(o.Key())
	names := make([]string, len(desired))
	for i, other := range desired {
		names[i] = other.Deployment.String()
	}
	owned := "it has no owner now"
	switch o.State {
	case evaluate.Unknown:
		owned = "its present owner could not be read"
	case evaluate.Missing:
	case evaluate.Unowned:
		r := on.Owners(&d.Deployment, o.Key(), o.Metadata)
		if i := slices.IndexFunc(r.Owners, func(owner ownership.Owner) bool {
			return owner.Situation != ownership.Contested && (owner.Exists() || r.Class == ownership.ForeignOwner)
		}); i >= 0 {
			owned = "it " + r.Owners[i].Describe()
		}
	default:
		owned = d.Key() + " owns it now"
	}
	return Finding{
		Object: o.Ref, Cluster: d.Cluster,
		Follows: []Origin{{Code: codes.Unowned, Cluster: d.Cluster, Object: o.Ref}},
		Message: fmt.Sprintf("%s is desired by %s; %s", o.Key(), strings.Join(names, " and "), owned),
	}
}
