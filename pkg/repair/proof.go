// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// claim is what a step does because of a release record.
type claim interface {
	// of is the bundle deployment of the record; nil if the step does not depend on a record.
	of() *evaluate.BundleDeployment
	// follows reports whether the same follows from the bundle itself, as it was rendered.
	follows(rendered *evaluate.BundleDeployment) bool
}

// Unproven returns the bundle deployments of which items write or delete objects that only a release record shows,
// although who may write the record may not write the object: in another namespace, or cluster-scoped.
func Unproven(items []Item) map[object.DeploymentID]bool {
	out := map[object.DeploymentID]bool{}
	for i := range items {
		if c := items[i].unproven(); c != nil {
			out[c.of().ID()] = true
		}
	}
	return out
}

// unproven returns the claim of an item that only a release record shows; nil if it is proven.
func (i *Item) unproven() claim {
	c, ok := i.do.(claim)
	if !ok || c.of() == nil || !i.Writes() {
		return nil
	}
	namespace := c.of().Release.Namespace
	if ownership.Within(namespace, i.Key()) || c.of().RecordsTrusted {
		return nil
	}
	return c
}

// Prove refuses the items that only a release record shows, unless the same follows from the bundle itself, as it was
// rendered. rendered is nil if no bundle could be rendered.
func Prove(items []Item, rendered *evaluate.Result) {
	for n := range items {
		i := &items[n]
		c := i.unproven()
		if c == nil || proven(rendered, c) {
			continue
		}
		namespace := c.of().Release.Namespace
		i.refuse("only the release record in namespace " + namespace + " shows it, and who may write Secrets there " +
			"may have changed the record: the bundle itself could not be rendered, or says something else; " +
			ownership.TrustAdvice(namespace))
	}
}

func proven(rendered *evaluate.Result, c claim) bool {
	if rendered == nil {
		return false
	}
	for _, d := range rendered.Deployments {
		known := d.Problem == "" && d.From == desired.FromBundle && len(d.Uncertain()) == 0
		if d.ID() == c.of().ID() && known {
			return c.follows(d)
		}
	}
	return false
}

func (w *written) of() *evaluate.BundleDeployment { return w.deployment }

// follows implements claim: the bundle states the object without a difference.
func (w *written) follows(d *evaluate.BundleDeployment) bool {
	i := slices.IndexFunc(d.Objects, func(x evaluate.Object) bool { return x.Ref == w.object.Ref })
	if i < 0 {
		return false
	}
	recorded, err := w.deployment.Manifest(w.object)
	if err != nil {
		return false
	}
	bundle, err := d.Manifest(&d.Objects[i])
	if err != nil {
		return false
	}
	gvk := w.object.GroupVersionKind()
	return len(compare.Objects(recorded, bundle, gvk)) == 0 && len(compare.Objects(bundle, recorded, gvk)) == 0
}

func (r *removal) of() *evaluate.BundleDeployment { return r.orphanOf }

// follows implements claim: the bundle does not have the object.
func (r *removal) follows(d *evaluate.BundleDeployment) bool {
	return !slices.ContainsFunc(d.Objects, func(x evaluate.Object) bool { return x.Key() == r.key })
}
