// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

var noRepo = Check{
	Code: "FD304", Name: "NoRepo", Severity: Warning,
	Title: "the GitRepo or HelmOp of a Bundle does not exist",
	run: func(in *Input, report func(Finding)) {
		for _, b := range in.bundlesInScope() {
			repo, ok := repoOf(b)
			if kind := repo[0]; !ok || in.exists(kind, repo[1]) || in.young(b) || !in.read(kind, b.Namespace) {
				continue
			}
			report(Finding{
				Object:    Ref(state.Bundle, b.Namespace, b.Name),
				Message:   fmt.Sprintf("bundle %s is of %s %s, which does not exist", key(b), repo[0], repo[1]),
				Remedies:  []Remedy{in.Commands.explainTargets(b)},
				DependsOn: []object.Ref{Ref(state.Bundle, b.Namespace, b.Name), Ref(repo[0], b.Namespace, strings.TrimPrefix(repo[1], b.Namespace+"/"))},
			})
		}
	},
}
