// SPDX-License-Identifier: Apache-2.0

package exported

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Queries returns the expressions to ask for, the first one at the present time of the server, the others at the time
// of its series. match has label matchers of PromQL that select the auditors; empty for all.
func Queries(match string) []string {
	if match != "" {
		match = "," + match
	}
	of := func(name string) string { return fmt.Sprintf(`{__name__="%s%s"%s}`, prefix, name, match) }
	out := []string{of(synced), of(lastEvaluation), of(leader), of(auditorGaps), of(deploymentState),
		of(desiredObjects), of(reportedState), of(reportedDesired), of(pending)}
	for _, name := range []string{objects, reportedObjects, objectState, unnamedObjects, finding, unnamedFindings} {
		out = append(out, of(name)+" > 0") // most are 0
	}
	names := slices.Sorted(maps.Values(levels))
	return append(out, fmt.Sprintf(`{__name__=~"%s(%s)_.+"%s}`, prefix, strings.Join(names, "|"), match))
}
