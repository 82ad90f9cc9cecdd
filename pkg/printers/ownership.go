// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Ownership lays out an owner report. Its names are the objects.
func Ownership(d *report.Ownership, o Options) Document {
	return Document{o, d, d.Objects, func(t text, b *bytes.Buffer) error { t.ownership(b, d); return nil },
		func(b *bytes.Buffer) {
			for _, o := range d.Objects {
				objectName(b, o.Ref)
			}
		}}
}

func (t text) ownership(b *bytes.Buffer, d *report.Ownership) {
	t.notRead(b, d.Gaps, nil)
	for i, o := range d.Objects {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintln(b, t.bold(printable(o.Key().String())))
		t.wrapped(b, "  ", sentence(o.Verdict)+".")
		t.owner(b, o.Owner)
		for _, c := range o.DesiredBy {
			role := "the owner"
			if c.Reason != "" {
				role = "not the owner: " + c.Reason
			}
			t.fact(b, "desired by", c.BundleDeployment+" ("+role+")")
		}
		t.fact(b, "controlled by", o.Controller)
		for _, m := range o.Metadata {
			fmt.Fprintf(b, "  %s %s=%q\n", t.faint(fmt.Sprintf("%-10s", printable(m.Field))), printable(m.Key),
				printable(m.Value))
			t.wrapped(b, "             ", m.Means)
			t.wrapped(b, "             ", m.Who)
		}
		if len(o.Metadata) == 0 {
			fmt.Fprintf(b, "  %s\n", t.faint("no ownership metadata"))
		}
	}
}

// owner shows the bundle that owns an object, and its parents.
func (t text) owner(b *bytes.Buffer, h *report.BundleOwner) {
	if h == nil {
		return
	}
	t.fact(b, "release", h.Release)
	t.fact(b, "bundle", h.Bundle)
	t.fact(b, "gitrepo", h.GitRepo)
	t.fact(b, "commit", h.Commit)
	t.fact(b, "helmop", h.HelmOp)
	t.fact(b, "cluster", h.Cluster)
}

// fact shows one value, if it is known.
func (t text) fact(b *bytes.Buffer, name, value string) {
	if value != "" {
		fmt.Fprintf(b, "  %s %s\n", t.faint(fmt.Sprintf("%-14s", name)), printable(value))
	}
}
