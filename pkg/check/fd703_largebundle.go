// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// largeSize is the size in bytes of the JSON of a Bundle from which it is reported. The limit of etcd is 1.5 MiB by
// default.
const largeSize = 1 << 20

var largeBundle = Check{
	Code: "FD703", Name: "LargeBundle", Severity: Info,
	Title: "a Bundle is larger than 1 MiB",
	run: func(in *Input, report func(Finding)) {
		for _, b := range in.BundlesInScope() {
			if b.Size > largeSize {
				report(Finding{Object: facts.Ref(state.Bundle, b.Namespace, b.Name),
					Message: fmt.Sprintf("Bundle %s/%s has %.1f MiB", b.Namespace, b.Name, float64(b.Size)/(1<<20)),
					Remedies: []remedy.Remedy{remedy.Advise("split the directory into several bundles, or exclude " +
						"files with .fleetignore")}})
			}
		}
	},
}
