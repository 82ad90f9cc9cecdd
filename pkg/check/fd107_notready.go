// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

func (in *Input) notReady(out *found, d *evaluate.BundleDeployment, o *evaluate.Object) {
	f := about(d, o.Ref, "%s is not ready", o.Key())
	if o.Condition != "" {
		f.Message += ": " + o.Condition
	}
	if o.Stuck != nil {
		f.say("%s", o.Stuck.Why)
	}
	f.sayIf(o.Message != "", said(&d.Deployment, o))
	f.sayIf(isOwnRepo(&d.Deployment, o), ofOwnRepo(&d.Deployment))
	f.sayIf(o.Deletion != "", o.Deletion)
	if of, ok := in.refusedPods(d, o); ok {
		f.Follows = []Origin{{Code: codes.NamespaceMeta, Cluster: d.Cluster, Object: of.Object}}
	}
	f.Remedies = only(in.inspect(d, o))
	if rule, err := json.Marshal(o.Ignorable); err == nil && o.Ignorable != nil {
		f.Remedies = append(f.Remedies, remedy.Advise("if the condition is normal for the object, set \"ignore: "+
			"{conditions: [%s]}\" in the fleet.yaml: Fleet then ignores it in all objects of the bundle", rule))
	}
	out.report(f)
}

// inspect is the next step about an object that is not ready: what shows more of it than its own conditions.
func (in *Input) inspect(d *evaluate.BundleDeployment, o *evaluate.Object) remedy.Remedy {
	on := in.Steps.On(d.ClusterID)
	switch {
	case o.Deletion != "":
		return on.Show(o.Ref, "shows its finalizers and conditions")
	case o.Kind == "Job" && strings.HasPrefix(o.Condition, "Failed="):
		return on.LogsOfJob(o.Namespace, o.Name)
	case o.Stuck == nil:
		return on.Describe(o.Ref)
	case o.Stuck.Crashed != "":
		return on.LogsOfCrash(o.Stuck.Ref, o.Stuck.Crashed)
	}
	return on.Describe(o.Stuck.Ref)
}
