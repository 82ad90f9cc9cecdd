// SPDX-License-Identifier: Apache-2.0

package why

import (
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// blocked explains a deployment that is not applied.
func (x *explainer) blocked(chain []check.Blocker, seen path) verdict {
	var steps []report.WhyStep
	for _, b := range chain {
		s := stepOf(kindOfBlocker(b.Kind), b.Of, b.Message+b.Said)
		s.Since = report.Time(b.Since)
		if b.Kind == check.BlockerFailed {
			s.AsOf = ""
		}
		steps = append(steps, s)
	}
	root := chain[len(chain)-1]
	if root.Kind != check.BlockerState {
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
	f, _ := x.find(d, "FD201")
	return notReady(x.in.Inspect(d.Ref()), codes(f), s)
}

// root returns what to do about the last blocker of a chain, and the step behind it, if there is one.
func (x *explainer) root(b check.Blocker, seen path) verdict {
	d := b.Of
	switch b.Kind {
	case check.BlockerPaused:
		return x.paused(d)
	case check.BlockerSchedule:
		return notReady(x.in.List("schedules", d.BD.Labels[fleet.ClusterNamespaceLabel]), nil)
	case check.BlockerAgent:
		a := x.agents[d.Namespace]
		return notReady(x.in.AgentLogs(a), check.OfAgent(a))
	case check.BlockerAbsent:
		return x.absentDependency(b, seen)
	}
	code := map[check.BlockerKind][]string{check.BlockerValues: {"FD402", "FD403"}, check.BlockerRecord: {"FD602"},
		check.BlockerFailed: {"FD604"}}[b.Kind]
	f, ok := x.find(d, code...)
	if b.Kind == check.BlockerContent {
		f, ok = x.about(check.Ref(state.Content, "", state.ContentID(d.BD)), "FD601")
	}
	if !ok {
		return notReady(x.in.Inspect(d.Ref()), nil)
	}
	return notReady(f.Remedies, codes(f))
}

// paused returns the step about the object that pauses a bundle deployment.
func (x *explainer) paused(d *directory.Deployment) verdict {
	r, ok := x.in.Pauses(d)
	if !ok {
		return notReady(x.in.Inspect(d.Ref()), nil)
	}
	s := report.WhyStep{Kind: kindOfBlocker(check.BlockerPaused), Object: r, Name: r.Name, Message: "it is paused"}
	if r.Kind == state.ClusterKind {
		s.Cluster = r.Namespace + "/" + r.Name
	}
	return notReady(x.in.Resume(r), nil, s)
}

// absentDependency explains why nothing on a cluster matches a dependency.
func (x *explainer) absentDependency(b check.Blocker, seen path) verdict {
	d := b.Of
	none := notReady(x.in.Inspect(d.Ref()), nil)
	workspace := d.BD.Labels[fleet.BundleNamespaceLabel]
	if b.Dependency == "" || workspace == "" {
		return none
	}
	s := report.WhyStep{Object: check.Ref(state.Bundle, workspace, b.Dependency), Name: b.Dependency}
	bundle, cluster := x.in.Bundle(workspace+"/"+b.Dependency), x.in.ClusterIn(d.Namespace)
	switch {
	case bundle == nil && x.in.Desired.Read(state.Bundle, workspace):
		s.Kind, s.Message = NoBundle, "the Bundle does not exist"
		return notReady(x.in.List("bundles", workspace), nil, s)
	case bundle == nil || cluster == nil:
		return none
	}
	s.AsOf = bundle.Reported().AsOf
	if stop, ok := x.stop(bundle); ok {
		return stop
	}
	switch r, ok := x.in.Targets(bundle).On(cluster.Namespace, cluster.Name); {
	case ok && r.Outcome == targeting.Excluded:
		s.Kind, s.Message, s.Cluster = Excluded, "its targets do not select the cluster ("+string(r.Reason)+")", d.Cluster
		return notReady(x.in.ExplainTargets(bundle), nil, s)
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
