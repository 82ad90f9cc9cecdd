// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// The explanation of an object uses the rules of the checks, for objects that need not be in scope.

// Behind returns in what a GitRepo is behind, as sentences (FD605).
func (in *Input) Behind(g *v1alpha1.GitRepo) []string {
	if !in.followed(g) {
		return nil
	}
	var out []string
	for _, x := range in.behind(g) {
		out = append(out, x.message)
	}
	return out
}

// CodeNotFollowed is the code of the findings that Behind returns.
const CodeNotFollowed = "FD605"

// Stuck returns a function that says why an object of Fleet that is being deleted stays, as a sentence with evidence.
func (in *Input) Stuck() func(kind, key string) (message string, evidence []string) {
	of := map[[2]string]*state.Deleting{}
	all := in.Desired.Deleting()
	for i := range all {
		of[[2]string{all[i].Kind, all[i].Namespace + "/" + all[i].Name}] = &all[i]
	}
	return func(kind, key string) (string, []string) {
		o := of[[2]string{kind, key}]
		if o == nil || len(o.Finalizers) == 0 {
			return "it is being deleted", nil
		}
		return "it is being deleted, and has the finalizers " +
			strings.Join(o.Finalizers, ", "), in.stuck(o).Evidence
	}
}
