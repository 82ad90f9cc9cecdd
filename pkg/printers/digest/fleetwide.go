// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"fmt"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Fleetwide is the sentence with the numbers of bundle deployments that are not ready: by what Fleet reports, and on
// the clusters that were read. It is empty if all clusters were read.
func Fleetwide(a *report.Audit) string {
	var all, here tallies
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		all.add(bd)
		if !Unread(bd) {
			here.add(bd)
		}
	}
	if here.n == all.n {
		return ""
	}
	out := fmt.Sprintf("%d of %s on %s %s not ready, as Fleet reports", all.reported,
		report.Plural(all.n, "bundle deployment"), report.Plural(len(all.clusters), "cluster"), be(all.reported))
	if all.silent > 0 {
		out += fmt.Sprintf(", and %d %s no status", all.silent, have(all.silent))
	}
	if here.n == 0 {
		return out + ". No cluster was read."
	}
	return out + fmt.Sprintf(". %s %s read: %d of %d %s not ready there (%s)%s, Fleet reports %d.",
		report.Plural(len(here.clusters), "cluster"), was(len(here.clusters)), here.notReady, here.n, be(here.notReady),
		readyObjects(a.Summary.Counts)+otherObjects(a.Summary.Counts), here.withoutResult(), here.reported)
}

// tallies count bundle deployments.
type tallies struct {
	n        int // all of them
	notReady int // those that are not ready
	unknown  int // those without a result
	reported int // those that Fleet reports as not ready
	silent   int // those without a status
	clusters map[string]bool
}

func (t *tallies) add(bd *report.BundleDeployment) {
	if t.clusters == nil {
		t.clusters = map[string]bool{}
	}
	t.n++
	t.clusters[bd.Cluster] = true
	switch {
	case bd.WithoutResult():
		t.unknown++
	case bd.State != report.Ready:
		t.notReady++
	}
	switch {
	case bd.Reported == nil || bd.Reported.State == "":
		t.silent++
	case bd.Reported.State != string(report.Ready):
		t.reported++
	}
}

// withoutResult says how many bundle deployments have no result; empty if all have one.
func (t *tallies) withoutResult() string {
	if t.unknown == 0 {
		return ""
	}
	return fmt.Sprintf(", %d %s no result", t.unknown, have(t.unknown))
}

// Elsewhere says that clusters were not read, whose states are those, and how old the heartbeats of their agents are;
// empty if all were read.
func Elsewhere(a *report.Audit) string {
	unread := unreadClusters(a)
	if len(unread) == 0 {
		return ""
	}
	return strings.Join(NonEmpty(fmt.Sprintf("%s %s not read: the states there are those that Fleet reports.",
		report.Plural(len(unread), "cluster"), was(len(unread))), Heartbeats(a)), " ")
}

// unreadClusters are the clusters that were not read.
func unreadClusters(a *report.Audit) map[string]bool {
	out := map[string]bool{}
	for i := range a.BundleDeployments {
		if bd := &a.BundleDeployments[i]; Unread(bd) {
			out[bd.Cluster] = true
		}
	}
	return out
}

// Heartbeats says how old the heartbeats of the agents are whose clusters were not read; empty if all were read.
func Heartbeats(a *report.Audit) string {
	unread := unreadClusters(a)
	taken, err := time.Parse(time.RFC3339, a.TakenAt)
	if err != nil || len(unread) == 0 {
		return ""
	}
	oldest, name, silent := time.Duration(-1), "", len(unread)
	for _, c := range a.Clusters {
		seen, known := heartbeat(&c)
		if !known || !unread[c.Namespace+"/"+c.Name] {
			continue
		}
		silent--
		if age := taken.Sub(seen); age > oldest {
			oldest, name = age, c.Name
		}
	}
	if silent == len(unread) {
		return "No heartbeat is known."
	}
	out := fmt.Sprintf("The oldest heartbeat is %s old (%s).", ageOf(oldest), name)
	if silent > 0 {
		out += fmt.Sprintf(" %s %s no heartbeat.", report.Plural(silent, "cluster"), have(silent))
	}
	return out
}

// heartbeat is the time at which the agent of a Cluster last reported.
func heartbeat(c *report.Aggregate) (at time.Time, known bool) {
	if c.Reported == nil {
		return at, false
	}
	at, err := time.Parse(time.RFC3339, c.Reported.AsOf)
	return at, err == nil
}

// ageOf writes a duration in its largest unit.
func ageOf(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return report.Plural(int(d/day), "day")
	case d >= 2*time.Hour:
		return report.Plural(int(d/time.Hour), "hour")
	}
	return report.Plural(max(0, int(d/time.Minute)), "minute")
}

// be, was and have are the verbs of a number.
func be(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func was(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

func have(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}
