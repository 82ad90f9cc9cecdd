// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// clustersRound is one round: an audit of one cluster, as often as there are clusters, and one audit of all clusters.
type clustersRound struct {
	Each     []usage `json:"each"`
	Together usage   `json:"together"`
}

// clustersResult is the measurement of an audit of several clusters.
type clustersResult struct {
	Clusters int             `json:"clusters"`
	Objects  int             `json:"objects"` // on each cluster
	Releases int             `json:"releases"`
	Rounds   []clustersRound `json:"rounds"`
}

// member is a cluster by its number.
type member int

// first is the cluster of the API server, which manages itself and the others.
const first member = 1

// name returns the name of the Cluster.
func (m member) name() string {
	if m == first {
		return clusterName
	}
	return fmt.Sprintf("cluster-%04d", m)
}

// namespace returns the namespace of its BundleDeployments.
func (m member) namespace() string { return fmt.Sprintf("cluster-fleet-local-%04d-bench", m) }

// mark returns a word of twelve bytes in the content of every object of the cluster. Base64 encodes it as a whole. No
// report contains its letters: it would then be searched for every Secret.
func (m member) mark() string { return fmt.Sprintf("replayed%04d", m) }

// measureClusters measures an audit of one cluster and one of several clusters of the same size. Their servers replay
// the answers of the API server, which would otherwise use the processors: in reality those are on other machines.
func (b *bench) measureClusters(ctx context.Context, l *loader) (clustersResult, error) {
	res := clustersResult{Clusters: b.options.clusters, Objects: l.objects, Releases: l.releases}
	one, err := newRecording(b.cluster.Config())
	if err != nil {
		return res, err
	}
	all, err := newRecording(b.cluster.Config())
	if err != nil {
		return res, err
	}
	alone, together := &servers{}, &servers{}
	defer alone.stop()
	defer together.stop()
	alone.start(clusterName, newReplay(one, first))
	aloneConfig, togetherConfig := b.kubeconfig(), filepath.Join(b.dir, "clusters-kubeconfig")
	if err := alone.write(aloneConfig); err != nil {
		return res, err
	}
	auditOne := func() (usage, error) { return b.audit(ctx, l.objects, "--kubeconfig", aloneConfig) }
	if _, err := auditOne(); err != nil { // records the answers
		return res, err
	}
	if err := b.createClusters(ctx, l); err != nil {
		return res, err
	}
	together.start(clusterName, newReplay(all, first))
	// The servers rewrite their answers when they are first asked, which takes longer than a cluster may take.
	args := []string{"--kubeconfig", togetherConfig, "--request-timeout", "10m"}
	for c := first + 1; int(c) <= b.options.clusters; c++ {
		together.start(c.name(), newReplay(one, c))
		args = append(args, "--contexts", c.name())
	}
	if err := together.write(togetherConfig); err != nil {
		return res, err
	}
	auditAll := func() (usage, error) { return b.audit(ctx, l.objects*b.options.clusters, args...) }
	if _, err := auditAll(); err != nil {
		return res, err
	}
	for i := range b.options.rounds {
		r, err := b.clustersRound(auditOne, auditAll)
		if err != nil {
			return res, err
		}
		res.Rounds = append(res.Rounds, r)
		b.progress("round %d of %d: one after the other %s with %d MiB, together %s with %d MiB", i+1, b.options.rounds,
			seconds(r.sequence().Wall), r.sequence().Peak/mebibyte, seconds(r.Together.Wall), r.Together.Peak/mebibyte)
	}
	return res, nil
}

// clustersRound measures one round.
func (b *bench) clustersRound(auditOne, auditAll func() (usage, error)) (r clustersRound, err error) {
	for range b.options.clusters {
		u, err := auditOne()
		if err != nil {
			return r, err
		}
		r.Each = append(r.Each, u)
	}
	r.Together, err = auditAll()
	return r, err
}

// createClusters creates the Clusters from the second one on, with a BundleDeployment for each release, and writes the
// totals of all Clusters.
func (b *bench) createClusters(ctx context.Context, l *loader) error {
	n := b.options.clusters
	var objects, totals []*unstructured.Unstructured
	for c := first + 1; int(c) <= n; c++ {
		objects = append(objects, clusterObject(c, l.releases, l.objects))
	}
	for number := range l.releases {
		r := newRelease(number, min(perRelease, l.objects-number*perRelease))
		for c := first + 1; int(c) <= n; c++ {
			objects = append(objects, bundleDeployment(r, c))
		}
		totals = append(totals, bundle(r, n))
	}
	for c := first + 1; int(c) <= n; c++ {
		if err := apply(ctx, b.cluster.Client(), object("v1", "Namespace", "", c.namespace(), nil)); err != nil {
			return err
		}
	}
	for _, o := range append(objects, append(totals, gitRepoObject(n, l.releases, l.objects))...) {
		if err := apply(ctx, b.cluster.Client(), o); err != nil {
			return err
		}
	}
	b.progress("created %d clusters", n)
	return nil
}

// sequence returns the total time of the audits one after the other, and the highest memory of one of them.
func (r clustersRound) sequence() usage {
	var out usage
	for _, u := range r.Each {
		out.Wall, out.CPU, out.Peak = out.Wall+u.Wall, out.CPU+u.CPU, max(out.Peak, u.Peak)
	}
	return out
}

func sequenceOf(r clustersRound) usage { return r.sequence() }

func togetherOf(r clustersRound) usage { return r.Together }

func (r clustersResult) of(pick func(clustersRound) usage) []usage {
	out := make([]usage, len(r.Rounds))
	for i := range r.Rounds {
		out[i] = pick(r.Rounds[i])
	}
	return out
}

// overOne are the ratios of the memory of one audit of all clusters to that of an audit of one cluster, the median of
// its round. overSequence are the ratios of the time to that of the audits one after the other. There is one for each
// round, in ascending order.
func (r clustersResult) overOne() []float64 {
	return ascending(r.Rounds, func(r clustersRound) float64 {
		return float64(r.Together.Peak) / float64(median(ascending(r.Each, peakOf)))
	})
}

func (r clustersResult) overSequence() []float64 {
	return ascending(r.Rounds, func(r clustersRound) float64 {
		return float64(r.Together.Wall) / float64(max(r.sequence().Wall, time.Nanosecond))
	})
}

func (p *printer) clusters(r clustersResult) {
	var each []usage
	for _, round := range r.Rounds {
		each = append(each, round.Each...)
	}
	p.line("")
	p.line("%d clusters, each with %d objects in %d releases; their servers replay the answers of the API server",
		r.Clusters, r.Objects, r.Releases)
	p.row("\tmedian\tlowest\thighest\tprocessor\tpeak memory\trounds")
	p.usages("audit of one cluster", each)
	p.usages("of each, one after the other", r.of(sequenceOf))
	p.usages("of all in one run", r.of(togetherOf))
	p.flush()
}

// clustersTargets compares audits of several clusters with their bounds.
func clustersTargets(results []clustersResult) []target {
	var out []target
	for _, r := range results {
		for _, t := range []target{
			{Name: "peak resident memory / that of one cluster", Figure: median(r.overOne()), Bound: mostOverOne},
			{Name: "time / that of one run for each cluster", Figure: median(r.overSequence()), Bound: mostOverEach},
		} {
			t.Objects, t.Met = r.Clusters*r.Objects, t.Figure <= t.Bound
			out = append(out, t)
		}
	}
	return out
}
