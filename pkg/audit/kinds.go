// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// DesiredKinds returns the kinds that the bundles of a source deploy and that the source serves, ordered by group and kind.
func DesiredKinds(ctx context.Context, src source.Source) ([]source.Kind, error) {
	r, err := read(ctx, src, Options{})
	if err == nil {
		err = r.found()
	}
	if err != nil {
		return nil, err
	}
	kinds := map[schema.GroupKind]bool{}
	for _, c := range r.desired.Clusters {
		desired := c.Claims.Kinds()
		if f, all := c.State.Coverage.Records.Of(""); !all && len(desired) == 0 {
			return nil, fmt.Errorf("reading release records: %s", f.Reason)
		}
		maps.Copy(kinds, desired)
	}
	var out []source.Kind
	for _, k := range r.Kinds.All() {
		if kinds[k.GroupKind()] {
			out = append(out, k)
			delete(kinds, k.GroupKind()) // one version of it is enough
		}
	}
	return out, nil
}
