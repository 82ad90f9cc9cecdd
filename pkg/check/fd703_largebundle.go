// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// largeSize is the size in bytes of the JSON of a Bundle from which it is reported. The limit of etcd is 1.5 MiB by
// default.
const largeSize = 1 << 20

func (in *Input) largeBundle(out *found, b *v1alpha1.Bundle) {
	if b.Size <= largeSize {
		return
	}
	out.report(Finding{Object: facts.RefTo(b),
		Message: fmt.Sprintf("Bundle %s has %.1f MiB", facts.Key(b), float64(b.Size)/(1<<20)),
	}, remedy.Advise("split the directory into several bundles, or exclude files with .fleetignore"))
}
