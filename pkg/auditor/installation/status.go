// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// installCommand corrects an installation, unless Fleet deployed it.
const installCommand = "auditor install"

// Evaluate makes the status of an installation. It is pure. Data that could not be read are Unknown. Each problem has a
// remedy in its details.
func Evaluate(f *Facts) *Status {
	s := &Status{Status: install.NewStatus(&f.Facts, Chart, StatusKind, "the auditor", f.Deployment(Chart)),
		Replicas: []Replica{}}
	if !s.IsFound() {
		return s
	}
	s.Replicas = append(s.Replicas, f.Replicas...)
	slices.SortFunc(s.Replicas, func(a, b Replica) int { return strings.Compare(a.Pod, b.Pod) })
	s.CheckDeployment(Chart, f.Deployment(Chart), "To see why: kubectl describe pods -n "+f.Namespace+" -l "+
		Chart.Selector())
	s.metrics(f)
	s.leader(f)
	s.synced(f)
	s.evaluation(f)
	s.coverage()
	s.version()
	s.rights(f)
	s.CheckManifests(&f.Facts, installCommand)
	return s
}

// read are the replicas whose metrics were read.
func (s *Status) read() []Replica {
	return slices.DeleteFunc(slices.Clone(s.Replicas), func(r Replica) bool { return r.Reason != "" })
}

func (s *Status) metrics(f *Facts) {
	read := len(s.read())
	switch {
	case f.ReplicasReason != "":
		s.Add("metrics", install.Unknown, "the pods could not be read: "+f.ReplicasReason)
	case len(s.Replicas) == 0:
		s.Add("metrics", install.Unknown, "no pod is running, so there are no metrics")
	case read < len(s.Replicas):
		details := []string{"It requires get on pods/proxy, and a NetworkPolicy that lets the API server reach port " +
			"8080."}
		for _, r := range s.Replicas {
			if r.Reason != "" {
				details = append(details, r.Pod+": "+r.Reason)
			}
		}
		s.Add("metrics", install.Unknown, fmt.Sprintf("read from %d of %s", read,
			install.Count(len(s.Replicas), "pod")), details...)
	default:
		s.Add("metrics", install.OK, "read from "+install.Count(read, "pod"))
	}
}

// leader checks the Lease, and that the leader knows that it leads.
func (s *Status) leader(f *Facts) {
	if f.Lease.Reason != "" {
		s.Add("leader", install.Unknown, "Lease "+Name+" could not be read: "+f.Lease.Reason)
		return
	}
	lease := install.Decode[coordinationv1.Lease](f.Lease.Object).Spec
	holder := ptr.Deref(lease.HolderIdentity, "")
	logs := "Its log has the reason: kubectl logs -n " + f.Namespace + " -l " + Chart.Selector()
	if holder == "" || lease.RenewTime == nil {
		s.Add("leader", install.Wrong, "no replica leads: no Events, reports and journal are written", logs)
		return
	}
	age := f.TakenAt.Sub(lease.RenewTime.Time)
	if limit := time.Duration(ptr.Deref(lease.LeaseDurationSeconds, 0)) * time.Second; age > limit {
		s.Add("leader", install.Wrong, fmt.Sprintf("no replica leads: %s renewed the Lease %s ago", holder,
			duration.HumanDuration(age)), logs)
		return
	}
	s.Leader = holder
	leaders := 0
	for _, r := range s.read() {
		if ptr.Deref(r.Leader, false) {
			leaders++
		}
	}
	if read := len(s.read()); read == len(s.Replicas) && read > 0 && leaders != 1 {
		s.Add("leader", install.Wrong, fmt.Sprintf("%s holds the Lease, but the metrics of %s say that they lead",
			holder, install.Count(leaders, "pod")), logs)
		return
	}
	s.Add("leader", install.OK, holder+" leads")
}

func (s *Status) synced(f *Facts) {
	var waiting []string
	unknown := 0
	for _, r := range s.read() {
		switch {
		case r.Synced == nil:
			unknown++
		case !*r.Synced:
			waiting = append(waiting, r.Pod+" has not read everything yet: kubectl logs -n "+f.Namespace+" "+r.Pod)
		}
	}
	switch read := len(s.read()); {
	case len(waiting) > 0:
		s.Add("synced", install.Wrong, fmt.Sprintf("%d of %s not synced: until then, it reports nothing", len(waiting),
			install.Count(read, "pod")), waiting...)
	case read == 0 || unknown > 0:
		s.Add("synced", install.Unknown, "the metrics do not say whether all pods have read everything")
	default:
		s.Add("synced", install.OK, install.Count(read, "pod")+" synced")
	}
}

// evaluation reports the last evaluation of the leader, or without one of any replica.
func (s *Status) evaluation(f *Facts) {
	last := ""
	for _, r := range s.read() {
		if ptr.Deref(r.Leader, false) || last == "" {
			last = r.LastEvaluation
		}
	}
	at, err := time.Parse(time.RFC3339, last)
	if err != nil {
		s.Add("evaluation", install.Unknown, "no replica has reported an evaluation")
		return
	}
	s.Add("evaluation", install.OK, fmt.Sprintf("the last one was %s ago", duration.HumanDuration(f.TakenAt.Sub(at))))
}

// coverage reports gaps: what could not be read is Unknown in the result of the auditor.
func (s *Status) coverage() {
	most, unknown := 0, len(s.read()) == 0
	for _, r := range s.read() {
		unknown = unknown || r.Gaps == nil
		most = max(most, ptr.Deref(r.Gaps, 0))
	}
	switch {
	case most > 0:
		s.Add("coverage", install.Unknown, install.Count(most, "gap")+": parts of the result are unknown",
			"`audit` with the rights of the auditor lists them. The rights of the chart, which are those in readRules "+
				"if that is set, are granted by "+s.Remedy(installCommand)+".")
	case unknown:
		s.Add("coverage", install.Unknown, "the metrics do not say whether everything could be read")
	default:
		s.Add("coverage", install.OK, "everything could be read")
	}
}

func (s *Status) version() {
	var versions []string
	for _, r := range s.read() {
		versions = append(versions, r.Version)
	}
	slices.Sort(versions)
	versions = slices.Compact(versions)
	switch {
	case len(versions) == 0 || versions[0] == "":
		s.Add("version", install.Unknown, "the metrics do not say which version runs")
	case len(versions) > 1:
		s.Add("version", install.Note, "the replicas have different versions: "+strings.Join(versions, ", "),
			"This is expected during an upgrade.")
	default:
		s.Add("version", install.OK, versions[0])
	}
}

func (s *Status) rights(f *Facts) {
	switch {
	case f.RightsReason != "":
		s.Add("rights", install.Unknown, "whether the account has its rights is unknown: "+f.RightsReason,
			"It requires create on subjectaccessreviews (authorization.k8s.io).")
	case f.Asked == 0:
		s.Add("rights", install.Unknown, "no role was read, so it is unknown which rights the account should have")
	case len(f.Lacking) > 0:
		details := append([]string{"They are granted by " + s.Remedy(installCommand) + "."}, f.Lacking...)
		s.Add("rights", install.Wrong, fmt.Sprintf("the account lacks %d of %s", len(f.Lacking),
			install.Count(f.Asked, "right")), details...)
	default:
		s.Add("rights", install.OK, "the account has all rights of its roles")
	}
}
