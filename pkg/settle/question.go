// SPDX-License-Identifier: Apache-2.0

package settle

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Question asks whether an object still is as it was when it was first read.
type Question struct {
	// Cluster is the cluster of the object; empty for the source itself.
	Cluster object.ClusterID
	Ref     object.Ref
	// Type is the type of a Secret. A Secret of another type counts as absent.
	Type   string
	Aspect Aspect
	// Was is what the Aspect showed when the object was first read; empty if the object did not exist.
	Was string
}

// holds reports whether what the Aspect shows now is what it showed. A release record of which the label with the
// status is missing, for example one restored from a backup, does not contradict a status.
func (q Question) holds(now string) bool {
	return now == q.Was || q.Aspect == ReleaseStatus && now == statusOf("")
}

// Same asks whether an object is as it was.
func (a Aspect) Same(ref object.Ref, o metav1.Object) Question {
	return Question{Ref: ref, Aspect: a, Was: a.Of(o)}
}

// Exists asks whether an object that existed still exists, Absent whether one that did not exist still does not.
func Exists(ref object.Ref) Question { return Question{Ref: ref, Aspect: Presence, Was: present} }

// Absent asks whether an object that did not exist still does not exist.
func Absent(ref object.Ref) Question { return Question{Ref: ref, Aspect: Identity} }

// Recorded asks whether a revision of a release still has its record.
func Recorded(cluster object.ClusterID, revision release.Name) Question {
	record := object.Ref{APIVersion: "v1", Kind: "Secret", Namespace: revision.Namespace, Name: revision.SecretName()}
	q := Exists(record)
	q.Cluster, q.Type = cluster, release.SecretType
	return q
}

// Newest asks whether a revision of a release still is the newest one and has the same status, which is empty if it is
// not known.
func Newest(cluster object.ClusterID, revision release.Name, status string) []Question {
	same := Recorded(cluster, revision)
	if status != "" {
		same.Aspect, same.Was = ReleaseStatus, statusOf(status)
	}
	revision.Revision++
	next := Recorded(cluster, revision)
	next.Was = ""
	return []Question{same, next}
}
