// SPDX-License-Identifier: Apache-2.0

// Package input has the flags that name the source of a verb's data, a cluster or a snapshot. It opens the source,
// suggests commands that read the same source, and adds hints to errors of reading it.
package input

import (
	"context"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
)

// Reading is an opened source, with the progress line that is shown while it is read.
type Reading struct {
	Source source.Source
	// Cluster is the same source if it is a live one, nil for a snapshot.
	Cluster *cluster.Cluster
	*output.Progress
}

// Report shows the progress of an audit.
func (r *Reading) Report(p collect.Progress) { r.Show(p.Doing, p.Objects) }

// Read opens the source, shows a progress line while read runs, and adds a hint to the error.
func (f *Flags) Read(ctx context.Context, read func(*Reading) error) error {
	r := &Reading{Progress: f.StartProgress()}
	defer r.Clear()
	var err error
	if r.Source, r.Cluster, err = f.Open(ctx); err == nil {
		err = read(r)
	}
	return f.Explain(err)
}

// StartProgress starts a progress line on standard error. Clear must be called.
func (f *Flags) StartProgress() *output.Progress {
	doing := "connecting to the cluster"
	if f.Captured() {
		doing = "reading the snapshot"
	}
	if f.NoProgress {
		return output.StartProgress(nil, doing)
	}
	return output.StartProgress(f.Streams.ErrOut, doing)
}
