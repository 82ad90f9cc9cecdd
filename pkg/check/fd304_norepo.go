// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

var noRepo = Check{
	Code: "FD304", Name: "NoRepo", Severity: Warning,
	Title: "the GitRepo or HelmOp of a Bundle does not exist",
	run: func(in *Input, report func(Finding)) {
		for _, b := range in.BundlesInScope() {
			repo, ok := facts.RepoOf(b)
			if !ok || in.Exists(repo) {
				continue
			}
			if in.Young(b) || !in.Read(repo.Kind, b.Namespace) {
				continue
			}
			ref := facts.Ref(state.Bundle, b.Namespace, b.Name)
			report(Finding{
				Object: ref,
				Message: fmt.Sprintf("bundle %s is of %s %s/%s, which does not exist", facts.Key(b), repo.Kind,
					repo.Namespace, repo.Name),
				Remedies: []remedy.Remedy{in.Commands.ExplainTargets(b)},
				Settle:   in.Unchanged(ref, repo),
			})
		}
	},
}
