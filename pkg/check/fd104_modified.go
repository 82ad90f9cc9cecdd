// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

var modified = Check{
	Code: "FD104", Name: "Modified", Severity: Warning,
	Title: "desired fields differ on the cluster",
	Explain: "A field that the manifest states has another value on the cluster, or is not set. If the managedFields of the object record it, the finding names the last " +
		"manager of the field and the time. Fields that the manifest does not state are ignored.",
	run: func(in *Input) []Finding {
		return in.ofState(evaluate.Modified, func(d *evaluate.BundleDeployment, o *evaluate.Object) Finding {
			f := Finding{Message: fmt.Sprintf("%s differs in %s", o.Key(), pathList(o.Differences))}
			for _, diff := range o.Differences {
				who := diff.Who()
				if len(o.Differences) > 1 {
					who = diff.Path + ": " + who
				}
				f.Evidence = append(f.Evidence, who)
			}
			if o.Message != "" {
				f.Evidence = append(f.Evidence, o.Message)
			}
			f.AsOf = newestTime(o.Differences)
			f.Remediation = fmt.Sprintf("%s %s --diff", in.Commands.Audit, in.Commands.BundleArgs(d.BundleDeployment))
			return f
		})
	},
}

// pathList names up to three paths.
func pathList(ds []evaluate.Difference) string {
	const most = 3
	var paths []string
	for _, d := range ds[:min(len(ds), most)] {
		paths = append(paths, d.Path)
	}
	if len(ds) > most {
		paths = append(paths, count(len(ds)-most, "more field"))
	}
	return strings.Join(paths, ", ")
}

func newestTime(ds []evaluate.Difference) string {
	newest := ""
	for _, d := range ds {
		newest = max(newest, d.Time)
	}
	return newest
}
