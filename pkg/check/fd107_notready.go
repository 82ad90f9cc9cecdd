// SPDX-License-Identifier: Apache-2.0

package check

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

func (in *pass) notReady(d *evaluate.BundleDeployment, o *evaluate.Object) {
	f := about(d, o.Ref, "%s is not ready", o.Key())
	if o.Condition != "" {
		f.Message += ": " + o.Condition
	}
	f.sayIf(o.Message != "", o.Message)
	if of, ok := in.refusedPods(d, o); ok {
		f.Follows = []Origin{{Code: "FD110", Cluster: d.Cluster, Object: of.Object}}
	}
	in.report(f, in.On(d.On).Describe(o.Ref))
}
