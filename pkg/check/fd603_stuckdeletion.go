// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// stuckAfter is how long a deletion may take. A controller of Fleet needs seconds, an overloaded one minutes.
const stuckAfter = 10 * time.Minute

func (in *pass) stuckDeletion() {
	if in.Now().IsZero() {
		return
	}
	deployments, inScope := map[string]*evaluate.BundleDeployment{}, map[[2]string]bool{}
	for _, d := range in.Deployments {
		if d.BD != nil {
			deployments[d.Key()], inScope[[2]string{state.BundleDeployment, d.Key()}] = d, true
		}
	}
	for kind := range in.Tree {
		for a := range in.Aggregates(kind) {
			inScope[[2]string{kind, a.Key()}] = true
		}
	}
	var children map[[2]string]int
	for _, o := range in.Desired.Deleting() {
		if len(o.Finalizers) == 0 {
			continue // the API server deletes it at once
		}
		id := [2]string{o.Kind, o.Namespace + "/" + o.Name}
		included := in.Whole || inScope[id]
		if !included || in.Now().Sub(o.Since) < stuckAfter {
			continue
		}
		if children == nil {
			children = in.children()
		}
		f := in.stuck(&o, children[id])
		if d := deployments[f.BundleDeployment]; d != nil {
			f.Cluster = d.Cluster
		}
		in.report(f)
	}
}

// stuck returns the finding about an object that waits for a number of children.
func (in *Input) stuck(o *state.Deleting, children int) Finding {
	ref := facts.Ref(o.Kind, o.Namespace, o.Name)
	f := Finding{
		Object: ref,
		Message: fmt.Sprintf("%s %s has been in deletion for %s: finalizers %s",
			o.Kind, strings.TrimPrefix(o.Namespace+"/"+o.Name,
				"/"), in.Now().Sub(o.Since).Truncate(time.Minute), strings.Join(o.Finalizers, ", ")),
		Remedies: []remedy.Remedy{in.Commands.Show(ref, "shows its finalizers and conditions")},
	}
	switch o.Kind {
	case state.BundleDeployment:
		f.BundleDeployment = o.Namespace + "/" + o.Name
	case state.ClusterKind:
		f.Cluster = o.Namespace + "/" + o.Name
	}
	said := map[string]bool{}
	for _, finalizer := range o.Finalizers {
		name := o.RemoverOf(finalizer)
		s := finalizer + " is not a finalizer of Fleet: its own controller must remove it"
		if name != "" {
			s = in.remover(name)
		}
		if s != "" && !said[s] {
			said[s] = true
			f.Evidence = append(f.Evidence, s)
		}
	}
	switch {
	case children == 0:
	case o.Kind == state.GitRepo || o.Kind == state.HelmOp:
		f.Evidence = append(f.Evidence, "it still has "+facts.Count(children, "Bundle"))
	default:
		f.Evidence = append(f.Evidence, "it still has "+facts.Count(children, "BundleDeployment"))
	}
	return f
}

// remover describes the Deployment that removes a finalizer; empty if it was not read.
func (in *Input) remover(name string) string {
	w, read := in.Desired.Controllers[name]
	switch {
	case !read:
		return ""
	case w == nil:
		return "Deployment " + name + ", which removes the finalizer, does not exist"
	case w.Idle != "":
		return "Deployment " + name + ", which removes the finalizer, does not run: " + w.Idle
	}
	return "Deployment " + name + ", which removes the finalizer, exists: its log has the reason"
}

// children counts the Bundles of each GitRepo and HelmOp, and the BundleDeployments of each Bundle and Cluster, by kind
// and "namespace/name".
func (in *Input) children() map[[2]string]int {
	out := map[[2]string]int{}
	for _, kind := range []string{state.Bundle, state.ClusterKind} {
		for _, a := range in.Tree[kind] {
			out[[2]string{kind, a.Key()}] = a.All
		}
	}
	for _, b := range in.Desired.Bundles {
		for kind, label := range map[string]string{state.GitRepo: fleet.RepoLabel, state.HelmOp: fleet.HelmOpLabel} {
			if name := b.Labels[label]; name != "" {
				out[[2]string{kind, b.Namespace + "/" + name}]++
			}
		}
	}
	return out
}
