// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
)

// drift compares what is installed with what the program carries.
func (j *judgement) drift() {
	var details []string
	var unread, unsure int
	for _, d := range j.Desired {
		o := j.Objects[install.RefOf(d).Key()]
		switch {
		case o.Reason != "":
			unread++
		case j.Unsure[install.RefOf(d).Key()]:
			unsure++
		case o.Object == nil:
			if j.local() {
				continue
			}
			details = append(details, install.RefOf(d).Key().String()+" is not there")
		default:
			for _, each := range driftOf(d, o.Object) {
				if !j.local() || !address(each) {
					details = append(details, install.RefOf(d).Key().String()+": "+each.String())
				}
			}
		}
	}
	state, message := OK, "as the program has it"
	switch {
	case len(details) > 0:
		state, message = Wrong, "it is not as the program has it; `webhook install` puts it right"
	case unread > 0 && unread == len(j.Desired):
		j.add("manifests", Unknown, "nothing of it could be read: "+plural(unread, "object"))
		return
	case unread+unsure == len(j.Desired):
		state, message = Unknown, "nothing could be compared"
	case unread+unsure > 0:
		state, message = Unknown, "as far as could be read, as the program has it"
	}
	if unread > 0 {
		message += fmt.Sprintf("; %s could not be read", plural(unread, "object"))
	}
	if unsure > 0 {
		message += fmt.Sprintf("; what %s should be like depends on options that could not be read", plural(unsure, "object"))
	}
	j.add("manifests", state, message, details...)
}

// address says whether a difference is only that a webhook is called at an address.
func address(d difference) bool {
	return strings.HasSuffix(d.path, ".clientConfig.service") || strings.HasSuffix(d.path, ".clientConfig.url")
}
