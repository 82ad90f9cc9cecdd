// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// effects lists the consequences of an adoption: the owner that loses the object, the uninstall that deletes it, the
// fields that the next deploy changes, and the state that Fleet reports.
func effects(d *evaluate.BundleDeployment, x *evaluate.Object, owners []ownership.Owner) []string {
	var out []string
	for _, o := range owners {
		switch {
		case o.Situation == ownership.Contested: // it does not own the object: nothing changes for it
		case len(o.Bundles) > 0:
			out = append(out, o.String()+" loses it: while it desires the object, Fleet will report the object "+
				"there as \"not owned by us\". Its next deploy takes the object back, and its uninstall deletes the "+
				"object by its name")
		case o.Situation == ownership.ExistingRelease:
			out = append(out, o.String()+" loses it: its next upgrade restores Helm's label and annotations, and "+
				"uninstalling it deletes the object by its name")
		case o.Exists():
			out = append(out, o.String()+" loses it: the program that applies it may take it back")
		case x.Metadata.Hash != "" && x.Metadata.Hash == d.ReleaseOwnership.Hash:
			out = append(out, fmt.Sprintf("release %s states the set that the object has now: if the agent runs with "+
				"another scope than the one used here (%s), Fleet will report the object as not owned",
				d.Release.Release(), d.Scope))
		default:
			out = append(out, "no owner loses it: "+o.String()+" is not on this cluster any more")
		}
	}
	out = append(out, uninstall(d, x))
	if n := len(x.Differences); n > 0 {
		out = append(out, overwritten(d, n))
		if owners := d.Conflicting(x.Differences); len(owners) > 0 {
			out = append(out, fmt.Sprintf("the release is applied server-side, and %s owns fields that differ: the "+
				"next deploy may fail on the conflict",
				strings.Join(owners, " and ")))
		}
	}
	if paths := x.Live.Excused; len(paths) > 0 {
		out = append(out, fmt.Sprintf("the next deploy also overwrites %s, which the comparePatches of the bundle "+
			"ignore", shortened(paths)))
	}
	if paths := x.Live.LastApplied; len(paths) > 0 {
		out = append(out, fmt.Sprintf("its annotation kubectl.kubernetes.io/last-applied-configuration states %s, "+
			"which the bundle does not state: until the annotation is removed, Fleet will report the object as "+
			"modified, although it is not", strings.Join(paths, ", ")))
	}
	if x.Message != "" { // why the changes of the next deploy could not be predicted
		out = append(out, x.Message)
	}
	return out
}

func uninstall(d *evaluate.BundleDeployment, x *evaluate.Object) string {
	release := "release " + d.Ownership.Release()
	switch {
	case x.Live.Keep:
		return "uninstalling " + release + " leaves it: it has the annotation helm.sh/resource-policy: keep"
	case d.KeepResources, d.Release.Revision == 0 && d.Options().KeepResources: // as it will be installed
		return "uninstalling " + release + " leaves it: the bundle has keepResources"
	}
	return "uninstalling " + release + " deletes it"
}

func overwritten(d *evaluate.BundleDeployment, n int) string {
	fields, them := "1 field differs", "it"
	if n > 1 {
		fields, them = fmt.Sprintf("%d fields differ", n), "them"
	}
	if correct := d.Options().CorrectDrift; correct != nil && correct.Enabled {
		return fields + " from the bundle: correctDrift is on, Fleet overwrites " + them + " at once"
	}
	return fields + " from the bundle: the next deploy overwrites " + them
}
