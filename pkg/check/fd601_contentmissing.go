// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

func (in *Input) contentMissing(out *found) {
	users, damage := map[string][]*evaluate.BundleDeployment{}, map[string]string{}
	for _, d := range in.Result.Deployments {
		if d.BD == nil {
			continue
		}
		if fleet.StateOf(d.BD) == fleet.OutOfSync {
			continue // Fleet deletes the contents of the earlier deployment, and never writes them again
		}
		id, damaged := state.ContentID(d.BD), d.Rendering.ContentDamage
		missing := in.Result.Desired.Contents.Missing[id]
		if id != "" && (missing || damaged != "") {
			users[id] = append(users[id], d)
		}
		if !missing && damaged != "" {
			damage[id] = damaged
		}
	}
	for _, id := range slices.Sorted(maps.Keys(users)) {
		in.content(out, id, damage[id], users[id])
	}
}

// content reports a Content that some bundle deployments need.
func (in *Input) content(out *found, id, damage string, users []*evaluate.BundleDeployment) {
	f := Finding{Object: facts.Ref(state.Content, "", id)}
	var names []string
	waiting := 0
	for _, d := range users {
		names = append(names, d.Key())
		if d.BD.Spec.DeploymentID != d.BD.Status.AppliedDeploymentID {
			waiting++
		}
	}
	if damage == "" {
		f.Settle = in.Facts.SameContent(users[0].BD)
	}
	if in.usersOf(id) == 1 { // in every scope, so that the identity of the finding is the same
		f.BundleDeployment, f.Cluster = users[0].Key(), users[0].Cluster
	}
	f.Message = fmt.Sprintf("content %s does not exist: it has the manifests of %s", id, facts.List(names))
	if damage != "" {
		f.Message = fmt.Sprintf("the manifests of %s cannot be read: %s", facts.List(names), damage)
	}
	applied := len(users) - waiting
	f.sayIf(waiting > 0, facts.Count(waiting, "bundle deployment")+" cannot be deployed without it")
	f.sayIf(applied > 0, facts.Count(applied, "bundle deployment")+" with it applied cannot be deployed again")
	if damage == "" && in.superseded(users[0], id) {
		f.say("bundle %s has other contents by now, and the controller writes only those: the rollout's next "+
			"deployment brings them", users[0].Bundle)
		out.report(f, in.Steps.Commands.ShowCauses(&users[0].Deployment))
		return
	}
	out.report(f, in.writeContent(users[0], damage))
}

// superseded reports whether it is known that the present contents of the Bundle of a bundle deployment are others than
// those of a Content.
func (in *Input) superseded(d *evaluate.BundleDeployment, content string) bool {
	b := in.Facts.Bundle(d.Bundle)
	if b == nil || b.Status.ResourcesSHA256Sum == "" || !facts.Observed(b) {
		return false
	}
	return fleet.ManifestID(b.Status.ResourcesSHA256Sum) != content
}

// usersOf counts the bundle deployments of a Content, in scope or not.
func (in *Input) usersOf(content string) int {
	n := 0
	for _, d := range in.Result.Desired.Deployments {
		if d.BD != nil && state.ContentID(d.BD) == content {
			n++
		}
	}
	return n
}

// writeContent makes the controller write a Content. It never overwrites one that exists (docs/fleet-behavior.md,
// 4.10).
func (in *Input) writeContent(d *evaluate.BundleDeployment, damage string) remedy.Remedy {
	switch {
	case d.Bundle == "":
		return remedy.Advise("restore the Bundle of the BundleDeployment: only the controller can write the Content")
	case damage != "":
		return remedy.Advise("commit a change to the files of the bundle: Fleet then writes another Content")
	}
	return in.Steps.Process(d.Bundle, "makes the controller write the Content again from the Bundle, without a deploy")
}
