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
	Title:   "the hash label is correct, the set id annotation is not",
	Explain: "Fleet reads only the hash label, so it counts the object as owned by the bundle. Only people and tools like this one read the annotation.",
	run: func(in *Input) []Finding {
		return in.each(func(d *evaluate.BundleDeployment, o *evaluate.Object) *Finding {
			if !o.IDMismatch {
				return nil
			}
			is := "is not set"
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
