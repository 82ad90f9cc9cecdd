// SPDX-License-Identifier: Apache-2.0

package exported

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// evaluations returns the clusters that auditors evaluate, with the time of the oldest evaluation that counts.
func (f *fleet) evaluations() map[string]time.Time {
	out := map[string]time.Time{}
	for t, clusters := range f.used {
		for c := range clusters {
			if at, ok := out[c]; !ok || t.evaluated.Before(at) {
				out[c] = t.evaluated
			}
		}
	}
	return out
}

// addClusters names the clusters that auditors evaluate.
func (f *fleet) addClusters() {
	all := f.evaluations()
	for _, c := range slices.Sorted(maps.Keys(all)) {
		f.out.Source.Clusters = append(f.out.Source.Clusters, report.ClusterSource{Name: c, Cluster: c,
			Kind: SourceKind, TakenAt: report.Time(all[c])})
	}
}

func (f *fleet) addNotes() {
	f.out.Notes = append(f.out.Notes, "metrics have the states and the findings, and not the fields that differ, the "+
		"evidence and the present owners. An audit of the cluster shows them")
	all := f.evaluations()
	if len(all) > 0 {
		oldest := slices.MinFunc(slices.Sorted(maps.Keys(all)), func(x, y string) int { return all[x].Compare(all[y]) })
		f.out.Notes = append(f.out.Notes, fmt.Sprintf("auditors evaluate %s; the oldest evaluation is %s old (%s)",
			report.Plural(len(all), "cluster"), f.age(all[oldest]), oldest))
	}
	unnamed := 0
	for _, x := range f.known {
		if x.evaluator.of != nil {
			unnamed += x.evaluator.of.unnamed
		}
	}
	if unnamed > 0 {
		f.out.Notes = append(f.out.Notes, fmt.Sprintf("%s not Ready and not named: an auditor names at most 20 "+
			"objects of a bundle deployment. The numbers include them", report.Plural(unnamed, "object")))
	}
}

// age is how long ago a time was, for people.
func (f *fleet) age(at time.Time) string { return duration.HumanDuration(max(0, f.now.Sub(at))) }

// addGaps adds what is not known.
func (f *fleet) addGaps(warnings []string) {
	for _, w := range warnings {
		f.gap("", "the answer of "+f.server, "it is not complete: "+w, "clusters and problems may be missing here")
	}
	f.addClusterGaps()
	hub := false
	for _, t := range f.targets {
		hub = hub || t.manages()
		f.addTargetGaps(t)
	}
	if !hub {
		f.gap("", "the clusters of Fleet", "no auditor of a management cluster exports metrics",
			"clusters whose auditors export nothing are missing here")
	}
	f.out.Gaps = report.Gaps(f.gaps)
}

func (f *fleet) gap(cluster, what, reason, effect string) {
	f.gaps = append(f.gaps, source.Gap{Cluster: cluster, What: what, Reason: reason, Effect: effect})
}

// addClusterGaps adds the clusters of which the state of bundle deployments is not known.
func (f *fleet) addClusterGaps() {
	evaluated := map[string]bool{}
	for k, x := range f.known {
		evaluated[k.namespace] = evaluated[k.namespace] || k.namespace != "" && x.evaluator.of != nil
	}
	for _, c := range slices.Sorted(maps.Keys(f.unread)) {
		reasons := map[string]int{}
		for _, k := range f.unread[c] {
			reasons[f.why(k, evaluated)]++
		}
		for _, why := range slices.Sorted(maps.Keys(reasons)) {
			f.gap(c, "the state of "+report.Plural(reasons[why], "bundle deployment"), why, "it is Unknown")
		}
	}
}

// why says why the state of a bundle deployment is not known. evaluated are the namespaces of which an auditor exports
// other bundle deployments.
func (f *fleet) why(k deploymentKey, evaluated map[string]bool) string {
	x := f.known[k]
	if x.evaluator.contradicted {
		return "auditors that are no replicas of each other export different states"
	}
	if x.evaluator.of != nil {
		return "its auditor exports no complete numbers of objects"
	}
	var last *target
	for _, t := range x.exporters {
		if t.deployments[k].evaluated() && (last == nil || t.evaluated.After(last.evaluated)) {
			last = t
		}
	}
	switch {
	case last != nil:
		return f.unusable(last)
	case evaluated[k.namespace]:
		return "its auditor exports other bundle deployments, and not these"
	}
	return "no auditor of the cluster exports metrics"
}

// unusable says why the state that an auditor exports is not the present one.
func (f *fleet) unusable(t *target) string {
	switch {
	case t.evaluated.IsZero():
		return "its auditor has evaluated nothing yet"
	case f.now.Sub(t.evaluated) > maxAge:
		return "its auditor has not evaluated for " + f.age(t.evaluated)
	case t.evaluated.Sub(f.now) > maxAge:
		return "the clock of its auditor is ahead: it evaluated at " + report.Time(t.evaluated)
	}
	return "its auditor could not read the cluster since " + report.Time(t.evaluated)
}

// addTargetGaps adds what an auditor could not read or name.
func (f *fleet) addTargetGaps(t *target) {
	switch {
	case f.replaced(t), f.reported(t):
		return
	case !t.usable(f.now):
		f.gap("", "auditor "+t.name, f.unusable(t), "what only it knows is missing here")
		return
	}
	for _, optional := range []bool{false, true} {
		if n := t.gaps[optional]; n > 0 {
			f.gap("", "auditor "+t.name, fmt.Sprintf("it could not read %s (%s%s)", report.Plural(n, "thing"), prefix,
				auditorGaps), "problems may be missing here")
			f.gaps[len(f.gaps)-1].Optional = optional
		}
	}
	for _, code := range slices.Sorted(maps.Keys(t.unnamed)) {
		f.gap("", "auditor "+t.name, fmt.Sprintf("%s of %s without a name in its metrics",
			report.Plural(t.unnamed[code], "finding"), code), "they are not listed here")
	}
}

// reported reports whether the gaps of clusters say that the state of an auditor is not the present one.
func (f *fleet) reported(t *target) bool {
	if t.usable(f.now) || t.manages() {
		return false
	}
	for k, d := range t.deployments {
		if d.evaluated() && f.known[k].evaluator.of == nil {
			return true
		}
	}
	return false
}

// replaced reports whether an auditor does not count, because a replica of it does. Only another auditor of a
// management cluster replaces one.
func (f *fleet) replaced(t *target) bool {
	if f.counts[t] {
		return false
	}
	return slices.ContainsFunc(f.targets, func(o *target) bool {
		knowsAll := o.manages() || !t.manages()
		return knowsAll && f.counts[o] && o.site == t.site
	})
}
