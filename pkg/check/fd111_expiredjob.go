// SPDX-License-Identifier: Apache-2.0

package check

import (
	"math"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

func (in *pass) expiredJob(d *evaluate.BundleDeployment, o *evaluate.Object) {
	if !in.expired(d, o) {
		return
	}
	f := about(d, o.Ref, "%s is not on the cluster: Kubernetes deletes it %ds after it has finished "+
		"(ttlSecondsAfterFinished)", o.Key(), *o.TTLAfterFinished)
	f.Evidence = []string{desiredBy(d)}
	in.report(f, remedy.Advise("nothing to repair; if Fleet should not report it as missing, remove "+
		"ttlSecondsAfterFinished from the manifest, or make the Job a Helm hook"))
}

// expired reports whether Kubernetes may have deleted a missing Job because of its age. A Job that was deployed less
// than that time ago, or never, did not expire.
func (in *Input) expired(d *evaluate.BundleDeployment, o *evaluate.Object) bool {
	if o.TTLAfterFinished == nil || in.notDeployed(d, o) != "" {
		return false
	}
	ttl := time.Duration(min(*o.TTLAfterFinished, math.MaxInt32)) * time.Second // an int32 in the API
	return d.Deployed.IsZero() || in.Now().IsZero() || !d.Deployed.Add(ttl).After(in.Now())
}
