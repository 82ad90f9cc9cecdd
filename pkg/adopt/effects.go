// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

// agentManager is the field manager of Fleet's agent: what it owns itself is no conflict.
const agentManager = "fleetagent"

// effects says what follows from an adoption: who loses the object, who may delete it, what the next deploy makes of it, and what Fleet
// will say (docs/fleet-behavior.md, 1.7 and 1.8, 3.6 and 3.7).
func effects(d *evaluate.BundleDeployment, x *evaluate.Object, others []Holder) []string {
	var out []string
	for _, h := range others {
		switch {
		case h.bundle != nil:
			out = append(out, h.Title+" loses it: while it wants the object it will report it \"not owned by us\", its next deploy takes it back, and "+
				"uninstalling it deletes the object by its name")
		case h.Situation == LivingRelease:
			out = append(out, h.Title+" loses it: its next upgrade writes Helm's keys back, and uninstalling it deletes the object by its name")
		case h.Situation == SystemSet, h.Situation == Undecided:
			out = append(out, h.Title+" loses it: whoever applies that may take it back")
		case h.Situation != Contested && x.Metadata.Hash != "" && x.Metadata.Hash == d.Stated.Hash:
			out = append(out, fmt.Sprintf("release %s states the set that it carries now: Fleet will report it as not owned if its agent runs with another scope than the one used here (%s)",
				d.Release.Release(), d.Scope))
		case h.Situation != Contested:
			out = append(out, "nobody loses it: "+h.Title+", whose marks it carries, is not on this cluster any more")
		}
	}
	out = append(out, uninstall(d, x))
	if n := len(x.Differences); n > 0 {
		out = append(out, overwritten(d, n))
		if owners := Conflicting(d, x.Differences); len(owners) > 0 {
			out = append(out, fmt.Sprintf("the release is applied server-side, and %s owns fields that differ: the next deploy may fail on the conflict",
				strings.Join(owners, " and ")))
		}
	}
	if paths := x.Live.LastApplied; len(paths) > 0 {
		out = append(out, fmt.Sprintf("its annotation kubectl.kubernetes.io/last-applied-configuration states %s, which the bundle does not: Fleet will report "+
			"the object as modified although it is not, until the annotation is removed", strings.Join(paths, ", ")))
	}
	return out
}

func uninstall(d *evaluate.BundleDeployment, x *evaluate.Object) string {
	release := "release " + d.Ownership.Release()
	switch {
	case x.Live.Keep:
		return "uninstalling " + release + " leaves it: it carries helm.sh/resource-policy: keep"
	case d.KeepResources, d.Release.Revision == 0 && d.Options().KeepResources: // as it would be installed
		return "uninstalling " + release + " leaves it: the bundle has keepResources"
	}
	return "uninstalling " + release + " deletes it"
}

func overwritten(d *evaluate.BundleDeployment, n int) string {
	what, them := "1 field differs", "it"
	if n > 1 {
		what, them = fmt.Sprintf("%d fields differ", n), "them"
	}
	if correct := d.Options().CorrectDrift; correct != nil && correct.Enabled {
		return what + " from the bundle: correctDrift is on, Fleet overwrites " + them + " at once"
	}
	return what + " from the bundle: the next deploy overwrites " + them
}

// Conflicting are the managers over whose fields the next deploy may fail: those of the differing fields of a release that is applied on the
// server's side. A field that is not there is nobody's.
func Conflicting(d *evaluate.BundleDeployment, diffs []evaluate.Difference) []string {
	if !d.ServerSide {
		return nil
	}
	var out []string
	for _, x := range diffs {
		if x.Manager != "" && x.Manager != agentManager && !!x.Live.Set() && !slices.Contains(out, x.Manager) {
			out = append(out, x.Manager)
		}
	}
	return out
}
