// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// render replaces the desired objects of bundle deployments by those of their rendered bundles, and returns notes for
// the reader.
func render(deployments []*BundleDeployment, renderings []*Rendering, in *directory.Directory) (notes []string) {
	byID := map[object.DeploymentID]*BundleDeployment{}
	for _, d := range deployments {
		byID[d.ID()] = d
	}
	for _, x := range renderings {
		if d := byID[x.Deployment]; d != nil {
			notes = append(notes, d.render(x, in.Cluster(d.ClusterID))...)
		}
	}
	return notes
}

// Unmasked reports whether the desired objects have values that a snapshot masks in live objects: they were rendered
// from files.
func (d *BundleDeployment) Unmasked() bool { return d.From != FromRelease && !d.Rendering.Masked }

// render replaces the desired objects of the bundle deployment, and returns notes for the reader. The objects of its
// release record are kept in Recorded.
func (d *BundleDeployment) render(x *Rendering, on *directory.Cluster) (notes []string) {
	d.Rendering = *x
	if d.BD == nil && d.Release.Name == "" && d.Scope.Evidence == "" {
		notes = append(notes, fmt.Sprintf("the set id of bundle %s is computed without a scope: "+
			"it is not known which agent would deploy it", d.Name))
	}
	switch {
	case x.Refused != "":
		return append(notes, d.refuse(x)...)
	case x.OverLimit != "" && d.Problem != "":
		d.Detail = "the desired objects of its bundle are not known: " + x.OverLimit
	}
	if !x.CompetitorOnly { // notes are only for audited bundles
		for _, n := range x.Notes {
			notes = append(notes, "bundle "+d.Name+": "+n)
		}
	}
	if len(x.Objects) > 0 || len(x.Unresolved) == 0 {
		d.replace(x, on.State.Namespaced)
		return notes
	}
	if !x.CompetitorOnly {
		d.unknown(x.Unresolved[0])
	}
	return notes
}

// unknown makes the desired objects unknown. The release record is not a substitute, because the bundle's own objects
// were requested. The record still claims its objects.
func (d *BundleDeployment) unknown(why string) {
	if d.Problem != "" {
		return
	}
	d.Problem, d.Detail = directory.RecordsFailed, "the desired objects of its bundle are not known: "+why
	d.From, d.claimed, d.Desired = "", d.Desired, nil
}

// refuse records that the bundle is not rendered, and returns notes for the reader. The objects of its release record
// are no substitute for those of files, because these were requested.
func (d *BundleDeployment) refuse(x *Rendering) (notes []string) {
	if d.Problem != "" {
		d.Detail = "its bundle cannot be rendered: " + x.Refused
	}
	if d.Files == nil {
		return nil
	}
	if d.Files.Refused+d.Files.NoTarget != "" {
		d.Detail = x.Refused
	}
	if to := d.Files.Elsewhere; len(to) > 0 {
		notes = append(notes, "bundle "+d.Name+": "+d.Files.NoTarget+"; it targets "+strings.Join(to, ", "))
	}
	d.unknown(x.Refused)
	return notes
}

func (d *BundleDeployment) replace(x *Rendering, namespaced namespaced) {
	d.Recorded = map[object.Key][]byte{}
	if d.Earlier == nil {
		d.Earlier = map[KindName]bool{}
	}
	for _, o := range d.Desired {
		d.Recorded[o.Key()] = o.Raw
		// an object that the bundle no longer has is left over from the release
		d.Earlier[KindName{o.Kind, o.Name}] = true
	}
	d.Removed = d.Desired
	d.From, d.Problem, d.Detail = FromBundle, "", ""
	if d.FromFiles() {
		d.From = FromFiles
	}
	if d.Release.Name == "" {
		d.Release = release.Name{Namespace: x.ReleaseNamespace, Name: x.ReleaseName}
	}
	d.Ownership = ownership.Desired(d.Ownership.SetID, x.ReleaseName, x.ReleaseNamespace)
	d.Desired, d.OtherVersions = d.distinct(x.ReleaseNamespace, x.Objects, namespaced)
	for _, o := range x.Replaced {
		d.Replaced = append(d.Replaced, newObject(o, x.ReleaseNamespace, namespaced))
	}
	for _, o := range d.Desired {
		for rendered, pointers := range x.Unstable {
			// An object that is in the manifest with and without its namespace has both entries.
			if o.renderedAs(rendered, x.ReleaseNamespace) {
				o.Unstable = append(o.Unstable, pointers...)
			}
		}
	}
}

// renderedAs reports whether the object is the one that was rendered with an identity. namespace is that of the
// release.
func (o *Object) renderedAs(rendered object.Ref, namespace string) bool {
	if rendered.GroupVersionKind() != o.GroupVersionKind() || rendered.Name != o.Name {
		return false
	}
	return !o.Namespaced || cmp.Or(rendered.Namespace, namespace) == o.Namespace
}
