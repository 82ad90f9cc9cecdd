// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
)

// Results counts the deployments in scope by what is known of their objects.
type Results struct {
	// Evaluated have a result: their objects were evaluated, or it is known that nothing is installed.
	Evaluated int
	// Unread are of this cluster, and their desired objects or all their live objects could not be read.
	Unread int
	// Unplaced may be of this cluster: nothing that could be read says where they are deployed.
	Unplaced int
	// Elsewhere are established to be of other clusters.
	Elsewhere int
}

// NoResultError is returned where deployments exist and none of them has a result, unless all of them are of other clusters.
type NoResultError struct {
	Results
	// Reason is that of the first one, as for the state Unknown; Detail says it in a sentence.
	Reason, Detail string
}

// Error implements error.
func (e *NoResultError) Error() string {
	return fmt.Sprintf("no bundle deployment has a result (%d in scope): %s", e.Unread+e.Unplaced+e.Elsewhere, e.Detail)
}

// Results counts what is known of the deployments in scope.
func (f *Found) Results() Results {
	var out Results
	for _, d := range f.Case.Deployments {
		switch {
		case d.Problem == inventory.ClusterNotRead && d.Elsewhere:
			out.Elsewhere++
		case d.Problem == inventory.ClusterNotRead:
			out.Unplaced++
		case f.run.evaluated(d):
			out.Evaluated++
		default:
			out.Unread++
		}
	}
	return out
}

// NoResult returns an error where no deployment has a result that should have one.
func (f *Found) NoResult() error {
	n := f.Results()
	if n.Evaluated > 0 || n.Unread+n.Unplaced == 0 || f.run.StatusOnly {
		return nil
	}
	reason, detail := f.why()
	return &NoResultError{Results: n, Reason: reason, Detail: detail}
}

// evaluated says whether a deployment has a result. One that is not installed has one by its release, and none by its bundle.
func (r *run) evaluated(d *check.Deployment) bool {
	switch d.Problem {
	case "":
		return d.Counts.Desired == 0 || d.Counts.Unknown < d.Counts.Desired
	case inventory.NoReleaseRecord:
		return r.Desired == "" || r.Desired == DesiredRelease
	}
	return false
}

// why names the first thing that kept a deployment from having a result, and its reason in a word.
func (f *Found) why() (reason, detail string) {
	if f.run.noRecordCaptured() {
		return string(inventory.RecordNotCaptured), "no release record was captured"
	}
	for _, d := range f.Case.Deployments {
		switch {
		case d.Elsewhere || f.run.evaluated(d):
		case d.Problem == inventory.ClusterNotRead:
			return string(inventory.RecordNotCaptured), "which of them this cluster has could not be established"
		case d.Problem != "":
			return string(d.Problem), d.Key() + ": " + d.Detail
		default:
			first := d.Objects[0]
			return first.Reason, strings.TrimSuffix(fmt.Sprintf("none of the objects of %s has a result: %s: %s", d.Key(), first.Reason, first.Message), ": ")
		}
	}
	return "", ""
}

// desireUnknown says why it cannot be known whether a bundle desires an object that no known bundle desires; "" where it can.
func (r *run) desireUnknown() string {
	if problem, detail := r.recordsProblem(""); problem != "" {
		return "not every release record could be read: " + detail
	}
	for _, d := range r.inv.Deployments {
		switch {
		case d.Problem == "", d.Problem == inventory.NoReleaseRecord && d.Release.Name == "", d.Elsewhere:
		case d.Problem == inventory.ClusterNotRead:
			return "it could not be established on which cluster bundle deployment " + d.Key() + " is"
		default:
			return "the desired objects of bundle deployment " + d.Key() + " could not be read: " + d.Detail
		}
	}
	if len(r.inv.Unreadable) > 0 {
		u := r.inv.Unreadable[0]
		return "release record " + u.Namespace + "/" + u.SecretName() + " could not be read"
	}
	return ""
}
