// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// StatusKind is the kind of the printed document.
const StatusKind = "AuditorStatus"

// Status is the document that `auditor status` prints. Its checks are installed, release, deployment, replica (one for
// each running pod) and leader.
type Status struct {
	install.Status `json:",inline"`
	// Leader is the pod that leads, absent if none or several say so.
	Leader string `json:"leader,omitempty"`
	// Replicas are the running pods, ordered by name.
	Replicas []Replica `json:"replicas"`
}

// Evaluate makes the status of an installation. It is pure. Data that could not be read are Unknown. Each problem has a
// remedy in its details.
func Evaluate(f *Facts) *Status {
	s := &Status{Status: install.NewStatus(&f.Facts, Chart, StatusKind, "the auditor"), Replicas: []Replica{}}
	if !s.Installed {
		return s
	}
	s.Replicas = append(s.Replicas, f.Replicas...)
	slices.SortFunc(s.Replicas, func(a, b Replica) int { return strings.Compare(a.Pod, b.Pod) })
	switch {
	case f.ReplicasReason != "":
		s.Add("replica", install.Unknown, "the pods could not be read: "+f.ReplicasReason)
	case len(s.Replicas) == 0:
		s.Add("replica", install.Unknown, "no pod is running, so there are no metrics")
	}
	for _, r := range s.Replicas {
		s.checkReplica(r, f.TakenAt)
	}
	s.checkLeader()
	return s
}

// checkReplica checks what the metrics of a replica say.
func (s *Status) checkReplica(r Replica, now time.Time) {
	evaluated, err := time.Parse(time.RFC3339, r.LastEvaluation)
	isIncomplete := r.Synced == nil || r.Gaps == nil
	text := r.Pod + ": " + r.Version
	switch {
	case r.Reason != "":
		s.Add("replica", install.Unknown, r.Pod+": its metrics could not be read: "+r.Reason, "It requires get on "+
			"pods/proxy, and a NetworkPolicy that lets the API server reach port 8080.")
	case !ptr.Deref(r.Synced, true):
		s.Add("replica", install.Wrong, text+", not synced: until then, it reports nothing",
			"To see why: kubectl logs -n "+s.Namespace+" "+r.Pod)
	case isIncomplete:
		s.Add("replica", install.Unknown, text+", the metrics do not say whether it has read everything")
	case *r.Gaps > 0:
		s.Add("replica", install.Unknown, text+", "+install.Count(*r.Gaps, "gap")+": parts of the result are unknown",
			"`audit` with the rights of the auditor lists them. The rights of the chart, which are those in readRules "+
				"if that is set, are granted by "+s.Remedy("auditor install")+".")
	case err != nil:
		s.Add("replica", install.Unknown, text+", synced, has not reported an evaluation")
	default:
		s.Add("replica", install.OK, text+", synced, has read everything, evaluated "+
			duration.HumanDuration(now.Sub(evaluated))+" ago")
	}
}

// checkLeader checks that exactly one replica says that it leads.
func (s *Status) checkLeader() {
	var leaders []string
	isPartial := len(s.Replicas) == 0
	for _, r := range s.Replicas {
		isPartial = isPartial || r.Leader == nil
		if ptr.Deref(r.Leader, false) {
			leaders = append(leaders, r.Pod)
		}
	}
	logs := "The log has the reason: kubectl logs -n " + s.Namespace + " -l " + Chart.Selector()
	switch {
	case len(leaders) > 1:
		s.Add("leader", install.Wrong, "several replicas lead: "+strings.Join(leaders, ", "), logs)
	case len(leaders) == 1:
		s.Leader = leaders[0]
		s.Add("leader", install.OK, s.Leader+" leads")
	case isPartial:
		s.Add("leader", install.Unknown, "the metrics do not say which replica leads")
	default:
		s.Add("leader", install.Wrong, "no replica leads: no Events, reports and journal are written", logs)
	}
}
