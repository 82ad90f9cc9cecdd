// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// DesiredFrom is where the desired objects of a deployment come from. The values are those of desiredFrom in the report.
type DesiredFrom string

// The origins; a deployment whose desired objects are not known has none.
const (
	FromRelease DesiredFrom = "release"
	FromBundle  DesiredFrom = "bundle"
	FromFiles   DesiredFrom = "files"
)

// Rendering is what a deployment's bundle comes to, by its contents and not by its release record.
type Rendering struct {
	From                          DesiredFrom
	ReleaseName, ReleaseNamespace string
	Objects                       []release.Object
	// Unstable are the JSON pointers of fields that come out otherwise each time, by object as it was rendered. They are not compared.
	Unstable map[object.Ref][]string
	// RecordSize is about how many bytes the release record takes in its Secret, 0 where it is not known or far below the limit of a Secret.
	RecordSize int
}

// Render replaces what a deployment desires. What its release record says of the objects stays known beside it. It is called before a live
// object is read, for one deployment at a time.
func (inv *Inventory) Render(d *Deployment, r Rendering) {
	d.Recorded = map[object.Key][]byte{}
	if d.Earlier == nil {
		d.Earlier = map[KindName]bool{}
	}
	for _, w := range d.Desired {
		d.Recorded[w.Key()] = w.Raw
		d.Earlier[KindName{w.Kind, w.Name}] = true // what the bundle states no more is left over from the release
		others := slices.DeleteFunc(inv.Wants[w.Key()], func(other *Want) bool { return other == w })
		if inv.Wants[w.Key()] = others; len(others) == 0 {
			delete(inv.Wants, w.Key())
		}
	}
	d.Dropped = d.Desired
	d.From, d.Problem, d.Detail, d.RecordSize = r.From, "", "", r.RecordSize
	if d.Release.Name == "" {
		d.Release = release.Name{Namespace: r.ReleaseNamespace, Name: r.ReleaseName}
	}
	d.Ownership = ownership.Desired(d.Ownership.SetID, r.ReleaseName, r.ReleaseNamespace)
	d.Desired = distinct(d, r.ReleaseNamespace, r.Objects, inv.namespaced)
	for _, w := range d.Desired {
		inv.Wants[w.Key()] = append(inv.Wants[w.Key()], w)
		if isSecret(w.Ref) {
			inv.Secrets = append(inv.Secrets, w.Raw)
		}
		for rendered, pointers := range r.Unstable {
			namespace := cmp.Or(rendered.Namespace, r.ReleaseNamespace)
			if rendered.GroupVersionKind() == w.GroupVersionKind() && rendered.Name == w.Name && (!w.Namespaced || namespace == w.Namespace) {
				w.Unstable = append(w.Unstable, pointers...) // stated twice, with its namespace and without, it is in both
			}
		}
	}
}

// Keep says whether the manifest states that Helm is to leave the object where it is, whatever becomes of the release.
func (w *Want) Keep() bool {
	m, err := object.ReadMeta(w.Raw)
	return err == nil && m.Metadata.Annotations[fleet.ResourcePolicyAnnotation] == "keep"
}

// Add adds a deployment of which this cluster knows nothing yet.
func (inv *Inventory) Add(d *Deployment) {
	inv.Deployments = append(inv.Deployments, d)
	inv.addSet(d)
}

func isSecret(r object.Ref) bool { return r.Kind == "Secret" && object.Group(r.APIVersion) == "" }
