// SPDX-License-Identifier: Apache-2.0

package view

import (
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Outdated returns a copy of the view for a later time, at which no state is known: since a time, it may lack changes.
// The bundle deployments and Fleet's objects stay, so that they are not taken for gone.
func (v *View) Outdated(at, since time.Time) *View {
	out := &View{At: at, OutdatedSince: since, Fleet: v.Fleet, FleetRead: map[string]bool{},
		RecordsRead: map[object.ClusterID]bool{}, Coverage: evaluate.Coverage{Unread: len(v.Deployments)},
		Gaps: []report.Gap{{What: "following the changes of the cluster", Reason: string(directory.RecordsFailed),
			Detail: "what changed since " + since.UTC().Format(time.RFC3339) + " is not known",
			Effect: "all states are Unknown"}}}
	for _, d := range v.Deployments {
		out.Deployments = append(out.Deployments, &Deployment{ID: d.ID, Namespace: d.Namespace, Name: d.Name,
			Cluster: d.Cluster, Bundle: d.Bundle, GitRepo: d.GitRepo, HelmOp: d.HelmOp, State: report.Unknown,
			Reason: string(directory.RecordsFailed), Release: d.Release, Revision: d.Revision, Commit: d.Commit})
	}
	return out
}
