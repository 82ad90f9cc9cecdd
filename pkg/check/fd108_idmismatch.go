// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

func (in *Input) idMismatch(out *found, d *evaluate.BundleDeployment, o *evaluate.Object) {
	if !o.IDMismatch {
		return
	}
	is := "is not set"
	if o.Metadata.SetID != "" {
		is = fmt.Sprintf("is %q", o.Metadata.SetID)
	}
	f := about(d, o.Ref, "%s: annotation %s should be %q and %s", o.Key(), fleet.IDAnnotation,
		d.Ownership.SetID, is)
	out.report(f, remedy.Make(remedy.Step{Kind: remedy.StepAdopt, Object: o.Ref},
		"sets this annotation, and changes nothing else"))
}
