// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

// difference describes why the policy if-no-diff does not take an object; it is "" if the object is proven to be as the
// bundle desires it. A field that comparePatches ignore is a difference here: the next deploy overwrites it.
func difference(d *evaluate.BundleDeployment, x *evaluate.Object) string {
	const unknown = "it is not known whether it differs from the bundle: "
	var paths []string
	for _, diff := range x.Differences {
		paths = append(paths, diff.Path)
	}
	switch live := x.Live; {
	case len(paths) > 0:
		return "it differs from the bundle in " + shortened(paths)
	case !live.Compared && x.Message != "":
		return unknown + x.Message
	case !live.Compared:
		return unknown + "fields of its manifest differ each time the bundle is rendered"
	case len(live.Excused) > 0:
		return "it differs from the bundle in " + shortened(live.Excused) +
			", which the comparePatches of the bundle ignore and the next deploy overwrites"
	case len(live.LastApplied) > 0:
		return fmt.Sprintf("its last-applied annotation states %s, which the bundle does not have: Fleet reports it "+
			"as modified", strings.Join(live.LastApplied, ", "))
	}
	if why := outdated(d); why != "" {
		return unknown + why
	}
	return ""
}

// outdated describes why the desired objects of a bundle deployment may be older than the bundle: the next deploy may
// then change objects that equal them. It is "" if they are those of the bundle.
func outdated(d *evaluate.BundleDeployment) string {
	switch {
	case d.From == desired.FromFiles:
		return ""
	case d.BD == nil:
		return fmt.Sprintf("the BundleDeployment of release record %s was not read, so the bundle may be newer than "+
			"the record", d.Release)
	case d.BD.Spec.DeploymentID != d.BD.Spec.StagedDeploymentID:
		return "the newest deployment of the bundle waits for its rollout"
	case d.From != desired.FromRelease:
		return ""
	case d.BD.Spec.DeploymentID != d.BD.Status.AppliedDeploymentID:
		return fmt.Sprintf("release record %s is of an earlier deployment of the bundle; --desired=%s compares with "+
			"the bundle itself", d.Release, desired.FromBundle)
	}
	newer := slices.IndexFunc(d.RecordProblems, func(p directory.RecordProblem) bool {
		return p.Record.Revision > d.Release.Revision
	})
	if newer >= 0 {
		return fmt.Sprintf("release record %s is not the newest one: %s", d.Release, d.RecordProblems[newer].Detail)
	}
	return ""
}

// shortened lists paths, but only the first ones of many.
func shortened(paths []string) string {
	const most = 3
	if len(paths) > most+1 {
		return fmt.Sprintf("%s and %d more fields", strings.Join(paths[:most], ", "), len(paths)-most)
	}
	return strings.Join(paths, ", ")
}
