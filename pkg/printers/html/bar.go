// SPDX-License-Identifier: Apache-2.0

package html

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// bar is a fraction of ready objects with the parts of its picture, which is 100 wide.
type bar struct {
	Text  string
	Parts []part
}

// part is one part of a bar. Class is its state.
type part struct {
	Class       string
	From, Width string
}

// actualBar shows the objects by their state.
func actualBar(c report.Counts, none bool) bar {
	if none {
		return bar{Text: "?", Parts: parts(1, share{"unknown", 1})}
	}
	return bar{digest.Fraction(c.Ready, c.Desired), parts(c.Desired, share{"ready", c.Ready},
		share{"notready", c.NotReady + c.Modified}, share{"missing", c.Missing + c.Unowned},
		share{"unknown", c.Unknown})}
}

// aggregateBar shows the actual objects of an aggregate.
func aggregateBar(x digest.Aggregate) bar {
	if x.Numbers == nil || x.Numbers.Actual == nil {
		return actualBar(report.Counts{}, true)
	}
	return actualBar(x.Numbers.Actual.Counts, !x.Evaluated)
}

// reportedBar shows the numbers that Fleet reports. Those of an old status are not shown as ready.
func reportedBar(r *report.Reported) bar {
	text := digest.ReportedFraction(r)
	if text == "" {
		return bar{}
	}
	ready := max(min(*r.Ready, *r.DesiredReady), 0)
	missing := 0
	if r.Missing != nil {
		missing = max(min(*r.Missing, *r.DesiredReady-ready), 0)
	}
	if r.Stale {
		return bar{text, parts(1, share{"unknown", 1})}
	}
	return bar{text, parts(*r.DesiredReady, share{"ready", ready}, share{"notready", *r.DesiredReady - ready - missing},
		share{"missing", missing})}
}

type share struct {
	class string
	n     int
}

func parts(of int, shares ...share) []part {
	var out []part
	at := 0.0
	for _, s := range shares {
		if s.n > 0 && of > 0 {
			width := 100 * float64(s.n) / float64(of)
			out = append(out, part{s.class, fmt.Sprintf("%.2f", at), fmt.Sprintf("%.2f", width)})
			at += width
		}
	}
	return out
}
