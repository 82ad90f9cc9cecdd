// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// round is one measurement of the floor, the audit and kubectl diff.
type round struct {
	Floor time.Duration `json:"floorNanoseconds"`
	Audit usage         `json:"audit"`
	Diff  *usage        `json:"kubectlDiff,omitempty"`
}

// result is the measurement at one size.
type result struct {
	Objects  int `json:"objects"`
	Releases int `json:"releases,omitempty"`
	// Deployments are the BundleDeployments whose status lists the objects; 0 if an audit reads the objects themselves.
	Deployments int     `json:"bundleDeployments,omitempty"`
	Rounds      []round `json:"rounds"`
	// Lists are the requests of one audit, Excess the unnecessary ones.
	Lists  []*list  `json:"lists"`
	Excess []string `json:"excessRequests,omitempty"`
}

// bench is one run of the program.
type bench struct {
	options options
	dir     string // for files
	product string // the program that is measured
	cluster *cluster.Cluster
	start   time.Time
	stderr  io.Writer
}

// progress prints the progress. An error of the stream is ignored.
func (b *bench) progress(format string, args ...any) {
	_, _ = fmt.Fprintf(b.stderr, "bench: %5.0f s  %s\n", time.Since(b.start).Seconds(), fmt.Sprintf(format, args...))
}

// run creates the objects and measures, one size after the other.
func (b *bench) run(ctx context.Context) (document, error) {
	var doc document
	var err error
	if doc.Machine, err = machineOf(ctx, b.cluster, b.start); err != nil {
		return doc, err
	}
	if b.options.webhook {
		r, err := b.measureWrites(ctx)
		if err != nil {
			return doc, err
		}
		doc.Writes, doc.Targets = &r, writesTargets(r)
		return doc, nil
	}
	if b.options.fleet {
		r, err := b.measureManagement(ctx)
		if err != nil {
			return doc, err
		}
		doc.Results = []result{r}
		doc.Targets = targetsOf(doc.Results)
		return doc, nil
	}
	l, err := b.newLoader()
	if err != nil {
		return doc, err
	}
	for _, n := range b.options.sizes {
		if err := l.upTo(ctx, n); err != nil {
			return doc, err
		}
		if err := b.measureAt(ctx, l, &doc); err != nil {
			return doc, err
		}
	}
	doc.Targets = slices.Concat(targetsOf(doc.Results), adoptTargets(doc.Adoptions), repairTargets(doc.Repairs),
		snapshotTargets(doc.Snapshots), clustersTargets(doc.Clusters), auditorTargets(doc.Auditors))
	return doc, nil
}

// measureAt measures the objects that l created so far.
func (b *bench) measureAt(ctx context.Context, l *loader, doc *document) error {
	switch {
	case b.options.adopt:
		r, err := b.measureAdoption(ctx, l)
		doc.Adoptions = append(doc.Adoptions, r)
		return err
	case b.options.repair:
		r, err := b.measureRepair(ctx, l)
		doc.Repairs = append(doc.Repairs, r)
		return err
	case b.options.auditor:
		r, err := b.measureAuditor(ctx, l)
		doc.Auditors = append(doc.Auditors, r)
		return err
	case b.options.clusters > 0:
		r, err := b.measureClusters(ctx, l)
		doc.Clusters = append(doc.Clusters, r)
		return err
	case b.options.snapshot:
		r, err := b.measureSnapshots(ctx, l)
		doc.Snapshots = append(doc.Snapshots, r)
		return err
	}
	r, err := b.measure(ctx, result{Objects: l.objects, Releases: l.releases}, measured{
		audit: func(ctx context.Context, kubeconfig string) (usage, error) {
			return b.audit(ctx, l.objects, "--kubeconfig", kubeconfig)
		},
		diff: func(ctx context.Context) (usage, error) { return b.kubectlDiff(ctx, l) },
	})
	doc.Results = append(doc.Results, r)
	return err
}

// measured is what is measured. audit runs the product, and checks its result. diff is nil if there is no alternative.
type measured struct {
	audit func(ctx context.Context, kubeconfig string) (usage, error)
	diff  func(ctx context.Context) (usage, error)
}

// measure checks the result of an audit, records its requests, and then measures the rounds.
func (b *bench) measure(ctx context.Context, res result, m measured) (result, error) {
	if err := b.cluster.WriteKubeconfig(b.kubeconfig()); err != nil {
		return res, err
	}
	// The server delays the first list of a new kind by a second; this must not be measured.
	if _, err := m.audit(ctx, b.kubeconfig()); err != nil {
		return res, err
	}
	proxied := filepath.Join(b.dir, "proxied-kubeconfig")
	requests, err := record(ctx, b.cluster.Config(), proxied, func() error {
		_, err := m.audit(ctx, proxied)
		return err
	})
	if err != nil {
		return res, fmt.Errorf("observing an audit: %w", err)
	}
	res.Lists, res.Excess = listsOf(requests)
	f, err := newFloor(b.cluster.Config(), res.Lists)
	if err != nil {
		return res, err
	}
	if _, err := f.run(ctx); err != nil { // the first run opens the connection and fills caches, and is not counted
		return res, err
	}
	for i := range b.options.rounds {
		r, err := b.round(ctx, f, m, i < b.options.kubectlRounds && res.Objects <= b.options.kubectlLimit)
		if err != nil {
			return res, err
		}
		res.Rounds = append(res.Rounds, r)
		b.progress("round %d of %d: floor %s, audit %s%s", i+1, b.options.rounds, seconds(r.Floor),
			seconds(r.Audit.Wall), diffSeconds(r.Diff))
	}
	return res, nil
}

// round measures one round. The order of floor and audit is random: with a fixed order, the server collects garbage at
// about the same point of each round, and so always during the same one of the two.
func (b *bench) round(ctx context.Context, f *floor, m measured, withDiff bool) (r round, err error) {
	measure := []func() error{
		func() (err error) { r.Floor, err = f.run(ctx); return err },
		func() (err error) { r.Audit, err = m.audit(ctx, b.kubeconfig()); return err },
	}
	for _, i := range rand.Perm(len(measure)) {
		if err := measure[i](); err != nil {
			return r, err
		}
	}
	if !withDiff || m.diff == nil {
		return r, nil
	}
	diff, err := m.diff(ctx)
	r.Diff = &diff
	return r, err
}

// kubectlDiff runs kubectl diff on the manifests of all releases.
func (b *bench) kubectlDiff(ctx context.Context, l *loader) (usage, error) {
	// Its status is 1 if anything differs. This is an error here: the work would not be comparable to an audit of a
	// healthy cluster.
	diff, _, err := execute(ctx, b.cluster.Kubectl(), "diff", "--server-side", "--concurrency=8", "--kubeconfig",
		b.kubeconfig(),
		"--cache-dir", filepath.Join(b.dir, "kubectl-cache"), "-f", l.manifests)
	return diff, err
}
func (b *bench) kubeconfig() string { return filepath.Join(b.dir, "kubeconfig") }

// audit runs the product once, as a user would, and checks that it found every object ready: a fast result that is
// wrong does not count. The arguments name the source.
func (b *bench) audit(ctx context.Context, objects int, source ...string) (usage, error) {
	u, out, err := execute(ctx, b.product, append([]string{"audit", "-o", "json"}, source...)...)
	if err != nil {
		return u, err
	}
	var got struct {
		Summary report.Summary `json:"summary"`
		Gaps    []report.Gap   `json:"gaps"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		return u, fmt.Errorf("reading the report: %w", err)
	}
	if c := got.Summary.Counts; c.Desired != objects || c.Ready != objects || len(got.Gaps) > 0 {
		return u, fmt.Errorf("auditing: %d of %d objects are ready and %d could not be read, want %d of %[4]d and none",
			c.Ready, c.Desired, len(got.Gaps), objects)
	}
	if u.Peak == 0 {
		return u, errors.New("measuring the audit: /proc has no VmHWM on this system")
	}
	return u, nil
}

// ascending returns one figure of each element, in ascending order.
func ascending[T any, F cmp.Ordered](of []T, pick func(T) F) []F {
	out := make([]F, 0, len(of))
	for _, v := range of {
		out = append(out, pick(v))
	}
	slices.Sort(out)
	return out
}

// median returns the middle of ascending figures, the lower one of two; the zero value if there are none.
func median[F cmp.Ordered](ascending []F) F {
	if len(ascending) == 0 {
		var none F
		return none
	}
	return ascending[(len(ascending)-1)/2]
}

func wallOf(u usage) time.Duration { return u.Wall }

func cpuOf(u usage) time.Duration { return u.CPU }

func peakOf(u usage) int64 { return u.Peak }

func (r result) floors() []time.Duration {
	return ascending(r.Rounds, func(r round) time.Duration { return r.Floor })
}

func (r result) audits() []usage {
	out := make([]usage, len(r.Rounds))
	for i := range r.Rounds {
		out[i] = r.Rounds[i].Audit
	}
	return out
}

// diffs are the measurements of kubectl diff, which does not run in every round.
func (r result) diffs() []usage {
	var out []usage
	for _, round := range r.Rounds {
		if round.Diff != nil {
			out = append(out, *round.Diff)
		}
	}
	return out
}

// overFloor are the ratios of audit to floor, and diffOver those of kubectl diff to audit, one for each round, in
// ascending order: a disturbance that is longer than a round affects both figures of a ratio.
func (r result) overFloor() []float64 {
	return ascending(r.Rounds, func(r round) float64 { return float64(r.Audit.Wall) / float64(r.Floor) })
}

func (r result) diffOver() []float64 {
	withDiff := slices.DeleteFunc(slices.Clone(r.Rounds), func(r round) bool { return r.Diff == nil })
	return ascending(withDiff, func(r round) float64 { return float64(r.Diff.Wall) / float64(r.Audit.Wall) })
}

// objectBytes is the average size of an object on the wire, decompressed.
func (r result) objectBytes() int64 {
	var bytes int64
	for _, l := range r.Lists {
		if l.ofObjects() {
			bytes += l.Bytes
		}
	}
	return bytes / int64(r.Objects)
}

// traffic returns the number of requests of one audit, and the size of all responses, decompressed.
func (r result) traffic() (requests int, bytes int64) {
	for _, l := range r.Lists {
		requests, bytes = requests+l.Pages, bytes+l.Bytes
	}
	return requests, bytes
}
