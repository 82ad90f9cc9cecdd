// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/bench/writes"
)

// document is the output of one run.
type document struct {
	Machine   machine          `json:"machine"`
	Results   []result         `json:"results,omitempty"`
	Adoptions []changeResult   `json:"adoptions,omitempty"`
	Repairs   []changeResult   `json:"repairs,omitempty"`
	Snapshots []snapshotResult `json:"snapshots,omitempty"`
	Clusters  []clustersResult `json:"clusters,omitempty"`
	Auditors  []auditorResult  `json:"auditors,omitempty"`
	Writes    *writes.Result   `json:"writes,omitempty"`
	Targets   []target         `json:"targets"`
}

// print writes the document as text.
func (d document) print(w io.Writer) error {
	m := d.Machine
	p := &printer{w: w}
	verb := "audit"
	switch {
	case len(d.Adoptions) > 0:
		verb = "adopt"
	case len(d.Repairs) > 0:
		verb = "repair"
	case len(d.Snapshots) > 0:
		verb = "snapshot"
	case len(d.Auditors) > 0:
		verb = "auditor"
	case d.Writes != nil:
		verb = "webhook"
	}
	p.line("kubectl fleetdoctor %s, measured at %s", verb, m.Taken)
	p.line("%d cores, %.1f GiB of memory, %s; %s, kube-apiserver %s on the same machine, kubectl %s", m.Cores,
		float64(m.MemoryBytes)/(1<<30), m.Platform, m.Go, m.Server, m.Kubectl)
	for _, r := range d.Results {
		p.result(r)
	}
	for _, r := range d.Adoptions {
		p.changes("adopt", r)
	}
	for _, r := range d.Repairs {
		p.changes("repair", r)
	}
	for _, r := range d.Snapshots {
		p.snapshots(r)
	}
	for _, r := range d.Clusters {
		p.clusters(r)
	}
	for _, r := range d.Auditors {
		p.auditor(r)
	}
	if d.Writes != nil {
		p.writes(*d.Writes)
	}
	p.line("")
	p.row("\tobjects\tfigure\ttarget\t")
	for _, t := range d.Targets {
		bound, met := "at most", "missed"
		if t.AtLeast {
			bound = "at least"
		}
		if t.Met {
			met = "met"
		}
		p.row("%s\t%d\t%s\t%s %s\t%s", t.Name, t.Objects, figure(t.Figure, t.Unit), bound, figure(t.Bound, t.Unit), met)
	}
	p.flush()
	return p.err
}

func (p *printer) result(r result) {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	p.line("")
	if r.Deployments > 0 {
		p.line("%d BundleDeployments with %d resources in status, %s", r.Deployments, r.Objects,
			strings.Join(names, ", "))
	} else {
		p.line("%d objects (%s), %.1f KiB each, in %d releases", r.Objects, strings.Join(names, ", "),
			float64(r.objectBytes())/1024, r.Releases)
	}
	p.row("\tmedian\tlowest\thighest\tprocessor\tpeak memory\trounds")
	p.times("floor", r.floors(), "", "")
	p.usages("audit", r.audits())
	if diffs := r.diffs(); len(diffs) > 0 {
		p.usages("kubectl diff", diffs)
	} else if r.Deployments == 0 {
		p.row("kubectl diff\tnot run (see -kubectl-rounds and -kubectl-limit)")
	}
	p.flush()
	requests, size := r.traffic()
	p.line("")
	p.row("requests of one audit\t%d\t%s\t", requests, kib(size))
	var searches list
	for _, l := range r.Lists {
		if l.Metadata {
			searches.Pages, searches.Bytes = searches.Pages+l.Pages, searches.Bytes+l.Bytes
			continue
		}
		p.row("  %s\t%d\t%s\t%s", l.Kind, l.Pages, kib(l.Bytes), l.Selector)
	}
	p.row("  all other kinds, metadata\t%d\t%s\tby label", searches.Pages, kib(searches.Bytes))
	p.flush()
	for _, e := range r.Excess {
		p.line("  in excess: %s", e)
	}
}

func (p *printer) changes(verb string, r changeResult) {
	p.line("")
	p.line("%d objects in %d releases", r.Objects, r.Releases)
	p.row("\tmedian\tlowest\thighest\tprocessor\tpeak memory\trounds")
	if verb == "adopt" {
		p.times("bare patches", ascending(r.Rounds, bareOf), "", "")
	} else {
		p.times("bare create (POST)", ascending(r.Rounds, bareOf), "", "")
		p.times("bare apply", ascending(r.Rounds, applyOf), "", "")
	}
	p.usages(verb+" --yes", r.of(verbOf))
	p.usages(verb+" --undo", r.of(undoOf))
	p.flush()
	perSecond := func(d time.Duration) float64 { return float64(r.Objects) / d.Seconds() }
	p.line("objects per second: bare %.0f, %s %.0f, undo %.0f", perSecond(median(ascending(r.Rounds, bareOf))), verb,
		perSecond(median(ascending(r.of(verbOf), wallOf))), perSecond(median(ascending(r.of(undoOf), wallOf))))
}

// printer writes lines, and columns that are aligned up to the next line. It keeps the first error.
type printer struct {
	w       io.Writer
	columns strings.Builder
	err     error
}

func (p *printer) line(format string, args ...any) {
	p.flush()
	if _, err := fmt.Fprintf(p.w, format+"\n", args...); p.err == nil {
		p.err = err
	}
}

// row adds a row of columns, separated by tabs.
func (p *printer) row(format string, args ...any) { fmt.Fprintf(&p.columns, format+"\n", args...) }

// flush writes the rows since the last line, without trailing spaces.
func (p *printer) flush() {
	var aligned strings.Builder
	tabs := tabwriter.NewWriter(&aligned, 0, 0, 3, ' ', 0)
	_, err := io.WriteString(tabs, p.columns.String())
	p.columns.Reset()
	if err = cmp.Or(err, tabs.Flush()); p.err == nil {
		p.err = err
	}
	for row := range strings.Lines(aligned.String()) {
		if _, err := fmt.Fprintln(p.w, strings.TrimRight(row, " \n")); p.err == nil {
			p.err = err
		}
	}
}

func (p *printer) usages(name string, of []usage) {
	p.times(name, ascending(of, wallOf), seconds(median(ascending(of, cpuOf))),
		figure(float64(highest(ascending(of, peakOf)))/mebibyte, "MiB"))
}

func (p *printer) times(name string, ascending []time.Duration, processor, peak string) {
	p.row("%s\t%s\t%s\t%s\t%s\t%s\t%d", name, seconds(median(ascending)), seconds(ascending[0]),
		seconds(highest(ascending)), processor, peak,
		len(ascending))
}

// highest is the last of ascending figures. There must be at least one.
func highest[F cmp.Ordered](ascending []F) F { return ascending[len(ascending)-1] }

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func diffSeconds(u *usage) string {
	if u == nil {
		return ""
	}
	return ", kubectl diff " + seconds(u.Wall)
}

func kib(bytes int64) string { return fmt.Sprintf("%d KiB", (bytes+1023)>>10) }

// figure formats a number, with a unit if there is one.
func figure(v float64, unit string) string {
	switch unit {
	case "":
		return fmt.Sprintf("%.4g", v)
	case "s":
		return fmt.Sprintf("%.2f s", v)
	}
	return fmt.Sprintf("%.0f %s", v, unit)
}
