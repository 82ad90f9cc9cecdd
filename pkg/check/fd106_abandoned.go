// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

func (in *pass) abandoned() {
	for _, m := range in.Undesired {
		// A set that could not be read may still have a release.
		known := in.Whole && m.On.SetsComplete && len(in.Desired.On(m.On).BySet(m.Metadata.Hash)) == 0
		if !known || !in.abandonedByAgent(m) {
			continue
		}
		f := Finding{Object: m.Ref, Cluster: in.ClusterName(m.On),
			Message: fmt.Sprintf("%s has ownership metadata of set %q, and no release on this cluster has that set",
				m.Key(), m.Metadata.SetID)}
		f.say("label %s=%s", fleet.HashLabel, m.Metadata.Hash)
		f.sayIf(m.Metadata.ReleaseName != "", "Helm's annotations name release "+m.Metadata.Release())
		in.report(f, in.On(m.On).Show(m.Ref, "shows it, so that you can decide whether anything still uses it"))
	}
}

func (in *Input) abandonedByAgent(m evaluate.Undesired) bool {
	switch {
	case m.Metadata.SetHasOwner || fleet.IsFleetsOwnSet(m.Metadata.SetID):
		return false
	case m.Metadata.SetID == "": // the set id is lost; only Helm's annotations can name the release
		return !m.Controlled && m.Metadata.ReleaseName != "" && !m.On.State.Releases[m.Metadata.Release()]
	}
	return fleet.IsBundleSet(m.Metadata.SetID) && len(in.Desired.On(m.On).BySet(fleet.Hash(m.Metadata.SetID))) == 0
}
