// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

var unowned = Check{
	Code: "FD102", Name: "Unowned", Severity: Error,
	Title: "the object is there, without this bundle's marks",
	Explain: "Fleet counts an object as a bundle's only if it carries the hash label of the bundle's set. It calls this object missing, or \"not owned by us\", " +
		"though it exists. The reason says which marks it has instead; the owner, who holds it.",
	run: func(in *Input) []Finding {
		return in.ofState(evaluate.Unowned, func(d *evaluate.BundleDeployment, o *evaluate.Object) Finding {
			return Finding{
				Message:     fmt.Sprintf("%s exists, but %s", o.Key(), whyUnowned(d, o)),
				Evidence:    wantedMarks(d, o),
				Remediation: in.claim(d, o),
			}
		})
	},
}

func whyUnowned(d *evaluate.BundleDeployment, o *evaluate.Object) string {
	switch ownership.Reason(o.Reason) {
	case ownership.Unmarked:
		return "carries no mark at all"
	case ownership.HelmOnly:
		return "carries only Helm's marks of release " + d.Release.Release()
	case ownership.HashStripped:
		return "has lost the hash of its set " + d.Ownership.SetID
	case ownership.Inconsistent:
		return "carries the id of its set with another hash"
	}
	if d.Stated.Hash != "" && o.Metadata.Hash == d.Stated.Hash {
		return fmt.Sprintf("carries set %q, with which its release was made; the agent uses set %q", d.Stated.SetID, d.Ownership.SetID)
	}
	return "is held by " + holder(o.Owner)
}

// holder names an owner as well as it is known.
func holder(o *evaluate.Owner) string {
	switch {
	case o == nil:
		return "nobody"
	case o.BundleDeployment != "":
		return "bundle deployment " + o.BundleDeployment
	case o.SetID != "":
		return fmt.Sprintf("set %q, which no release on this cluster has", o.SetID)
	case o.Hash != "":
		return "a set without id (hash " + o.Hash + "), which no release on this cluster has"
	}
	return "Helm release " + o.Release
}

// wantedMarks lists the exact keys that would make the object the bundle's, and what is there instead.
func wantedMarks(d *evaluate.BundleDeployment, o *evaluate.Object) []string {
	var out []string
	for _, c := range ownership.Changes(o.Metadata.Stamps(), d.Ownership.Stamps()) {
		switch {
		case c.New == nil: // of the marks that are wanted all five are there, but where the release has no name yet
		case c.Old == nil:
			out = append(out, fmt.Sprintf("%s %s=%s is wanted and not there", c.Field(), c.Name, *c.New))
		default:
			out = append(out, fmt.Sprintf("%s %s=%s is wanted, it is %q", c.Field(), c.Name, *c.New, *c.Old))
		}
	}
	return out
}

// claim is a command that shows what would make the object, and the others of its bundle, the bundle's.
func (in *Input) claim(d *evaluate.BundleDeployment, o *evaluate.Object) string {
	if len(d.On.Objects[o.Key()]) > 1 {
		return "decide which bundle is to have it, and take it out of the other"
	}
	return in.Commands.Adopt + " " + in.Commands.BundleArgs(d.BundleDeployment)
}
