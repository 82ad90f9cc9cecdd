// SPDX-License-Identifier: Apache-2.0

package state

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"

// ControllerOf returns the Deployment in Fleet's system namespace that processes the objects of a kind whose label
// names a shard; without a shard, those without the label. Source: docs/fleet-behavior.md, 4.12.
func ControllerOf(kind, shard string) string {
	name := fleet.ControllerName
	switch kind {
	case GitRepo:
		name = fleet.GitJobName
	case HelmOp:
		name = fleet.HelmOpsName
	}
	if shard == "" {
		return name
	}
	return sharded(name, shard)
}

// WantedControllers returns the names of the Deployments that explain why Fleet does not act: those that remove the
// finalizers of objects that are being deleted, and those of shards.
func (f *Fleet) WantedControllers() map[string]bool {
	out := map[string]bool{}
	for _, d := range f.Deleting() {
		for _, finalizer := range d.Finalizers {
			out[d.RemoverOf(finalizer)] = true
		}
	}
	for _, k := range Kinds {
		for _, o := range k.Of(f) {
			if shard := o.GetLabels()[fleet.ShardLabel]; shard != "" {
				out[ControllerOf(k.Name, shard)] = true
			}
		}
	}
	delete(out, "")
	return out
}
