// SPDX-License-Identifier: Apache-2.0

package why

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/blocker"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/dependency"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// verdict is why a deployment is not ready. The last of its steps is the root cause. A deployment that is ready has no
// steps.
type verdict struct {
	state report.State
	steps []report.WhyStep
	// next is what to do about the root cause, findings are the codes about it.
	next     []remedy.Remedy
	findings []string
	// fromStatus is true if it is ready only according to the status that Fleet reports.
	fromStatus bool
	note       string
}

// only is the list of one remedy.
func only(r remedy.Remedy) []remedy.Remedy { return []remedy.Remedy{r} }

// inspect shows the conditions and events of an object of Fleet.
func (x *explainer) inspect(r object.Ref) []remedy.Remedy { return only(x.in.Commands.Describe(r)) }

// list lists the objects of Fleet of a kind, by the plural name.
func (x *explainer) list(resource, namespace string) []remedy.Remedy {
	return only(x.in.Commands.List(resource, namespace, "lists the "+resource+" of the namespace"))
}

func notReady(next []remedy.Remedy, codes []string, steps ...report.WhyStep) verdict {
	return verdict{state: report.NotReady, steps: steps, next: next, findings: codes}
}

func unknown(next []remedy.Remedy, steps ...report.WhyStep) verdict {
	return verdict{state: report.Unknown, steps: steps, next: next}
}

// after returns a verdict with steps before its own.
func (v verdict) after(steps ...report.WhyStep) verdict {
	v.steps = slices.Concat(steps, v.steps)
	v.state, v.fromStatus, v.note = report.NotReady, false, ""
	return v
}

// path are the bundle deployments of the chain so far.
type path map[object.DeploymentID]bool

// deployment explains a bundle deployment.
func (x *explainer) deployment(d *directory.Deployment, seen path) verdict {
	if seen[d.ID()] {
		return notReady(x.inspect(d.Ref()), nil, stepOf(blocker.Cycle, d, "the chain of causes leads back to it"))
	}
	seen[d.ID()] = true
	if d.BD != nil && d.BD.DeletionTimestamp != nil {
		return x.deleting(d)
	}
	if chain := x.blockers(d); len(chain) > 0 && fleet.StateOf(d.BD) != fleet.OutOfSync {
		return x.blocked(chain, seen)
	}
	actual := evaluate.Unknown
	e := x.evaluated[d.ID()]
	if e != nil {
		actual = e.State
	}
	if d.BD != nil && d.BD.Spec.DeploymentID == "" {
		actual = evaluate.OutOfSync // nothing but a staged deployment
	}
	if actual == evaluate.Unknown && d.BD != nil && d.Problem == directory.ClusterNotRead {
		return x.reported(d, seen)
	}
	switch actual {
	case evaluate.Ready:
		return x.ready(d)
	case evaluate.WaitApplied, evaluate.ErrApplied:
		return x.unexplained(d)
	case evaluate.OutOfSync:
		return x.outOfSync(d, seen)
	case evaluate.NotReady, evaluate.Modified:
		return x.objects(e)
	}
	if d.BD != nil {
		switch fleet.ReportedState(d.BD) {
		case fleet.OutOfSync: // its objects do not matter
			return x.outOfSync(d, seen)
		case fleet.WaitApplied, fleet.ErrApplied:
			return x.unexplained(d)
		}
	}
	return x.notRead(d, e)
}

func (x *explainer) deleting(d *directory.Deployment) verdict {
	message, evidence := x.stuck(state.BundleDeployment, d.Key())
	s := stepOf(Deleting, d, message)
	s.Since, s.Evidence = report.Time(d.BD.DeletionTimestamp.Time), evidence
	f, _ := first(x.findings[d.Key()], "FD603")
	return notReady(x.inspect(d.Ref()), codes(f), s)
}

// codes returns the code of a finding, if there is one.
func codes(f check.Finding) []string {
	if f.Code == "" {
		return nil
	}
	return []string{f.Code}
}

// ready returns the verdict for a deployment whose objects are ready. It notes a status that says something else.
func (x *explainer) ready(d *directory.Deployment) verdict {
	out := verdict{state: report.Ready}
	if d.BD != nil && shown(d.BD) != string(fleet.Ready) {
		out.note = "Fleet reports " + nameOf(d) + " on " + d.Cluster + " as " + shown(d.BD) +
			asOf(d.BD.Reported().AsOf) + ", and its objects are ready"
		if f, ok := first(x.findings[d.Key()], "FD201", "FD612"); ok {
			out.note = f.Message
		}
	}
	return out
}

// unexplained returns the verdict for a deployment that is not applied and that nothing blocks.
func (x *explainer) unexplained(d *directory.Deployment) verdict {
	s := stepOf(NotApplied, d, "its agent has not applied the current deployment, and nothing that was read shows why")
	f, problem := first(x.findings[d.Key()], "FD602")
	switch {
	case problem: // the revision that failed may be one of an earlier deployment
		s.Message = "its agent has not applied the current deployment, and its release has a problem"
		s.Evidence = []string{f.Message}
	case dependency.SaysItWaits(d.BD):
		s.Message = "its agent reported that it waits for a dependency, but no dependency that was read blocks it " +
			"now: the agent tries again"
		s.Evidence = x.in.Errors(d.BD, "Deployed")
	}
	s.Since = report.Time(state.LastChange(d.BD.ManagedFields))
	next := x.inspect(d.Ref())
	if a, known := x.agents[d.Namespace]; known {
		if at := a.Heartbeat.LastSeen; !at.IsZero() {
			s.Evidence = append(s.Evidence, "its agent last reported at "+report.Time(at))
		}
		next = only(x.in.LogsOfAgent(a))
	}
	if problem {
		next = f.Remedies
	}
	return notReady(next, codes(f), s)
}

// notRead returns the verdict for a deployment on a cluster that was read, if its objects could not be read.
func (x *explainer) notRead(d *directory.Deployment, e *evaluate.BundleDeployment) verdict {
	s := stepOf(Unread, d, "its objects could not be read: "+d.Detail)
	if e != nil && d.Problem == "" {
		if i := slices.IndexFunc(e.Objects, func(o evaluate.Object) bool {
			return o.State == evaluate.Unknown
		}); i >= 0 {
			s.Message = unreadObject(&e.Objects[i])
		}
	}
	if f, ok := first(x.findings[d.Key()], "FD602"); ok && e != nil && check.FailedCorrections(e) {
		s.Kind, s.Message, s.Evidence = blocker.Failed, f.Message, f.Evidence
		return notReady(f.Remedies, codes(f), s)
	}
	if d.BD != nil && fleet.ReportedState(d.BD) != fleet.Ready {
		v := x.byStatus(d)
		v.steps[0].Evidence = append(v.steps[0].Evidence, s.Message)
		return v
	}
	if d.BD != nil {
		s.Evidence = append(s.Evidence, "Fleet reports "+shown(d.BD)+asOf(s.AsOf))
	}
	next, found := x.readAgain(d)
	out := unknown(next, s)
	out.findings = found
	return out
}

// readAgain returns the next steps for a deployment whose objects were not read, and the codes of the finding about it.
func (x *explainer) readAgain(d *directory.Deployment) (next []remedy.Remedy, found []string) {
	if f, ok := first(x.findings[d.Key()], "FD602", "FD607", "FD705"); ok {
		return f.Remedies, codes(f)
	}
	if d.Problem == directory.ClusterNotRead {
		add := "--cluster NAME=KUBECONFIG"
		if x.in.Source.Origin == source.OriginSnapshot {
			add = "--cluster-snapshot NAME=PATH"
		}
		next = only(remedy.Advise("%s also reads its cluster", add))
	}
	if !d.OnOtherCluster {
		next = append(next, x.in.ShowRole()) // something could not be read on a cluster that is read
	}
	return next, nil
}

// reported returns the verdict for a deployment on a cluster that was not read.
func (x *explainer) reported(d *directory.Deployment, seen path) verdict {
	is := fleet.ReportedState(d.BD)
	a, silent := x.silent(d)
	switch {
	case is == fleet.WaitApplied || is == fleet.ErrApplied:
		return x.unexplained(d)
	case is == fleet.OutOfSync:
		return x.outOfSync(d, seen)
	case is == fleet.Ready && silent:
		s := stepOf(blocker.Agent, d, "Fleet reports it as Ready, and the agent of its cluster has not reported")
		s.Since = report.Time(a.Heartbeat.LastSeen)
		out := unknown(only(x.in.LogsOfAgent(a)), s)
		out.findings = check.OfAgent(a)
		return out
	case is == fleet.Ready:
		return verdict{state: report.Ready, fromStatus: true}
	}
	v := x.byStatus(d)
	if silent {
		v.steps[0].Evidence = append(v.steps[0].Evidence,
			"the agent of its cluster has not reported since "+report.Time(a.Heartbeat.LastSeen)+": the status is old")
	}
	return v
}

// asOf is the time of a status as the end of a sentence.
func asOf(at string) string {
	if at == "" {
		return ""
	}
	return " as of " + at
}
