// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// asVersion replaces the versions of Fleet that were read by the one of the options, and returns a note about that.
func (r *Reading) asVersion() []string {
	v := r.options.AsVersion
	if v == "" {
		return nil
	}
	runs := map[string]bool{}
	if c := r.Management.ControllerVersion; c != "" {
		runs["controller "+c] = true
	}
	r.Management.ControllerVersion = v
	for _, c := range r.States {
		for namespace, w := range c.Workloads {
			runs["agent "+cmp.Or(w.Version, "of an unknown version")] = true
			w.Version = v
			c.Workloads[namespace] = w
		}
	}
	actual := cmp.Or(strings.Join(slices.Sorted(maps.Keys(runs)), ", "), "an unknown version")
	return []string{fmt.Sprintf("evaluated as if Fleet %s ran. What runs is: %s. The status that Fleet reports is "+
		"from the version that runs", v, actual)}
}
