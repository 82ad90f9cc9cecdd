// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"al.essio.dev/pkg/shellescape"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

var idMismatch = Check{
	Code: "FD108", Name: "IdMismatch", Severity: Info,
	Title:   "the hash is right, the id annotation is not",
	Explain: "Fleet looks at the hash alone, so the object counts as the bundle's. The annotation only tells people, and tools like this one, whose it is.",
	run: func(in *Input) []Finding {
		return in.each(func(d *evaluate.BundleDeployment, o *evaluate.Object) *Finding {
			if !o.IDMismatch {
				return nil
			}
			is := "is not there"
			if o.Metadata.SetID != "" {
				is = fmt.Sprintf("is %q", o.Metadata.SetID)
			}
			return &Finding{
				Message:     fmt.Sprintf("%s: annotation %s should be %q and %s", o.Key(), fleet.IDAnnotation, d.Ownership.SetID, is),
				Remediation: fmt.Sprintf("%s annotate --overwrite %s %s", in.Commands.kubectl(o.Ref), kubectlName(o.Ref), shellescape.Quote(fleet.IDAnnotation+"="+d.Ownership.SetID)),
			}
		})
	},
}
