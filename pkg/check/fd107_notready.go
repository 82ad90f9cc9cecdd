// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

func (in *pass) notReady(d *evaluate.BundleDeployment, o *evaluate.Object) {
	f := about(d, o.Ref, "%s is not ready", o.Key())
	if o.Condition != "" {
		f.Message += ": " + o.Condition
	}
	f.sayIf(o.Message != "", o.Message)
	if of, ok := in.refusedPods(d, o); ok {
		f.Follows = []Origin{{Code: "FD110", Cluster: d.Cluster, Object: of.Object}}
	}
	f.Remedies = only(in.On(d.On).Describe(o.Ref))
	if rule, err := json.Marshal(o.Ignorable); err == nil && o.Ignorable != nil {
		f.Remedies = append(f.Remedies, remedy.Advise("if the condition is normal for the object, set \"ignore: {conditions: [%s]}\" in "+
			"the fleet.yaml: Fleet then ignores it in all objects of the bundle", rule))
	}
	in.report(f)
}
