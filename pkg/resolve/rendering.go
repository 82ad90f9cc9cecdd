// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// DesiredFrom is where the desired objects of a bundle deployment come from. The values are those of desiredFrom in the report.
type DesiredFrom string

// The sources; a bundle deployment whose desired objects are not known has none.
const (
	FromRelease DesiredFrom = "release"
	FromBundle  DesiredFrom = "bundle"
	FromFiles   DesiredFrom = "files"
)

// Rendering is what the bundle of a bundle deployment is rendered to.
type Rendering struct {
	// Cluster is the index of the cluster, and Key that of the bundle deployment on it. One that is not there is added, as from files.
	Cluster int
	Key     string
	// FileOptions are the options of a bundle that was taken from files; nil for one that is on the management cluster.
	FileOptions *v1alpha1.Options
	// CompetitorOnly says that the bundle deployment is not audited: it is only known which objects it desires.
	CompetitorOnly bool

	ReleaseName, ReleaseNamespace string
	Objects                       []release.Object
	// Secrets are those among the hooks, as JSON: what must not be shown.
	Secrets [][]byte
	// Unstable are the JSON pointers of fields that come out otherwise each time, by object as it was rendered. They are not compared.
	Unstable map[object.Ref][]string
	// RecordSize is about how many bytes the release record takes in its Secret, 0 where it is not known or far below the limit of a Secret.
	RecordSize int

	// Refused says why Fleet's agent would not deploy the bundle, OverLimit why it could not be rendered here; empty where it was rendered.
	Refused, OverLimit string
	// ClusterScoped are the cluster-scoped objects for which the agent would refuse it, under a targetNamespace.
	ClusterScoped []object.Ref
	// Unresolved is what could not be resolved while the bundle was rendered. With any, the desired objects may not be those of the agent.
	Unresolved []string
	// ValuesMissing name the texts with values that a deploy would look for and not find.
	ValuesMissing []string
	Notes         []string
}

// render replaces what bundle deployments desire by what their bundles were rendered to.
func (s *DesiredState) render(renderings []*Rendering) {
	for _, x := range renderings {
		c := s.Clusters[x.Cluster]
		i := slices.IndexFunc(s.Deployments, func(d *BundleDeployment) bool { return d.On == c && d.Key() == x.Key })
		if i < 0 {
			d := c.NewBundle(x.Key)
			if d.Scope.Evidence == "" {
				c.Notes = append(c.Notes, fmt.Sprintf("the set id of bundle %s is made without a scope: which agent would deploy it is not known", d.Name))
			}
			s.Deployments = append(s.Deployments, d)
			i = len(s.Deployments) - 1
		}
		s.Deployments[i].render(x)
	}
}

// NewBundle returns the bundle deployment of a bundle that the cluster does not have yet.
func (c *Cluster) NewBundle(name string) *BundleDeployment {
	scope := c.NewBundleScope()
	return &BundleDeployment{Name: name, On: c, Problem: NoReleaseRecord, Detail: "nothing is installed yet", Scope: scope,
		Ownership: ownership.Desired(fleet.SetID(name, scope.Scope), "", "")}
}

// render replaces what a bundle deployment desires. What its release record says of the objects stays known beside it.
func (d *BundleDeployment) render(x *Rendering) {
	d.Rendering = *x
	d.On.Secrets = append(d.On.Secrets, x.Secrets...)
	switch {
	case x.Refused != "":
		if d.Problem != "" {
			d.Detail = "its bundle cannot be rendered: " + x.Refused
		}
		return
	case x.OverLimit != "" && d.Problem != "":
		d.Detail = "what its bundle states is not known: " + x.OverLimit
	}
	if !x.CompetitorOnly { // of what is not audited nothing is said
		for _, n := range x.Notes {
			d.On.Notes = append(d.On.Notes, "bundle "+d.Name+": "+n)
		}
	}
	if len(x.Objects) == 0 && len(x.Unresolved) > 0 {
		if !x.CompetitorOnly && d.Problem == "" {
			// The release record does not stand in: what is asked for is what the bundle states. That the record claims its objects stays known.
			d.Problem, d.Detail = RecordsFailed, "what its bundle states is not known: "+x.Unresolved[0]
			d.From, d.claimed, d.Desired = "", d.Desired, nil
		}
		return
	}
	d.replace(x)
}

func (d *BundleDeployment) replace(x *Rendering) {
	d.Recorded = map[object.Key][]byte{}
	if d.Earlier == nil {
		d.Earlier = map[KindName]bool{}
	}
	for _, o := range d.Desired {
		d.Recorded[o.Key()] = o.Raw
		d.Earlier[KindName{o.Kind, o.Name}] = true // what the bundle no longer states is left over from the release
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
		if isSecret(o.Ref) {
			d.On.Secrets = append(d.On.Secrets, o.Raw)
		}
		for rendered, pointers := range x.Unstable {
			namespace := cmp.Or(rendered.Namespace, x.ReleaseNamespace)
			if rendered.GroupVersionKind() == o.GroupVersionKind() && rendered.Name == o.Name && (!o.Namespaced || namespace == o.Namespace) {
				o.Unstable = append(o.Unstable, pointers...) // stated twice, with its namespace and without, it is in both
			}
		}
	}
}

func isSecret(r object.Ref) bool { return r.Kind == "Secret" && object.Group(r.APIVersion) == "" }
