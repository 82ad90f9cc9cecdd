// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	// maxNote is the limit of the API for the note of an Event, in bytes.
	maxNote = 1 << 10
	// maxListed is the number of fields or objects that a note names.
	maxListed = 5
)

// ofObject describes the state of an object.
func ofObject(d *view.Deployment, o view.Object) string {
	by := " (bundle deployment " + d.ID.String() + ")"
	x := o.Detail
	if x == nil {
		x = &view.Detail{}
	}
	switch o.State {
	case report.Missing:
		return fmt.Sprintf("the object is not on the cluster, but release %s revision %d has it%s", d.Release,
			d.Revision, by)
	case report.Unowned:
		text := "the object does not have the ownership metadata of its bundle: " + x.Reason
		if x.Owner != "" {
			text += ", owner " + x.Owner
		}
		return text + by
	case report.Modified:
		return "fields differ from the bundle: " + strings.Join(listed(fields(x.Changes)), ", ") + by
	case report.NotReady:
		return "the object is as desired, but not ready: " + cmp.Or(x.Message, "no reason is known") + by
	case report.Orphaned:
		return "the object was in an earlier revision of the bundle and is no longer desired" + by
	}
	return "the object is as desired" + by
}

// fields names the fields that differ, and who wrote them.
func fields(changes []view.Change) []string {
	var out []string
	for _, c := range changes {
		by := "who is not recorded"
		if c.Manager != "" {
			by = "by " + c.Manager
		}
		out = append(out, c.Path+" ("+by+")")
	}
	return out
}

// ofDeployment describes what changed in a bundle deployment.
func ofDeployment(d *view.Deployment, changed []string) string {
	return fmt.Sprintf("the state is %s, %d of %d objects are ready; changed: %s", d.State, d.Counts.Ready,
		d.Counts.Desired, strings.Join(listed(changed), ", "))
}

// ofUninstall describes that a release vanished.
func ofUninstall(u *view.Uninstalled) string {
	text := fmt.Sprintf("Helm release %s of bundle deployment %s was uninstalled", u.Name, u.BundleID)
	if u.Last == nil || !u.Last.Exists {
		text = fmt.Sprintf("Helm release %s, according to its record of bundle deployment %s, was uninstalled", u.Name,
			u.BundleID)
	}
	if n := len(u.Refs()); n > 0 {
		text += "; it had " + report.Plural(n, "object")
	}
	if u.KeepResources {
		text += "; its objects stay if its agent uninstalled it (keepResources)"
	}
	switch u.Bundle {
	case view.Present:
		return text + "; its Bundle exists"
	case view.Absent:
		return text + "; its Bundle does not exist"
	}
	return text + "; whether its Bundle exists is not known"
}

// listed returns the first elements of a list, and the number of the others.
func listed(all []string) []string {
	if len(all) <= maxListed {
		return all
	}
	return append(all[:maxListed:maxListed], fmt.Sprintf("%d more", len(all)-maxListed))
}

// note makes a text valid for an Event.
func note(text string) string { return cut(escape.Line(text), maxNote, maxNote-len("…")) }

// cut returns the beginning of a text that is longer than a limit, in bytes.
func cut(text string, limit, beginning int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:beginning], "") + "…"
}
