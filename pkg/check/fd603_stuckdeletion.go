// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// stuckAfter is how long a deletion may take. A controller of Fleet needs seconds, an overloaded one minutes.
// stuckWithout is how long it may take while the controller does not run: it may start again.
const (
	stuckAfter   = 10 * time.Minute
	stuckWithout = time.Minute
)

func (in *Input) stuckDeletion(out *found) {
	if in.Result.Now().IsZero() {
		return
	}
	clusters, inScope := map[string]string{}, map[object.Ref]bool{} // of BundleDeployments, by their keys
	for _, d := range in.Result.Deployments {
		clusters[d.Key()], inScope[facts.Ref(state.BundleDeployment, d.Namespace, d.Name)] = d.Cluster, d.BD != nil
	}
	for _, all := range in.Result.Tree {
		for _, a := range all {
			inScope[facts.RefOf(a)] = a.InScope
		}
	}
	for _, o := range in.Result.Desired.Deleting() {
		included := in.Result.Whole || inScope[facts.Ref(o.Kind, o.Namespace, o.Name)]
		// The API server deletes an object without finalizers at once.
		limit := stuckAfter
		if in.removerDown(&o) {
			limit = stuckWithout
		}
		if len(o.Finalizers) == 0 || !included || in.Result.Now().Sub(o.Since) < limit {
			continue
		}
		f := in.stuck(&o)
		if cluster := clusters[f.BundleDeployment]; cluster != "" {
			f.Cluster = cluster
		}
		out.report(f, in.Steps.Commands.Show(f.Object, "shows its finalizers and conditions"))
	}
}

// stuck returns the finding about an object that is being deleted.
func (in *Input) stuck(o *state.Deleting) Finding {
	f := Finding{Object: facts.Ref(o.Kind, o.Namespace, o.Name)}
	key := o.Namespace + "/" + o.Name
	f.Message = fmt.Sprintf("%s %s has been in deletion for %s: finalizers %s", o.Kind, strings.TrimPrefix(key, "/"),
		in.Result.Now().Sub(o.Since).Truncate(time.Minute), strings.Join(o.Finalizers, ", "))
	switch o.Kind {
	case state.BundleDeployment:
		f.BundleDeployment = key
	case state.ClusterKind:
		f.Cluster = key
	}
	for _, finalizer := range o.Finalizers {
		s := finalizer + " is not a finalizer of Fleet: its own controller must remove it"
		if name := o.RemoverOf(finalizer); name != "" {
			s = in.remover(name)
		}
		f.sayIf(s != "" && !slices.Contains(f.Evidence, s), s)
	}
	switch o.Kind {
	case state.GitRepo, state.HelmOp:
		n := in.bundlesLabelled(o)
		f.sayIf(n > 0, "it still has "+facts.Count(n, "Bundle"))
	case state.Bundle, state.ClusterKind:
		n := 0
		for _, a := range in.Result.Tree[o.Kind] {
			if a.Key() == key {
				n = a.All
			}
		}
		f.sayIf(n > 0, "it still has "+facts.Count(n, "BundleDeployment"))
	}
	return f
}

// bundlesLabelled counts the Bundles that name a GitRepo or HelmOp in a label.
func (in *Input) bundlesLabelled(o *state.Deleting) int {
	label := fleet.RepoLabel
	if o.Kind == state.HelmOp {
		label = fleet.HelmOpLabel
	}
	n := 0
	for _, b := range in.Result.Desired.Bundles {
		if b.Namespace == o.Namespace && b.Labels[label] == o.Name {
			n++
		}
	}
	return n
}

// removerDown reports whether a Deployment that removes a finalizer of an object does not exist, or does not run.
func (in *Input) removerDown(o *state.Deleting) bool {
	return slices.ContainsFunc(o.Finalizers, func(finalizer string) bool {
		name := o.RemoverOf(finalizer)
		if name == "" {
			return false
		}
		w, known := in.Result.Desired.Controller(name)
		return known && (w == nil || w.Idle != "")
	})
}

// remover describes the Deployment that removes a finalizer; empty if it is not known.
func (in *Input) remover(name string) string {
	w, known := in.Result.Desired.Controller(name)
	switch {
	case !known:
		return ""
	case w == nil:
		return "Deployment " + name + ", which removes the finalizer, does not exist"
	case w.Idle != "":
		return "Deployment " + name + ", which removes the finalizer, does not run: " + w.Idle
	}
	return "Deployment " + name + ", which removes the finalizer, exists: its log has the reason"
}
