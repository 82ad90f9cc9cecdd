// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

func (in *Input) modified(out *found, d *evaluate.BundleDeployment, o *evaluate.Object) {
	f := about(d, o.Ref, "%s differs in %s", o.Key(), facts.List(paths(o)))
	for _, diff := range o.Differences {
		f.AsOf = max(f.AsOf, diff.Time)
	}
	f.Evidence = differs(o, len(o.Differences) > 1)
	f.sayIf(o.ChangedOnWrite(), "its release states another value than the agent wrote: an admission webhook may have "+
		"changed it, which is not proven, and may change it again after each write")
	out.report(f, in.Steps.RestoreOrAccept(d, o)...)
}

// paths are the fields in which an object differs.
func paths(o *evaluate.Object) []string {
	var out []string
	for _, diff := range o.Differences {
		out = append(out, diff.Path)
	}
	return out
}

// differs describes who wrote the fields in which an object differs, and what qualifies the differences. With names,
// each sentence names its field.
func differs(o *evaluate.Object, names bool) []string {
	var out []string
	for _, diff := range o.Differences {
		who := diff.Who()
		if names {
			who = diff.Path + ": " + who
		}
		out = append(out, who)
	}
	if o.Message != "" {
		out = append(out, o.Message)
	}
	return out
}
