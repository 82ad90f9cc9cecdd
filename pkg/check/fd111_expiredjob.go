// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"math"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

var expiredJob = Check{
	Code: "FD111", Name: "ExpiredJob", Severity: report.Info,
	Title: "a desired Job is gone, as its ttlSecondsAfterFinished asks for",
	Explain: "Kubernetes deletes a Job with ttlSecondsAfterFinished once it has finished and that time has passed. Fleet counts it as missing for ever, and so " +
		"do the counts here, but nothing is wrong with the cluster.",
	run: func(c *Case) []report.Finding {
		return c.each(func(d *Deployment, o *Object) *report.Finding {
			if !c.expired(d, o) {
				return nil
			}
			return &report.Finding{
				Message:     fmt.Sprintf("%s is not on the cluster: Kubernetes deletes it %ds after it has finished (ttlSecondsAfterFinished)", o.Key(), *o.TTLAfterFinished),
				Evidence:    []string{stated(d)},
				Remediation: "nothing to repair; to end Fleet's report that it is missing, take ttlSecondsAfterFinished out of the manifest, or make the Job a Helm hook",
			}
		})
	},
}

// expired says whether a missing Job may have been deleted for its age. One that was deployed less than that time ago was not,
// and neither was one that was never deployed.
func (c *Case) expired(d *Deployment, o *Object) bool {
	if o.State != report.Missing || o.TTLAfterFinished == nil || c.notDeployed(d, o) != "" {
		return false
	}
	ttl := time.Duration(min(*o.TTLAfterFinished, math.MaxInt32)) * time.Second // an int32 in the API
	return d.Deployed.IsZero() || c.Now.IsZero() || !d.Deployed.Add(ttl).After(c.Now)
}
