// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"math"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

var expiredJob = Check{
	Code: "FD111", Name: "ExpiredJob", Severity: Info,
	Title: "a desired Job is gone, as its ttlSecondsAfterFinished asks for",
	Explain: "Kubernetes deletes a Job with ttlSecondsAfterFinished once it has finished and that time has passed. Fleet counts it as missing for ever, and so " +
		"do the counts here, but nothing is wrong with the cluster.",
	run: func(in *Input) []Finding {
		return in.each(func(d *evaluate.BundleDeployment, o *evaluate.Object) *Finding {
			if !in.expired(d, o) {
				return nil
			}
			return &Finding{
				Message:     fmt.Sprintf("%s is not on the cluster: Kubernetes deletes it %ds after it has finished (ttlSecondsAfterFinished)", o.Key(), *o.TTLAfterFinished),
				Evidence:    []string{stated(d)},
				Remediation: "nothing to repair; to end Fleet's report that it is missing, take ttlSecondsAfterFinished out of the manifest, or make the Job a Helm hook",
			}
		})
	},
}

// expired says whether a missing Job may have been deleted for its age. One that was deployed less than that time ago was not,
// and neither was one that was never deployed.
func (in *Input) expired(d *evaluate.BundleDeployment, o *evaluate.Object) bool {
	if o.State != evaluate.Missing || o.TTLAfterFinished == nil || in.notDeployed(d, o) != "" {
		return false
	}
	ttl := time.Duration(min(*o.TTLAfterFinished, math.MaxInt32)) * time.Second // an int32 in the API
	return d.Deployed.IsZero() || in.Now().IsZero() || !d.Deployed.Add(ttl).After(in.Now())
}
