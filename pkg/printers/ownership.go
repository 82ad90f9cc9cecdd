// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"fmt"
	"io"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// OwnershipPrinter shows the owners of objects.
type OwnershipPrinter func(io.Writer, *report.Ownership) error

// OwnershipFormats lists the formats of an Ownership, the default first.
var OwnershipFormats = []string{"text", "json", "yaml"}

// NewOwnership returns the printer of a format, one of OwnershipFormats.
func NewOwnership(format string, o Options) (OwnershipPrinter, error) {
	switch format {
	case "text":
		return text{Options: o}.ownership, nil
	case "json":
		return func(w io.Writer, d *report.Ownership) error { return writeJSON(w, d) }, nil
	case "yaml":
		return func(w io.Writer, d *report.Ownership) error { return writeYAML(w, d) }, nil
	}
	return nil, noFormat(format)
}

func (t text) ownership(w io.Writer, d *report.Ownership) error {
	var b bytes.Buffer
	t.notRead(&b, d.Gaps, nil)
	for i, o := range d.Objects {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintln(&b, t.bold(printable(o.Key().String())))
		wrapped(&b, "  ", sentence(o.Verdict)+".")
		t.holder(&b, o.Holder)
		for _, c := range o.DesiredBy {
			reason := "owned"
			if c.Reason != "" {
				reason = "not owned: " + c.Reason
			}
			t.fact(&b, "desired by", c.BundleDeployment+" ("+reason+")")
		}
		t.fact(&b, "controlled by", o.Controller)
		for _, m := range o.Marks {
			fmt.Fprintf(&b, "  %s %s=%q\n", t.faint(fmt.Sprintf("%-10s", printable(m.Field))), printable(m.Key), printable(m.Value))
			wrapped(&b, "             ", m.Means)
			if m.Who != "" {
				wrapped(&b, "             ", m.Who)
			}
		}
		if len(o.Marks) == 0 {
			fmt.Fprintf(&b, "  %s\n", t.faint("no ownership labels or annotations"))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// holder shows where an object comes from, from the object up.
func (t text) holder(b *bytes.Buffer, h *report.Holder) {
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

// fact shows one thing, if it is known.
func (t text) fact(b *bytes.Buffer, name, value string) {
	if value != "" {
		fmt.Fprintf(b, "  %s %s\n", t.faint(fmt.Sprintf("%-14s", name)), printable(value))
	}
}
