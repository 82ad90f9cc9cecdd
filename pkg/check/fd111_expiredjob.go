// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

func (in *Input) expiredJob(out *found, d *evaluate.BundleDeployment, o *evaluate.Object) {
	if !in.expired(d, o) {
		return
	}
	f := about(d, o.Ref, "%s is not on the cluster: Kubernetes deletes it %ds after it has finished "+
		"(ttlSecondsAfterFinished)", o.Key(), *o.TTLAfterFinished)
	f.Evidence = []string{desiredBy(d)}
	out.report(f, remedy.Advise("nothing to repair; if Fleet should not report it as missing, remove "+
		"ttlSecondsAfterFinished from the manifest, or make the Job a Helm hook"),
		in.Steps.Commands.Rules(&d.Deployment, "prints the rule with which Fleet ignores the missing Job"))
}
