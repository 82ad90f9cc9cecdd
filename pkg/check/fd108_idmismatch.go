// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"al.essio.dev/pkg/shellescape"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

var idMismatch = Check{
	Code: "FD108", Name: "IdMismatch", Severity: report.Info,
	Title:   "the hash is right, the id annotation is not",
	Explain: "Fleet looks at the hash alone, so the object counts as the bundle's. The annotation only tells people, and tools like this one, whose it is.",
	run: func(c *Case) []report.Finding {
		return c.each(func(d *Deployment, o *Object) *report.Finding {
			if !o.IDMismatch {
				return nil
			}
			is := "is not there"
			if o.Metadata.SetID != "" {
				is = fmt.Sprintf("is %q", o.Metadata.SetID)
			}
			return &report.Finding{
				Message:     fmt.Sprintf("%s: annotation %s should be %q and %s", o.Key(), fleet.IDAnnotation, d.Ownership.SetID, is),
				Remediation: fmt.Sprintf("%s annotate --overwrite %s %s", c.Commands.kubectl(o.Ref), kubectlName(o.Ref), shellescape.Quote(fleet.IDAnnotation+"="+d.Ownership.SetID)),
			}
		})
	},
}
