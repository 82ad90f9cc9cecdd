// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Result is the result of an evaluation. It is immutable.
type Result struct {
	// Desired is the whole desired state, also out of scope.
	Desired *desired.State
	// Deployments are the bundle deployments in scope.
	Deployments []*BundleDeployment
	// Undesired are the live objects that have a hash and that no release desires.
	Undesired []Undesired
	// Copies are the copies of downstreamResources that the deployments in scope should have.
	Copies []Copy
	// Namespaces are the labels and annotations of the Namespaces for which a deployment states some, by name; nil if
	// those of a cluster were not read.
	Namespaces map[object.ClusterID]map[string]state.NamespaceMeta
	Tree       Tree
	Scope      Scope
	// Whole is true if everything is in scope. It is false if the scope is the files of one bundle.
	Whole bool
	// StatusOnly is true if only the status that Fleet reports was read.
	StatusOnly bool
	// FromRelease is true if the desired objects are those of the release records.
	FromRelease bool
	Source      source.Description
	// Clusters are the sources that were read in addition to Source.
	Clusters []ClusterSource
	Gaps     []source.Gap
	Notes    []string

	inScope map[object.DeploymentID]bool
}

// ClusterSource is the source of a cluster.
type ClusterSource struct {
	// Name is the name that the user gives the cluster.
	Name      string
	Source    source.Description
	ClusterID object.ClusterID
}

// Now is the time when the data was read; zero if it is not known.
func (r *Result) Now() time.Time { return r.Source.TakenAt }

// InOrder returns the evaluations of the bundle deployments in scope, in their order. One whose objects are not read
// has no evaluation.
func InOrder(scope []*desired.BundleDeployment, clusters []Evaluated) []*BundleDeployment {
	evaluated := map[object.DeploymentID]*BundleDeployment{}
	for _, c := range clusters {
		for _, d := range c.Deployments {
			evaluated[d.ID()] = d
		}
	}
	var out []*BundleDeployment
	for _, d := range scope {
		x := evaluated[d.ID()]
		if x == nil {
			x = &BundleDeployment{BundleDeployment: d, Evidence: d.Evidence()}
			x.State = stateOf(x)
		}
		out = append(out, x)
	}
	return out
}

// NewResult returns a result with its scope and its tree.
func NewResult(r Result) *Result {
	r.inScope = map[object.DeploymentID]bool{}
	for _, d := range r.Deployments {
		r.inScope[d.ID()] = true
	}
	r.Tree = newTree(r.Desired, r.Deployments, r.Includes)
	return &r
}

// WithGaps returns the result with more gaps.
func (r *Result) WithGaps(gaps []source.Gap) *Result {
	out := *r
	out.Gaps = slices.Concat(r.Gaps, gaps)
	return &out
}

// InScope reports whether a bundle deployment is in scope.
func (r *Result) InScope(id object.DeploymentID) bool { return r.inScope[id] }

// Includes reports whether one of Fleet's objects above the bundle deployments is itself in scope. The files of one
// bundle include none.
func (r *Result) Includes(kind string, o metav1.Object) bool {
	return r.Whole || !r.Scope.Whole() && r.Scope.Has(kind, o)
}

// Coverage counts the bundle deployments in scope by how far they could be evaluated.
type Coverage struct {
	// Evaluated have a result: the desired objects are known, and at least one live object could be read.
	Evaluated int
	// Unread are on a cluster that is read, but their desired objects or all their live objects could not be read.
	Unread int
	// Unplaced may be on such a cluster: it is not known where they are deployed.
	Unplaced int
	// OnOtherCluster are deployed to other clusters.
	OnOtherCluster int
}

// NoResultError is returned if bundle deployments exist and none of them has a result, unless all of them are on other
// clusters.
type NoResultError struct {
	Coverage
	// Reason is the reason of the first one, as for the state Unknown; Detail is a sentence.
	Reason, Detail string
}

// Error implements error.
func (e *NoResultError) Error() string {
	return fmt.Sprintf("no bundle deployment has a result (%d in scope): %s", e.Unread+e.Unplaced+e.OnOtherCluster,
		e.Detail)
}

// Coverage counts the bundle deployments in scope by how far they could be evaluated.
func (r *Result) Coverage() Coverage {
	var out Coverage
	for _, d := range r.Deployments {
		switch {
		case d.Problem == directory.ClusterNotRead && d.OnOtherCluster:
			out.OnOtherCluster++
		case d.Problem == directory.ClusterNotRead:
			out.Unplaced++
		case r.evaluated(d):
			out.Evaluated++
		default:
			out.Unread++
		}
	}
	return out
}

// NoResult returns a *NoResultError if bundle deployments should have a result and none has one.
func (r *Result) NoResult() error {
	n := r.Coverage()
	if n.Evaluated > 0 || n.Unread+n.Unplaced == 0 || r.StatusOnly {
		return nil
	}
	reason, detail := r.firstUnread()
	return &NoResultError{Coverage: n, Reason: reason, Detail: detail}
}

// HiddenDeployments says why there may be BundleDeployments in scope that were not read; empty if all were read.
func (r *Result) HiddenDeployments() string {
	kind := state.BundleDeployment
	cover := r.Desired.Needed(kind).Within(r.Desired.InWorkspace(kind, r.Scope.Namespace))
	for _, g := range source.CoverageGaps("listing "+kind+" objects", cover, "") {
		return g.What + ": " + g.Why()
	}
	return ""
}

// Undecided says what was not read and may hide a problem; it is empty if everything that decides was read. Bundle
// deployments on clusters that are not read are outside of the result.
func (r *Result) Undecided() string {
	for _, g := range r.Gaps {
		if !g.Optional {
			return g.What + ": " + g.Why()
		}
	}
	if r.StatusOnly {
		return ""
	}
	if n := r.Coverage(); n.Unread+n.Unplaced > 0 {
		_, detail := r.firstUnread()
		return detail
	}
	for _, d := range r.Deployments {
		for i := range d.Objects {
			if o := &d.Objects[i]; o.State == Unknown && o.Reason != Unconfirmed {
				return fmt.Sprintf("%s is Unknown: %s", o.Key(), o.Reason)
			}
		}
	}
	return ""
}

// evaluated reports whether a bundle deployment has a result. A bundle deployment that is not installed has a result
// if the desired objects are those of releases, and none if they are those of bundles.
func (r *Result) evaluated(d *BundleDeployment) bool {
	switch d.Problem {
	case "":
		return d.HasResult()
	case directory.NoReleaseRecord:
		return r.FromRelease
	}
	return false
}

// firstUnread returns why the first bundle deployment without a result has none, as a reason and as a sentence.
func (r *Result) firstUnread() (reason, detail string) {
	if NoRecordCaptured(r.Desired.Directory) {
		return string(directory.RecordNotCaptured), "no release record was captured"
	}
	for _, d := range r.Deployments {
		switch {
		case d.OnOtherCluster || r.evaluated(d):
		case d.Problem == directory.ClusterNotRead:
			return string(directory.RecordNotCaptured), "it could not be established which of them are on this cluster"
		case d.Problem != "":
			return string(d.Problem), d.Key() + ": " + d.Detail
		default:
			first := d.Objects[0]
			return first.Reason, strings.TrimSuffix(fmt.Sprintf("none of the objects of %s has a result: %s: %s",
				d.Key(), first.Reason, first.Message), ": ")
		}
	}
	return "", ""
}

// NoRecordCaptured reports whether the data consists of captures with Fleet's own objects alone, such as those of fleet
// dump: they name releases, but contain no release record.
func NoRecordCaptured(desired *directory.Directory) bool {
	for _, c := range desired.Clusters {
		if !c.State.Captured || len(c.State.Releases) > 0 {
			return false
		}
	}
	return len(desired.Clusters) > 0 && slices.ContainsFunc(desired.BundleDeployments,
		func(bd *v1alpha1.BundleDeployment) bool { return bd.Status.Release != "" })
}

// DesireUnknown returns the reason why a bundle that could not be read may desire an object that no known bundle
// desires; empty if all bundles are known. concerns reports whether a record of a namespace may concern the object.
func DesireUnknown(desired *desired.State, c *directory.Cluster, concerns func(namespace string) bool) string {
	if problem, detail := directory.RecordsProblem(c.State, ""); problem != "" {
		return "not every release record could be read: " + detail
	}
	for _, d := range desired.Deployments {
		switch {
		case d.Problem == "", d.Problem == directory.NoReleaseRecord && d.Release.Name == "", d.OnOtherCluster,
			d.Placed && !d.IsOn(c.ID), d.BD == nil && !concerns(d.Release.Namespace):
		case d.Problem == directory.ClusterNotRead:
			return "it could not be established on which cluster bundle deployment " + d.Key() + " is"
		default:
			return "the desired objects of bundle deployment " + d.Key() + " could not be read: " + d.Detail
		}
	}
	for _, u := range c.Unreadable {
		if concerns(u.Namespace) {
			return "release record " + u.Namespace + "/" + u.SecretName() + " could not be read"
		}
	}
	return ""
}
