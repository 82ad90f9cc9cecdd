// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Stuck returns a function that says why an object of Fleet that is being deleted stays, as a sentence with evidence.
func (in *Input) Stuck() func(kind, key string) (message string, evidence []string) {
	of := map[[2]string]*state.Deleting{}
	all := in.Result.Desired.Deleting()
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
