// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// DesiredFrom is the source of the desired objects of a bundle deployment. The values are those of desiredFrom in the report.
type DesiredFrom string

// The sources; empty if the desired objects are not known.
const (
	FromRelease DesiredFrom = "release"
	FromBundle  DesiredFrom = "bundle"
	FromFiles   DesiredFrom = "files"
)

// Rendering is the result of rendering the bundle of a bundle deployment.
type Rendering struct {
	// Cluster is the index of the cluster, and Key is the key of the bundle deployment on it. A bundle deployment that does not exist, such as one
	// from files, is added.
	Cluster int
	Key     string
	// FileOptions are the options of a bundle from files; nil for a bundle of the management cluster.
	FileOptions *v1alpha1.Options
	// Directory has what a bundle from files states beside its options; nil for a bundle of the management cluster.
	Directory *Directory
	// Masked is true if it is the result that a snapshot recorded, in which values are masked as in live objects.
	Masked bool
	// CompetitorOnly is true if the bundle deployment is not audited: only the identities of its desired objects matter.
	CompetitorOnly bool

	ReleaseName, ReleaseNamespace string
	Objects                       []release.Object
	// Secrets are the Secrets among the hooks, as JSON: their values must not be shown.
	Secrets [][]byte
	// Unstable are the JSON pointers of fields that differ each time, by rendered object. They are not compared.
	Unstable map[object.Ref][]string
	// RecordSize is the approximate size of the release record in its Secret, in bytes; 0 if it is not known or far below the limit of a Secret.
	RecordSize int

	// Refused is the reason why Fleet's agent would not deploy the bundle. OverLimit is the reason why it could not be rendered here. Both are empty if
	// it was rendered.
	Refused, OverLimit string
	// ContentDamage is what is wrong with the Content of the bundle; empty if nothing is, or if it was not read.
	ContentDamage string
	// ClusterScoped are the cluster-scoped objects because of which the agent would refuse a bundle with a targetNamespace.
	ClusterScoped []object.Ref
	// Unresolved are the inputs that could not be resolved. If there are any, the agent may render other objects.
	Unresolved []string
	// ValuesMissing are the names of the values sources that a deploy would not find.
	ValuesMissing []string
	Notes         []string
	// Gaps are the same for the report, with their effects.
	Gaps []source.Gap
}

// Directory is a bundle from files on one cluster, before it is rendered.
type Directory struct {
	// Workspace is the namespace of its Bundle; empty if it is not known. Labels are those of the Bundle.
	Workspace string
	Labels    map[string]string
	DependsOn []v1alpha1.BundleRef
	// Refused is why fleet apply refuses the directory, in its words. NoTarget is why Fleet does not deploy the bundle
	// to the cluster. They are empty if it does, or if that is not known.
	Refused, NoTarget string
	// Elsewhere are the clusters ("namespace/name") that the bundle targets if there is a NoTarget.
	Elsewhere []string
}

// render replaces the desired objects of bundle deployments by those of their rendered bundles.
func (s *DesiredState) render(renderings []*Rendering) {
	for _, x := range renderings {
		c := s.Clusters[x.Cluster]
		i := slices.IndexFunc(s.Deployments, func(d *BundleDeployment) bool { return d.On == c && d.Key() == x.Key })
		if i < 0 {
			d := c.NewBundle(x.Key)
			if d.Scope.Evidence == "" {
				c.Notes = append(c.Notes, fmt.Sprintf("the set id of bundle %s is computed without a scope: it is not known which agent would deploy it", d.Name))
			}
			s.Deployments = append(s.Deployments, d)
			i = len(s.Deployments) - 1
		}
		s.Deployments[i].render(x)
	}
}

// Unmasked reports whether the desired objects have values that a snapshot masks in live objects: they were rendered from
// files.
func (d *BundleDeployment) Unmasked() bool { return d.From != FromRelease && !d.Rendering.Masked }

// NewBundle returns the bundle deployment of a bundle that the cluster does not have yet.
func (c *Cluster) NewBundle(name string) *BundleDeployment {
	scope := c.NewBundleScope()
	return &BundleDeployment{Name: name, On: c, Problem: NoReleaseRecord, Detail: "nothing is installed yet", Scope: scope,
		Ownership: ownership.Desired(fleet.SetID(name, scope.Scope), "", "")}
}

// render replaces the desired objects of the bundle deployment. The objects of its release record are kept in Recorded.
func (d *BundleDeployment) render(x *Rendering) {
	d.Rendering = *x
	d.On.secrets = append(d.On.secrets, x.Secrets...)
	switch {
	case x.Refused != "":
		d.refuse(x)
		return
	case x.OverLimit != "" && d.Problem != "":
		d.Detail = "the desired objects of its bundle are not known: " + x.OverLimit
	}
	if !x.CompetitorOnly { // notes are only for audited bundles
		for _, n := range x.Notes {
			d.On.Notes = append(d.On.Notes, "bundle "+d.Name+": "+n)
		}
	}
	if len(x.Objects) == 0 && len(x.Unresolved) > 0 {
		if !x.CompetitorOnly && d.Problem == "" {
			// The release record is not a substitute, because the bundle's own objects were requested. The record still claims its objects.
			d.Problem, d.Detail = RecordsFailed, "the desired objects of its bundle are not known: "+x.Unresolved[0]
			d.From, d.claimed, d.Desired = "", d.Desired, nil
		}
		return
	}
	d.replace(x)
}

// refuse records that the bundle is not rendered. The objects of its release record are no substitute for those of
// files, because these were requested.
func (d *BundleDeployment) refuse(x *Rendering) {
	if d.Problem != "" {
		d.Detail = "its bundle cannot be rendered: " + x.Refused
	}
	if x.Directory == nil {
		return
	}
	if x.Directory.Refused+x.Directory.NoTarget != "" {
		d.Detail = x.Refused
	}
	if to := x.Directory.Elsewhere; len(to) > 0 {
		d.On.Notes = append(d.On.Notes, "bundle "+d.Name+": "+x.Directory.NoTarget+"; it targets "+strings.Join(to, ", "))
	}
	if d.Problem == "" {
		d.Problem, d.Detail = RecordsFailed, "the desired objects of its bundle are not known: "+x.Refused
		d.From, d.claimed, d.Desired = "", d.Desired, nil
	}
}

func (d *BundleDeployment) replace(x *Rendering) {
	d.Recorded = map[object.Key][]byte{}
	if d.Earlier == nil {
		d.Earlier = map[KindName]bool{}
	}
	for _, o := range d.Desired {
		d.Recorded[o.Key()] = o.Raw
		d.Earlier[KindName{o.Kind, o.Name}] = true // an object that the bundle no longer has is left over from the release
	}
	d.Removed = d.Desired
	d.From, d.Problem, d.Detail = FromBundle, "", ""
	if x.FileOptions != nil {
		d.From = FromFiles
	}
	if d.Release.Name == "" {
		d.Release = release.Name{Namespace: x.ReleaseNamespace, Name: x.ReleaseName}
	}
	d.Ownership = ownership.Desired(d.Ownership.SetID, x.ReleaseName, x.ReleaseNamespace)
	d.Desired = distinct(d, x.ReleaseNamespace, x.Objects, d.On.State.Namespaced)
	for _, o := range d.Desired {
		if o.IsSecret() {
			d.On.secrets = append(d.On.secrets, o.Raw)
		}
		for rendered, pointers := range x.Unstable {
			namespace := cmp.Or(rendered.Namespace, x.ReleaseNamespace)
			if rendered.GroupVersionKind() == o.GroupVersionKind() && rendered.Name == o.Name && (!o.Namespaced || namespace == o.Namespace) {
				o.Unstable = append(o.Unstable, pointers...) // an object that is in the manifest with and without its namespace has both entries
			}
		}
	}
}
