// SPDX-License-Identifier: Apache-2.0

package why

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// codesOf are the codes of the findings about an object in a state.
var codesOf = map[report.State][]string{report.Missing: {"FD101", "FD111"}, report.Unowned: {"FD102"},
	report.Modified: {"FD104"}, report.NotReady: {"FD107"}, report.Orphaned: {"FD105"}}

// order is the order in which the states of objects decide the state of their deployment. Fleet tests readiness first
// (docs/fleet-behavior.md, 4.3).
var order = []report.State{report.NotReady, report.Missing, report.Unowned, report.Modified, report.Orphaned}

func worstFirst(a, b report.Resource) int {
	return cmp.Or(cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)), a.Compare(b.Ref))
}

// objects explains a deployment by its live objects.
func (x *explainer) objects(e *evaluate.BundleDeployment) verdict {
	var all []report.Resource
	var next []remedy.Remedy
	var found []string
	add := func(r report.Resource) check.Finding {
		var f check.Finding
		for _, candidate := range x.findings[e.Key()] {
			if candidate.Object == r.Ref && slices.Contains(codesOf[r.State], candidate.Code) {
				f = candidate
				break
			}
		}
		if f.Message != "" {
			r.Message = f.Message
		}
		all = append(all, r)
		return f
	}
	of := map[object.Ref]check.Finding{}
	for i := range e.Objects {
		o := &e.Objects[i]
		s := report.State(o.State)
		if o.NotReady {
			s = report.NotReady
		}
		if !slices.Contains(order, s) {
			continue
		}
		of[o.Ref] = add(report.Resource{Ref: o.Ref, State: s, Reason: o.Reason,
			Message: sentenceOf(s, o.Ref, o.Condition), Owner: o.Owner})
	}
	for _, u := range e.Orphans {
		of[u.Ref] = add(report.Resource{Ref: u.Ref, State: report.Orphaned,
			Message: sentenceOf(report.Orphaned, u.Ref, "")})
	}
	if len(all) == 0 {
		return x.byStatus(&e.Deployment)
	}
	slices.SortStableFunc(all, worstFirst)
	for _, r := range all {
		f := of[r.Ref]
		if f.Code != "" && !slices.Contains(found, f.Code) {
			found = append(found, f.Code)
		}
		if next == nil {
			next = f.Remedies
		}
	}
	slices.Sort(found)
	s := stepOf(Objects, &e.Deployment, all[0].Message+more(len(all)-1))
	s.AsOf, s.Resources = report.Time(x.takenAt(&e.Deployment)), all
	if f := of[all[0].Ref]; f.Code != "FD102" { // its evidence are the labels and annotations, which adopt shows
		s.Evidence = f.Evidence
	}
	if next == nil {
		next = only(x.in.Commands.ShowDifferences(&e.Deployment))
	}
	return notReady(next, found, s)
}

// sentenceOf describes the state of an object, if no finding does.
func sentenceOf(s report.State, r object.Ref, condition string) string {
	out := r.Key().String()
	switch s {
	case report.NotReady:
		out += " is not ready"
		if condition != "" {
			out += ": " + condition
		}
	case report.Missing:
		out += " is not on the cluster"
	case report.Unowned:
		out += " exists, and is not owned by the bundle"
	case report.Orphaned:
		out += " is left over from an earlier revision"
	default:
		out += " is modified"
	}
	return out
}

// more is the number of further objects as the end of a sentence.
func more(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ", and 1 more object has a problem"
	}
	return fmt.Sprintf(", and %d more objects have problems", n)
}

// mostSaid is the number of objects of which the reason that Fleet reports is shown.
const mostSaid = 3

// byStatus explains a deployment by the objects that its status lists.
func (x *explainer) byStatus(d *directory.Deployment) verdict {
	status := &d.BD.Status
	var all []report.Resource
	var said []string // why objects are not ready, as Fleet reports
	add := func(s report.State, apiVersion, kind, namespace, name string) {
		r := report.Resource{Ref: object.Ref{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name},
			State: s}
		r.Message = sentenceOf(s, r.Ref, "")
		all = append(all, r)
	}
	if fleet.ReportedState(d.BD) == fleet.NotReady {
		for i := range status.NonReadyStatus {
			o := &status.NonReadyStatus[i]
			add(report.NotReady, o.APIVersion, o.Kind, o.Namespace, o.Name)
			if text := x.in.ReportedOf(d, o); text != "" && len(said) < mostSaid {
				said = append(said, all[i].Key().String()+text)
			}
		}
	}
	for _, o := range status.ModifiedStatus {
		s := report.Modified
		switch {
		case o.Exist:
			s = report.Unowned
		case o.Missing:
			s = report.Missing
		case o.Delete:
			s = report.Orphaned
		}
		add(s, o.APIVersion, o.Kind, o.Namespace, o.Name)
	}
	slices.SortStableFunc(all, worstFirst)
	next := x.inspect(d.Ref())
	if len(all) == 0 {
		return notReady(next, nil, stepOf(ReportedState, d,
			"Fleet reports it as "+shown(d.BD)+", and its status lists no object"))
	}
	s := stepOf(Objects, d, all[0].Message+more(len(all)-1)+", as Fleet reports")
	s.Resources = all
	s.Evidence = slices.Concat(said, []string{"its cluster was not read: this is the status that its agent wrote"})
	if status.IncompleteState {
		s.Evidence = append(s.Evidence, "the status lists ten objects of each kind at most")
	}
	return notReady(next, nil, s)
}

// deployed explains a deployed object by the bundle deployments that desire it, and by those of the same bundles whose
// objects were not read.
func (x *explainer) deployed(r object.Ref) report.WhyObject {
	var list []member
	bundles := map[string]bool{}
	for _, e := range x.in.Deployments {
		i := slices.IndexFunc(e.Objects, func(o evaluate.Object) bool { return o.Key() == r.Key() })
		if i < 0 || x.onlyClaimed(e, &e.Objects[i]) {
			continue
		}
		m := x.explained(&e.Deployment)
		m.verdict = x.ofObject(e, &e.Objects[i], m.verdict)
		list, bundles[e.Bundle] = append(list, m), true
	}
	delete(bundles, "") // only releases are known
	for _, d := range x.in.Desired.Directory.Deployments {
		if !bundles[d.Bundle] || d.Problem == "" {
			continue
		}
		list = append(list, member{whyDeployment(d), x.unreadObjects(d)})
	}
	return x.combine(r, list, nil)
}

// onlyClaimed reports whether nothing confirms the release record that desires an object, and another bundle desires
// it.
func (x *explainer) onlyClaimed(e *evaluate.BundleDeployment, o *evaluate.Object) bool {
	return o.Reason == evaluate.Unconfirmed && len(x.in.Desired.On(e.On).Confirmed(o.Key())) > 0
}

// unreadObject says why an object is Unknown.
func unreadObject(o *evaluate.Object) string {
	if o.Reason == evaluate.Unconfirmed {
		return o.Key().String() + " is not evaluated: " + o.Message
	}
	return o.Key().String() + " could not be read: " + o.Reason
}

// unreadObjects is the verdict for an object on a bundle deployment whose objects were not read. The message has the
// state that Fleet reports, because deployments with the same message have one cause.
func (x *explainer) unreadObjects(d *directory.Deployment) verdict {
	message := "its objects were not read: " + d.Detail
	if d.BD != nil {
		message += "; Fleet reports it as " + shown(d.BD)
	}
	next, found := x.readAgain(d)
	out := unknown(next, stepOf(Unread, d, message))
	out.findings = found
	return out
}

// ofObject is the verdict for one object of a bundle deployment, whose own verdict is of all its objects.
func (x *explainer) ofObject(e *evaluate.BundleDeployment, o *evaluate.Object, of verdict) verdict {
	switch {
	case o.State == evaluate.Unknown:
		out := unknown(only(x.in.ShowRole()), stepOf(Unread, &e.Deployment, unreadObject(o)))
		if o.Reason == evaluate.Unconfirmed {
			out.next, out.findings = x.readAgain(&e.Deployment)
		}
		return out
	case check.Refused(e, o):
		return of
	case o.State == evaluate.Ready && !o.NotReady:
		out := verdict{state: report.Ready}
		if of.state != report.Ready {
			out.note = "bundle deployment " + e.Key() + ", which desires it, is not ready for another reason: " +
				of.steps[len(of.steps)-1].Message
		}
		return out
	case len(of.steps) > 0 && of.steps[0].Kind != Objects:
		return of // the bundle deployment is not applied
	}
	alone := *e
	alone.Objects, alone.Orphans = []evaluate.Object{*o}, nil
	return x.objects(&alone)
}
