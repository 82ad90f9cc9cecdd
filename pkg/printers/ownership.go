// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"fmt"
	"strconv"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Ownership lays out an owner report. Its names are the objects.
func Ownership(d *report.Ownership, o Options) Document {
	return Document{o, d, d.Objects, func(l *layout) { ownership(l, d) }, func() []string {
		return texts(d.Objects, func(o report.OwnedObject) string { return argumentOf(o.Ref) })
	}}
}

func ownership(l *layout, d *report.Ownership) {
	notRead(l, d.Gaps, nil)
	for _, o := range d.Objects {
		verdict(l, &o)
		owner(l, o.Owner)
		for _, c := range o.DesiredBy {
			role := "the owner"
			if c.Reason != "" {
				role = "not the owner: " + c.Reason
			}
			fact(l, "desired by", c.BundleDeployment+" ("+role+")")
		}
		fact(l, "controlled by", o.Controller)
		for _, m := range o.Metadata {
			l.line("  ", faint(fmt.Sprintf("%-10s", m.Field)), " ", m.Key, "=", strconv.Quote(escape.Line(m.Value)))
			l.say("             ", m.Means)
			l.say("             ", m.Who)
		}
		if len(o.Metadata) == 0 {
			l.line("  ", faint("no ownership metadata"))
		}
		if o.Next != nil {
			remedies(l, "  ", []report.Remedy{o.Next.Remedy})
		}
		l.end()
	}
}

// verdict adds who owns an object, and the verb of the next step.
func verdict(l *layout, o *report.OwnedObject) {
	answer := o.Verdict
	if o.Next != nil {
		answer += " → " + o.Next.Verb
	}
	l.hang(2, answer, bold(o.Key().String()+":"), " ")
}

// owner adds the bundle that owns an object, and its parents.
func owner(l *layout, h *report.BundleOwner) {
	if h == nil {
		return
	}
	fact(l, "release", h.Release)
	fact(l, "bundle", h.Bundle)
	fact(l, "gitrepo", h.GitRepo)
	fact(l, "commit", h.Commit)
	fact(l, "helmop", h.HelmOp)
	fact(l, "cluster", h.Cluster)
}

// fact adds one value, if it is known.
func fact(l *layout, name, value string) {
	if value != "" {
		l.line("  ", faint(fmt.Sprintf("%-14s", name)), " ", value)
	}
}
