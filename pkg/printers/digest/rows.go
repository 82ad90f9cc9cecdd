// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Details are what a row about a spread says beside its numbers.
type Details struct {
	now     time.Time
	objects map[deployment][]string // that findings are about
	changed map[deployment]string   // when they were changed (RFC 3339)
}

// deployment identifies a bundle deployment of an audit: its cluster and its key.
type deployment struct{ cluster, key string }

// NewDetails returns the details of an audit.
func NewDetails(a *report.Audit) Details {
	out := Details{now: timeOf(a), objects: map[deployment][]string{}, changed: map[deployment]string{}}
	for i := range a.Findings {
		if f := &a.Findings[i]; f.Severity != report.Info && f.Object.Name != "" && !AboutFleet(f) {
			for _, on := range f.OnEach() {
				of := deployment{on.Cluster, on.BundleDeployment}
				out.objects[of] = append(out.objects[of], f.Object.Key().String())
				if f.Code == codes.Modified {
					out.changed[of] = earlier(out.changed[of], f.AsOf)
				}
			}
		}
	}
	return out
}

// earlier is the earlier one of two times (RFC 3339, UTC), of which either may be empty.
func earlier(x, y string) string {
	if x == "" || y != "" && y < x {
		return y
	}
	return x
}

// someNames is the number of names that a row has before it says more.
const someNames = 3

// Of says in at most so many columns how many bundle deployments of a spread are in which state but Ready, since when,
// which ones, and with which object. name names a bundle deployment, and span is the width of a text.
func (d Details) Of(s *Spread, columns int, name func(*report.BundleDeployment) string, span func(string) int) string {
	out := s.Tallies()
	states := StatesOf(s)
	phrases := make([][]string, len(states))
	for i, state := range states {
		phrases[i] = d.phrases(out[i], s.members[state], name)
	}
	lengthen := func(i int, by []string) {
		left := columns - span(strings.Join(out, "; ")) + span(out[i])
		if at := slices.IndexFunc(by, func(long string) bool { return span(long) <= left }); at >= 0 {
			out[i] = by[at]
		}
	}
	for i, all := range phrases {
		lengthen(i, all[len(all)-1:]) // each state has a name before one of them says more
	}
	for i, all := range phrases {
		lengthen(i, all)
	}
	return strings.Join(out, "; ")
}

// phrases are phrases about bundle deployments in one state, the best one first; the last one has one name.
func (d Details) phrases(tally string, members []*report.BundleDeployment,
	name func(*report.BundleDeployment) string) []string {
	since, object := d.about(members)
	all := namesIn(members, name)
	var out []string
	add := func(n int, since, object string) {
		names := strings.Join(all[:n], " ")
		if n < len(all) {
			names += " …"
		}
		out = append(out, tally+since+": "+names+object)
	}
	for _, with := range [][2]string{{since, object}, {"", object}, {since, ""}} {
		for n := len(all); n >= min(someNames, len(all)); n-- {
			add(n, with[0], with[1])
		}
	}
	for n := len(all); n > 0; n-- {
		add(n, "", "")
	}
	return out
}

// about says since when bundle deployments are in their state, as far as that is recorded, and which object of theirs
// has a problem. On a cluster that was not read, they are in it at least since the status was written.
func (d Details) about(members []*report.BundleDeployment) (since, object string) {
	from := ""
	var objects []string
	for _, bd := range members {
		of := deployment{bd.Cluster, bd.Key()}
		objects = append(objects, d.objects[of]...)
		from = earlier(from, d.changed[of])
		if Unread(bd) && bd.Reported != nil {
			from = earlier(from, bd.Reported.AsOf)
		}
	}
	if from != "" {
		since = " since " + shortTime(from, d.now, "")
	}
	objects = namesIn(objects, func(s string) string { return s })
	if len(objects) > 0 {
		object = ", " + objects[0]
	}
	if n := len(objects) - 1; n > 0 {
		object += fmt.Sprintf(" and %s", report.Plural(n, "more object"))
	}
	return since, object
}
