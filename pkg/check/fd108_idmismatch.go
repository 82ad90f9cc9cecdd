// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

var idMismatch = Check{
	Code: "FD108", Name: "IdMismatch", Severity: Info,
	Title: "the hash label is correct, the set id annotation is not",
	run: func(in *Input, report func(Finding)) {
		for d, o := range in.Objects() {
			if !o.IDMismatch {
				continue
			}
			is := "is not set"
			if o.Metadata.SetID != "" {
				is = fmt.Sprintf("is %q", o.Metadata.SetID)
			}
			f := about(&d.Deployment, o.Ref, "%s: annotation %s should be %q and %s", o.Key(), fleet.IDAnnotation,
				d.Ownership.SetID, is)
			command := in.On(d.On).For(o.Ref) + " annotate --overwrite " + remedy.KubectlName(o.Ref) + " " +
				escape.Shell(fleet.IDAnnotation+"="+d.Ownership.SetID)
			f.Remedies = []remedy.Remedy{remedy.Run(command, "sets this annotation, and changes nothing else")}
			report(f)
		}
	},
}
