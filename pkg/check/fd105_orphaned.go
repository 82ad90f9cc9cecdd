// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

func (in *Input) orphaned(out *found, d *evaluate.BundleDeployment) {
	for _, m := range d.Orphans {
		in.orphanedObject(out, d, m)
	}
}

func (in *Input) orphanedObject(out *found, d *evaluate.BundleDeployment, m evaluate.Undesired) {
	release, on := d.Release.Release(), in.Steps.On(d.ClusterID)
	f := about(d, m.Ref, "%s is left over from an earlier revision of release %s", m.Key(), release)
	unknown := in.withoutResult(d.ClusterID)
	const effect = "deletes it and what it contains, which no deploy creates again"
	if unknown > 0 {
		f.say("its cluster has %s without a result, which may desire it", facts.Count(unknown, "bundle deployment"))
	}
	if _, still := d.Recorded[m.Key()]; still {
		f.Message = fmt.Sprintf("%s is in release %s and no longer in the bundle: the next deploy deletes it", m.Key(),
			release)
		out.report(f, in.Steps.Commands.Predict(&d.Deployment))
		return
	}
	f.Remedies = []remedy.Remedy{on.Show(m.Ref, "shows it, so that you can decide whether anything still uses it")}
	switch {
	case unknown > 0:
	case remedy.NeverDeleted(m.Ref) != "":
		f.Remedies = append(f.Remedies, remedy.Run(on.For(m.Ref)+" delete "+remedy.KubectlName(m.Ref), effect))
	default:
		f.Remedies = append(f.Remedies, remedy.Make(remedy.Step{Kind: remedy.StepRemove, Object: m.Ref,
			Downstream: true}, effect))
	}
	out.report(f)
}

// withoutResult returns the number of bundle deployments on a cluster with desired objects that are not known.
func (in *Input) withoutResult(c object.ClusterID) int {
	n := 0
	for _, d := range in.Result.Desired.Deployments {
		if d.IsOn(c) && d.Problem != "" {
			n++
		}
	}
	return n
}
