// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// notReadyStates are the states that this finding counts, the worst one first. FD604 reports what is not applied.
var notReadyStates = []fleet.BundleState{fleet.Modified, fleet.NotReady}

func (in *pass) reportedNotReady(a *evaluate.Aggregate) {
	of := map[fleet.BundleState][]*evaluate.BundleDeployment{}
	next := remedy.Advise("audit the clusters too, each alone or together with the management cluster, with the " +
		"right to read release records")
	for _, d := range a.BundleDeployments {
		if d.BD == nil || facts.Deleting(d.BD) || !in.onlyReported(d) {
			continue
		}
		s := fleet.ReportedState(d.BD)
		if !a.InScope && slices.Contains(notReadyStates, s) {
			f := onDeployment(d, "Fleet reports %s as %s, and its objects were not read", d.Key(), s)
			f.Message += in.SaidOf(&d.Deployment, "Ready")
			in.report(f, next)
			continue
		}
		of[s] = append(of[s], d)
	}
	var states, clusters []string
	f := Finding{Object: facts.RefOf(a), AsOf: a.Object.Reported().AsOf}
	for _, s := range notReadyStates {
		if all := of[s]; len(all) > 0 {
			states = append(states, fmt.Sprintf("%d as %s", len(all), s))
			if said := in.SaidOf(&all[0].Deployment, "Ready"); said != "" {
				f.say("%s%s", all[0].ClusterKey(), said)
			}
		}
		for _, d := range of[s] {
			clusters = append(clusters, d.ClusterKey())
		}
	}
	if len(states) == 0 || !a.InScope {
		return
	}
	slices.Sort(clusters)
	f.Message = fmt.Sprintf("of bundle %s, whose objects were not read, Fleet reports %s: %s", a.Key(),
		strings.Join(states, " and "), facts.List(clusters))
	in.report(f, next)
}

// SaysNotReady reports whether findings of a code say that Fleet does not report everything as ready and applied.
func SaysNotReady(code string) bool {
	return slices.Contains([]string{"FD604", CodeNotProcessed, "FD611"}, code)
}

// onlyReported reports whether only the status of a bundle deployment is known.
func (in *Input) onlyReported(d *evaluate.BundleDeployment) bool {
	return in.StatusOnly || d.Problem == directory.ClusterNotRead || d.Problem == directory.RecordsForbidden
}
