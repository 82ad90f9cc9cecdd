// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

func (in *Input) abandoned(out *found) {
	for _, m := range in.Result.Undesired {
		// A set that could not be read may still have a release.
		on := in.Result.Desired.On(m.Cluster)
		known := in.Result.Whole && on.SetsKnown(m.Key())
		if !known || hasRelease(on, m, m.Metadata.Hash) || !abandonedByAgent(on, m) {
			continue
		}
		none, unconfirmed := "no release", on.BySet(m.Metadata.Hash)
		if len(unconfirmed) > 0 {
			none = "no confirmed release"
		}
		f := Finding{Object: m.Ref, Cluster: in.Facts.ClusterName(on.Cluster),
			Message: fmt.Sprintf("%s has ownership metadata of set %q, and %s on this cluster has that set",
				m.Key(), m.Metadata.SetID, none)}
		f.say("label %s=%s", fleet.HashLabel, m.Metadata.Hash)
		f.sayIf(m.Metadata.ReleaseName != "", "Helm's annotations name release "+m.Metadata.Release())
		for _, d := range unconfirmed {
			f.say("the record of release %s in another namespace states the set, and nothing confirms that", d.Release)
		}
		out.report(f, in.Steps.On(m.Cluster).Show(m.Ref,
			"shows it, so that you can decide whether anything still uses it"))
	}
}

// hasRelease reports whether a release may have an object with the set of a hash.
func hasRelease(on desired.OnCluster, m evaluate.Undesired, hash string) bool {
	return len(on.MayHave(hash, m.Key(), m.Metadata)) > 0
}

func abandonedByAgent(on desired.OnCluster, m evaluate.Undesired) bool {
	switch {
	case m.Metadata.SetHasOwner || fleet.IsFleetsOwnSet(m.Metadata.SetID):
		return false
	case m.Metadata.SetID == "": // the set id is lost; only Helm's annotations can name the release
		return !m.Controlled && m.Metadata.ReleaseName != "" && !on.State.Releases[m.Metadata.Release()]
	}
	return fleet.IsBundleSet(m.Metadata.SetID) && !hasRelease(on, m, fleet.Hash(m.Metadata.SetID))
}
