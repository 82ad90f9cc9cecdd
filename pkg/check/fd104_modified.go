// SPDX-License-Identifier: Apache-2.0

package check

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

var modified = Check{
	Code: "FD104", Name: "Modified", Severity: Warning,
	Title: "desired fields differ on the cluster",
	Explain: "A field that the manifest states has another value on the cluster, or is not set. If the managedFields of the object record it, the finding names the last " +
		"manager of the field and the time. Fields that the manifest does not state are ignored.",
	run: func(in *Input, report func(Finding)) {
		for d, o := range in.ofState(evaluate.Modified) {
			var paths []string
			for _, diff := range o.Differences {
				paths = append(paths, diff.Path)
			}
			f := about(d.BundleDeployment, o.Ref, "%s differs in %s", o.Key(), list(paths))
			for _, diff := range o.Differences {
				who := diff.Who()
				if len(o.Differences) > 1 {
					who = diff.Path + ": " + who
				}
				f.Evidence, f.AsOf = append(f.Evidence, who), max(f.AsOf, diff.Time)
			}
			if o.Message != "" {
				f.Evidence = append(f.Evidence, o.Message)
			}
			f.Remedies = in.restoreOrAccept(d)
			report(f)
		}
	},
}
