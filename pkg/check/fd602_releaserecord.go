// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"
)

var releaseRecord = Check{
	Code: "FD602", Name: "ReleaseRecord", Severity: Error,
	Title: "the release record is pending, failed, pruned or damaged",
	Explain: "Fleet's desired objects are the manifest in one revision of the Helm release. If that revision was deleted, Fleet treats the bundle as empty and reports " +
		"it as ready. At a pending revision, Helm was interrupted; a failed revision was not applied completely.",
	run: func(in *Input, report func(Finding)) {
		for _, d := range in.Deployments {
			for _, t := range d.RecordProblems {
				f := onDeployment(d, "%s", t.Detail)
				if name := "release " + t.Record.Release(); !strings.Contains(t.Detail, name) {
					f.Message = name + ": " + t.Detail
				}
				f.Evidence = []string{fmt.Sprintf("record %s/%s is %s", t.Record.Namespace, t.Record.SecretName(), t.Status)}
				f.Remediation = in.redeploy(d)
				report(f)
			}
		}
	},
}
