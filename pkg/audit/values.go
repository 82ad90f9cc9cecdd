// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
)

// values reads the values Secrets of the management cluster. Predictions and audits of files or of the status alone do not need them.
func (r *reading) values(ctx context.Context) error {
	o := r.options
	if o.StatusOnly || o.Predict || o.Files != nil {
		return nil
	}
	pause := o.Pause
	if pause == nil {
		pause = collect.Pause
	}
	gaps, err := r.Values(ctx, r.desired.Fleet, pause)
	r.gaps = append(r.gaps, gaps...)
	return err
}
