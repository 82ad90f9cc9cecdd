// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"io"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/watch"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// round is the result of a round of --watch.
type round struct {
	result *report.Audit
	status error
}

// repeat audits until ctx ends.
func (o *options) repeat(ctx context.Context) error {
	return watch.Run(ctx, &o.watch, o.Environment, watch.Rounds[round]{
		Read: func(ctx context.Context) (round, error) {
			found, result, err := o.once(ctx)
			if err != nil {
				return round{}, err
			}
			return round{result, o.status(found, result)}, nil
		},
		Status: func(r round) error { return r.status },
		Print: func(w io.Writer, r round, width, rows int) error {
			return o.show(w, o.document(r.result, width, rows))
		},
		Lines: func(before *round, after round) []string {
			if before == nil {
				return watch.Changes(nil, after.result)
			}
			return watch.Changes(before.result, after.result)
		},
	})
}
