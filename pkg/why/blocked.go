// SPDX-License-Identifier: Apache-2.0

package why

import (
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/blocker"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// blocked explains a deployment that is not applied.
func (x *explainer) blocked(chain []blocker.Step, seen path) verdict {
	var steps []report.WhyStep
	for _, b := range chain {
		s := stepOf(b.Kind, b.Of, b.Message+b.Said)
		s.Since = report.Time(b.Since)
		if b.Kind == blocker.Failed {
			s.AsOf = ""
		}
		steps = append(steps, s)
	}
	root := chain[len(chain)-1]
	if root.Kind != blocker.State {
		for _, b := range chain {
			seen[b.Of.ID()] = true
		}
		return x.root(root, seen).after(steps...)
	}
	for _, b := range chain[:len(chain)-1] {
		seen[b.Of.ID()] = true
	}
	steps = steps[:len(steps)-1] // the explanation of the dependency says more
	v := x.deployment(root.Of, seen)
	if v.state == report.Ready {
		return x.readyDependency(root.Of, v).after(steps...)
	}
	return v.after(steps...)
}

// readyDependency explains a dependency that its agent does not accept, although it is ready as far as the data shows.
func (x *explainer) readyDependency(d *directory.Deployment, v verdict) verdict {
	s := stepOf(StatusWrong, d, "Fleet reports it as "+shown(d.BD)+", and its objects are ready")
	if fleet.StateOf(d.BD) == fleet.Ready {
		s.Kind, s.Message = ReportedState, "it is Ready, which the dependency does not accept"
	}
	if v.note != "" {
		s.Evidence = []string{v.note}
	}
	f, _ := first(x.findings[d.Key()], "FD201")
	return notReady(x.inspect(d.Ref()), codes(f), s)
}

// root returns what to do about the last blocker of a chain, and the step behind it, if there is one.
func (x *explainer) root(b blocker.Step, seen path) verdict {
	d := b.Of
	switch b.Kind {
	case blocker.Paused:
		return x.paused(d)
	case blocker.Schedule:
		return notReady(x.list("schedules", d.BD.Labels[fleet.ClusterNamespaceLabel]), nil)
	case blocker.Agent:
		a := x.agents[d.Namespace]
		if v := x.notProcessed(a.Cluster); len(v) > 0 {
			return v[0]
		}
		return notReady(only(x.in.LogsOfAgent(a)), check.OfAgent(a))
	case blocker.Absent:
		return x.absentDependency(b, seen)
	}
	code := map[blocker.Kind][]string{blocker.Values: {"FD402", "FD403"}, blocker.Record: {"FD602"},
		blocker.Failed: {"FD604"}}[b.Kind]
	f, ok := first(x.findings[d.Key()], code...)
	if b.Kind == blocker.Content {
		f, ok = first(x.others[facts.Ref(state.Content, "", state.ContentID(d.BD))], "FD601")
	}
	if !ok {
		return notReady(x.inspect(d.Ref()), nil)
	}
	return notReady(f.Remedies, codes(f))
}

// paused returns the step about the object that pauses a bundle deployment.
func (x *explainer) paused(d *directory.Deployment) verdict {
	r, ok := x.in.Pauses(d)
	if !ok {
		return notReady(x.inspect(d.Ref()), nil)
	}
	s := report.WhyStep{Kind: blocker.Paused, Object: r, Name: r.Name, Message: "it is paused"}
	if r.Kind == state.ClusterKind {
		s.Cluster = r.Namespace + "/" + r.Name
	}
	return notReady(only(x.in.Resume(r)), nil, s)
}

// absentDependency explains why nothing on a cluster matches a dependency.
func (x *explainer) absentDependency(b blocker.Step, seen path) verdict {
	d := b.Of
	none := notReady(x.inspect(d.Ref()), nil)
	workspace := d.BD.Labels[fleet.BundleNamespaceLabel]
	if b.Dependency == "" || workspace == "" {
		return none
	}
	s := report.WhyStep{Object: facts.Ref(state.Bundle, workspace, b.Dependency), Name: b.Dependency}
	bundle, cluster := x.in.Bundle(workspace+"/"+b.Dependency), x.in.ClusterIn(d.Namespace)
	switch {
	case bundle == nil && x.in.Desired.Read(state.Bundle, workspace):
		s.Kind, s.Message = NoBundle, "the Bundle does not exist"
		return notReady(x.list("bundles", workspace), nil, s)
	case bundle == nil || cluster == nil:
		return none
	}
	s.AsOf = bundle.Reported().AsOf
	if stop, ok := x.stop(bundle); ok {
		return stop
	}
	switch r, ok := x.in.Targets(bundle).On(cluster.Namespace, cluster.Name); {
	case ok && r.Outcome == targeting.Excluded:
		s.Kind, s.Message, s.Cluster = Excluded, "its targets do not select the cluster ("+string(r.Reason)+")",
			d.Cluster
		return notReady(only(x.in.Commands.ExplainTargets(bundle)), nil, s)
	case ok && r.Outcome != targeting.Unknown:
		return x.absent(bundle, r, seen)
	}
	return none
}

// takenAt is when the objects of a bundle deployment were read; zero if it is not known.
func (x *explainer) takenAt(d *directory.Deployment) time.Time {
	for _, c := range x.in.Clusters {
		if c.On == d.On {
			return c.Source.TakenAt
		}
	}
	return x.in.Now()
}
