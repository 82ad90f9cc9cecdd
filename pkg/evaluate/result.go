// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Result is all that is true of what is in scope. Nobody changes it.
type Result struct {
	// Desired is what is desired, in scope or not.
	Desired *resolve.DesiredState
	// Deployments are the bundle deployments in scope.
	Deployments []*BundleDeployment
	// Undesired are the live objects that have a hash and that no release desires.
	Undesired []Undesired
	Tree      Tree
	Scope     Scope
	// Whole says that everything is in scope. It is false where the files of one bundle are the scope.
	Whole bool
	// StatusOnly says that only the status that Fleet reports was read.
	StatusOnly bool
	// FromRelease says that the desired objects are those of the release records.
	FromRelease bool
	Source      source.Description
	Gaps        []source.Gap
	Notes       []string

	inScope map[*resolve.BundleDeployment]bool
}

// Now is when the data was read; zero where that is not known.
func (r *Result) Now() time.Time { return r.Source.TakenAt }

// Complete puts the clusters of a Result together with what belongs to none of them, and builds the tree.
func (r *Result) Complete(scope []*resolve.BundleDeployment, clusters []Evaluated) {
	byResolved := map[*resolve.BundleDeployment]*BundleDeployment{}
	for _, c := range clusters {
		for _, d := range c.Deployments {
			byResolved[d.BundleDeployment] = d
		}
		r.Undesired = append(r.Undesired, c.Undesired...)
		r.Gaps = append(r.Gaps, c.Gaps...)
	}
	r.inScope = map[*resolve.BundleDeployment]bool{}
	for _, d := range scope {
		x := byResolved[d]
		if x == nil { // its objects are not read
			x = &BundleDeployment{BundleDeployment: d}
			x.State = stateOf(x)
		}
		r.Deployments = append(r.Deployments, x)
		r.inScope[d] = true
	}
	r.Tree = newTree(r.Desired, r.Deployments, r.Whole)
}

// InScope says whether a bundle deployment is in scope.
func (r *Result) InScope(d *resolve.BundleDeployment) bool { return r.inScope[d] }

// Coverage counts the bundle deployments in scope by what is known of them.
type Coverage struct {
	// Evaluated have a result: the desired objects are known, and not all of the live ones are unread.
	Evaluated int
	// Unread are of a cluster that is read, and their desired objects or all their live objects could not be read.
	Unread int
	// Unplaced may be of such a cluster: nothing that could be read shows where they are deployed.
	Unplaced int
	// OnOtherCluster are established to be of other clusters.
	OnOtherCluster int
}

// NoResultError is returned where bundle deployments exist and none of them has a result, unless all of them are of other clusters.
type NoResultError struct {
	Coverage
	// Reason is that of the first one, as for the state Unknown; Detail says it in a sentence.
	Reason, Detail string
}

// Error implements error.
func (e *NoResultError) Error() string {
	return fmt.Sprintf("no bundle deployment has a result (%d in scope): %s", e.Unread+e.Unplaced+e.OnOtherCluster, e.Detail)
}

// Coverage counts what is known of the bundle deployments in scope.
func (r *Result) Coverage() Coverage {
	var out Coverage
	for _, d := range r.Deployments {
		switch {
		case d.Problem == resolve.ClusterNotRead && d.OnOtherCluster:
			out.OnOtherCluster++
		case d.Problem == resolve.ClusterNotRead:
			out.Unplaced++
		case r.evaluated(d):
			out.Evaluated++
		default:
			out.Unread++
		}
	}
	return out
}

// NoResult returns an error where no bundle deployment has a result that should have one.
func (r *Result) NoResult() error {
	n := r.Coverage()
	if n.Evaluated > 0 || n.Unread+n.Unplaced == 0 || r.StatusOnly {
		return nil
	}
	reason, detail := r.firstUnread()
	return &NoResultError{Coverage: n, Reason: reason, Detail: detail}
}

// evaluated says whether a bundle deployment has a result. One that is not installed has one by its release, and none by its bundle.
func (r *Result) evaluated(d *BundleDeployment) bool {
	switch d.Problem {
	case "":
		return d.Counts.Desired == 0 || d.Counts.Unknown < d.Counts.Desired
	case resolve.NoReleaseRecord:
		return r.FromRelease
	}
	return false
}

// firstUnread names the first thing that kept a bundle deployment from having a result, and its reason in a word.
func (r *Result) firstUnread() (reason, detail string) {
	if NoRecordCaptured(r.Desired) {
		return string(resolve.RecordNotCaptured), "no release record was captured"
	}
	for _, d := range r.Deployments {
		switch {
		case d.OnOtherCluster || r.evaluated(d):
		case d.Problem == resolve.ClusterNotRead:
			return string(resolve.RecordNotCaptured), "which of them this cluster has could not be established"
		case d.Problem != "":
			return string(d.Problem), d.Key() + ": " + d.Detail
		default:
			first := d.Objects[0]
			return first.Reason, strings.TrimSuffix(fmt.Sprintf("none of the objects of %s has a result: %s: %s", d.Key(), first.Reason, first.Message), ": ")
		}
	}
	return "", ""
}

// NoRecordCaptured says whether all that was read are captures of Fleet's own objects alone, such as fleet dump makes: they name releases, and
// there is no record of any.
func NoRecordCaptured(desired *resolve.DesiredState) bool {
	for _, c := range desired.Clusters {
		if !c.State.Captured || len(c.Releases) > 0 {
			return false
		}
	}
	return len(desired.Clusters) > 0 && slices.ContainsFunc(desired.BundleDeployments, func(bd *v1alpha1.BundleDeployment) bool { return bd.Status.Release != "" })
}

// DesireUnknown says why it is not known whether a bundle desires an object that no known bundle desires; empty where it is.
func DesireUnknown(desired *resolve.DesiredState, c *resolve.Cluster) string {
	if problem, detail := resolve.RecordsProblem(c.State, ""); problem != "" {
		return "not every release record could be read: " + detail
	}
	for _, d := range desired.Deployments {
		switch {
		case d.Problem == "", d.Problem == resolve.NoReleaseRecord && d.Release.Name == "", d.OnOtherCluster, d.On != nil && d.On != c:
		case d.Problem == resolve.ClusterNotRead:
			return "it could not be established on which cluster bundle deployment " + d.Key() + " is"
		default:
			return "the desired objects of bundle deployment " + d.Key() + " could not be read: " + d.Detail
		}
	}
	if len(c.Unreadable) > 0 {
		u := c.Unreadable[0]
		return "release record " + u.Namespace + "/" + u.SecretName() + " could not be read"
	}
	return ""
}
