// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Ownership lays out an owner report. Its names are the objects.
func Ownership(d *report.Ownership, o Options) Document {
	return Document{o, d, d.Objects, func(t text) { t.ownership(d) }, func(t text) {
		for _, o := range d.Objects {
			t.objectName(o.Ref)
		}
	}}
}

func (t text) ownership(d *report.Ownership) {
	t.notRead(d.Gaps, nil)
	for i, o := range d.Objects {
		if i > 0 {
			t.line("")
		}
		t.verdict(&o)
		t.owner(o.Owner)
		for _, c := range o.DesiredBy {
			role := "the owner"
			if c.Reason != "" {
				role = "not the owner: " + c.Reason
			}
			t.fact("desired by", c.BundleDeployment+" ("+role+")")
		}
		t.fact("controlled by", o.Controller)
		for _, m := range o.Metadata {
			t.linef("  %s %s=%q", t.faint(fmt.Sprintf("%-10s", printable(m.Field))), printable(m.Key),
				printable(m.Value))
			t.wrapped("             ", m.Means)
			t.wrapped("             ", m.Who)
		}
		if len(o.Metadata) == 0 {
			t.linef("  %s", t.faint("no ownership metadata"))
		}
		if o.Next != nil {
			t.remedies("  ", []report.Remedy{o.Next.Remedy})
		}
	}
}

// verdict shows who owns an object, and the verb of the next step.
func (t text) verdict(o *report.OwnedObject) {
	name, answer := printable(o.Key().String())+":", o.Verdict
	if o.Next != nil {
		answer += " → " + o.Next.Verb
	}
	t.line(t.bold(name) + " " + t.block(answer, span(name)+1, 2))
}

// owner shows the bundle that owns an object, and its parents.
func (t text) owner(h *report.BundleOwner) {
	if h == nil {
		return
	}
	t.fact("release", h.Release)
	t.fact("bundle", h.Bundle)
	t.fact("gitrepo", h.GitRepo)
	t.fact("commit", h.Commit)
	t.fact("helmop", h.HelmOp)
	t.fact("cluster", h.Cluster)
}

// fact shows one value, if it is known.
func (t text) fact(name, value string) {
	if value != "" {
		t.linef("  %s %s", t.faint(fmt.Sprintf("%-14s", name)), printable(value))
	}
}
