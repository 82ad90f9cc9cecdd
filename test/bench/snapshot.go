// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// snapshotRound is one round: an audit of the cluster, a snapshot of it, and an audit of that snapshot.
type snapshotRound struct {
	Audit    usage `json:"audit"`
	Snapshot usage `json:"snapshot"`
	Offline  usage `json:"auditOfSnapshot"`
}

// snapshotResult is the measurement at one size.
type snapshotResult struct {
	Objects  int             `json:"objects"`
	Releases int             `json:"releases"`
	Bytes    int64           `json:"bytes"` // of the archive
	Rounds   []snapshotRound `json:"rounds"`
}

// measureSnapshots measures snapshots of the objects. Each audit must find every object ready.
func (b *bench) measureSnapshots(ctx context.Context, l *loader) (snapshotResult, error) {
	res := snapshotResult{Objects: l.objects, Releases: l.releases}
	if err := b.cluster.WriteKubeconfig(b.kubeconfig()); err != nil {
		return res, err
	}
	// The server delays the first list of a new kind by a second; this must not be measured.
	if _, err := b.audit(ctx, l.objects, "--kubeconfig", b.kubeconfig()); err != nil {
		return res, err
	}
	file := filepath.Join(b.dir, "snapshot.tar.gz")
	for i := range b.options.rounds {
		var r snapshotRound
		var err error
		if r.Audit, err = b.audit(ctx, l.objects, "--kubeconfig", b.kubeconfig()); err != nil {
			return res, err
		}
		if r.Snapshot, _, err = execute(ctx, b.product, "snapshot", "-o", file, "--require-complete", "--kubeconfig",
			b.kubeconfig()); err != nil {
			return res, err
		}
		if r.Offline, err = b.audit(ctx, l.objects, "--snapshot", file); err != nil {
			return res, err
		}
		info, err := os.Stat(file)
		if err != nil {
			return res, fmt.Errorf("finding the snapshot: %w", err)
		}
		res.Bytes = info.Size()
		res.Rounds = append(res.Rounds, r)
		b.progress("round %d of %d: audit %s, snapshot %s with %d MiB, audit of it %s with %d MiB", i+1,
			b.options.rounds, seconds(r.Audit.Wall),
			seconds(r.Snapshot.Wall), r.Snapshot.Peak/mebibyte, seconds(r.Offline.Wall), r.Offline.Peak/mebibyte)
	}
	return res, nil
}

func (r snapshotResult) of(pick func(snapshotRound) usage) []usage {
	out := make([]usage, len(r.Rounds))
	for i := range r.Rounds {
		out[i] = pick(r.Rounds[i])
	}
	return out
}

func auditOf(r snapshotRound) usage { return r.Audit }

func snapshotOf(r snapshotRound) usage { return r.Snapshot }

func offlineOf(r snapshotRound) usage { return r.Offline }

// overAudit are the ratios of the time of a snapshot to that of an audit, one for each round, in ascending order.
func (r snapshotResult) overAudit() []float64 {
	return ascending(r.Rounds, func(r snapshotRound) float64 {
		return float64(r.Snapshot.Wall) / float64(max(r.Audit.Wall, time.Nanosecond))
	})
}

func (p *printer) snapshots(r snapshotResult) {
	p.line("")
	p.line("%d objects in %d releases, an archive of %d KiB", r.Objects, r.Releases, r.Bytes>>10)
	p.row("\tmedian\tlowest\thighest\tprocessor\tpeak memory\trounds")
	p.usages("audit", r.of(auditOf))
	p.usages("snapshot", r.of(snapshotOf))
	p.usages("audit --snapshot", r.of(offlineOf))
	p.flush()
}
