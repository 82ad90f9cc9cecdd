// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// each calls a check for each of some parts of the result.
func each[T any](parts func(*Input) []T, check func(*Input, *found, T)) func(*Input, *found) {
	return func(in *Input, out *found) {
		for _, part := range parts(in) {
			check(in, out, part)
		}
	}
}

// one is each for a check that returns its finding, if it has one.
func one[T any](parts func(*Input) []T, check func(*Input, T) (Finding, bool)) func(*Input, *found) {
	return each(parts, func(in *Input, out *found, part T) { out.reportIf(check(in, part)) })
}

// many is each for a check that returns its findings.
func many[T any](parts func(*Input) []T, check func(*Input, T) []Finding) func(*Input, *found) {
	return each(parts, func(in *Input, out *found, part T) {
		out.findings = append(out.findings, check(in, part)...)
	})
}

// anyState is for checks of objects in all states.
const anyState evaluate.State = ""

// objects calls a check for each object in a state.
func objects(is evaluate.State, check func(*Input, *found, *evaluate.BundleDeployment, *evaluate.Object),
) func(*Input, *found) {
	return each((*Input).deployments, func(in *Input, out *found, d *evaluate.BundleDeployment) {
		for i := range d.Objects {
			if is == anyState || d.Objects[i].State == is {
				check(in, out, d, &d.Objects[i])
			}
		}
	})
}

// secrets calls a check for each BundleDeployment with the state of its values Secret.
func secrets(check func(*Input, *found, *valuesOwner)) func(*Input, *found) {
	return each((*Input).deployments, func(in *Input, out *found, d *evaluate.BundleDeployment) {
		if d.BD != nil {
			check(in, out, in.valuesOf(d))
		}
	})
}

func (in *Input) deployments() []*evaluate.BundleDeployment { return in.Result.Deployments }

func (in *Input) clusters() []*directory.Cluster { return in.Result.Desired.Clusters }

// agents are those of the Clusters in scope.
func (in *Input) agents() []evaluate.Agent {
	return slices.DeleteFunc(slices.Clone(in.Facts.Agents()), func(a evaluate.Agent) bool {
		return !in.Result.Includes(state.ClusterKind, a.Cluster)
	})
}

// bundleSecrets are the Bundles with the state of their values Secrets. The values of a HelmOp are in its Bundle.
func (in *Input) bundleSecrets() []*valuesOwner {
	var out []*valuesOwner
	for _, a := range in.Result.Tree[state.Bundle] {
		b, ok := a.Object.(*v1alpha1.Bundle)
		if partly := a.InScope || len(a.BundleDeployments) > 0; ok && partly && !ofHelmOp(b) {
			out = append(out, in.valuesOfBundle(b))
		}
	}
	return out
}

// bundles are the Bundles in scope that are not being deleted.
func (in *Input) bundles() []*v1alpha1.Bundle {
	var out []*v1alpha1.Bundle
	for _, o := range subjects(state.Bundle)(in) {
		if b, ok := o.(*v1alpha1.Bundle); ok && !facts.Deleting(b) {
			out = append(out, b)
		}
	}
	return out
}

// above are the kinds of aggregates.
var above = []string{state.Bundle, state.GitRepo, state.HelmOp, state.ClusterKind, state.ClusterGroup}

// aggregates returns a function that lists those of some kinds that are in scope.
func aggregates(kinds ...string) func(*Input) []*evaluate.Aggregate {
	return func(in *Input) []*evaluate.Aggregate {
		var out []*evaluate.Aggregate
		for _, kind := range kinds {
			for _, a := range in.Result.Tree[kind] {
				if a.InScope {
					out = append(out, a)
				}
			}
		}
		return out
	}
}

// subjects returns a function that lists the objects of aggregates.
func subjects(kinds ...string) func(*Input) []v1alpha1.Object {
	return func(in *Input) []v1alpha1.Object {
		var out []v1alpha1.Object
		for _, a := range aggregates(kinds...)(in) {
			out = append(out, a.Object)
		}
		return out
	}
}
