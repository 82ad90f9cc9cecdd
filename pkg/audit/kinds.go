// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// DesiredKinds lists the kinds that the bundles of a source deploy, as far as it serves them, ordered by group and kind.
func DesiredKinds(ctx context.Context, src source.Source) ([]source.Kind, error) {
	r := newRun(src, Options{})
	if err := r.gather(ctx); err != nil {
		return nil, err
	}
	if f, all := r.records.Of(""); !all && len(r.inv.Wants) == 0 {
		return nil, fmt.Errorf("reading release records: %s", f.Reason)
	}
	desired := map[schema.GroupKind]bool{}
	for key := range r.inv.Wants {
		desired[key.GroupKind()] = true
	}
	var out []source.Kind
	for _, k := range r.kinds.All() {
		if desired[k.GroupKind()] {
			out = append(out, k)
		}
	}
	return out, nil
}
