// SPDX-License-Identifier: Apache-2.0

package query

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

func byCluster(a, b check.Member) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Bundle, b.Bundle),
		cmp.Compare(whyDeployment(a).BundleDeployment, whyDeployment(b).BundleDeployment))
}

// combine returns the explanation of an object from its deployments and from what concerns the object itself.
// Deployments with the same chain have one cause.
func (x *explainer) combine(r object.Ref, list []check.Member, own []check.Cause) report.WhyObject {
	out := report.WhyObject{Ref: r, State: report.Ready}
	place := map[string]int{}
	add := func(cause check.Cause) (index int, shown report.WhyCause) {
		shown = x.cause(cause)
		key := foldKey(shown)
		i, known := place[key]
		if !known {
			i = len(out.Causes)
			place[key], out.Causes = i, append(out.Causes, shown)
		}
		return i, shown
	}
	for _, c := range own {
		add(c)
	}
	whole := len(out.Causes)
	slices.SortStableFunc(list, byCluster)
	for _, m := range list {
		out.Summary.Deployments++
		if m.Note != "" {
			out.Notes = append(out.Notes, m.Note)
		}
		switch m.State {
		case evaluate.Ready:
			out.Summary.Ready++
			if m.FromStatus {
				out.Summary.FromStatus++
			}
			continue
		case evaluate.NotReady:
			out.Summary.NotReady++
		default:
			out.Summary.Unknown++
		}
		deployment := whyDeployment(m)
		i, shown := add(m.Cause)
		if c := &out.Causes[i]; !slices.Equal(shown.Remedies, c.Remedies) {
			deployment.Remedies = shown.Remedies
		}
		out.Causes[i].Deployments = append(out.Causes[i].Deployments, deployment)
	}
	slices.SortStableFunc(out.Causes[whole:], func(a, b report.WhyCause) int {
		return cmp.Or(cmp.Compare(a.State, b.State), -cmp.Compare(len(a.Deployments), len(b.Deployments)))
	})
	for _, c := range out.Causes {
		if c.State == report.NotReady {
			out.State = report.NotReady
		} else if out.State == report.Ready {
			out.State = report.Unknown
		}
	}
	if out.State == report.Ready && out.Summary.FromStatus > 0 {
		out.State = report.Unknown // Fleet's status is not evidence that the objects are ready
	}
	if failure := x.hidden(r); failure != "" && out.State == report.Ready {
		add(x.causes.Hidden(r, failure))
		out.State = report.Unknown
	}
	out.Answer = answer(&out)
	return out
}

// hidden says that an object may have deployments that were not read; empty if it has not.
func (x *explainer) hidden(r object.Ref) string {
	if r.Kind == state.BundleDeployment || object.Group(r.APIVersion) != v1alpha1.GroupVersion.Group {
		return ""
	}
	for _, kind := range []string{state.BundleDeployment, state.Bundle, state.ClusterKind, state.ClusterGroup} {
		desired := x.in.Result.Desired
		cover := desired.Needed(kind).Within(desired.InWorkspace(kind, x.in.Result.Scope.Namespace))
		for _, f := range source.CoverageGaps("listing "+kind+" objects", cover, "") {
			return f.What + ": " + f.Why()
		}
	}
	return ""
}

// cause returns a cause as a report shows it. What to do comes from the findings about its root, which have the code.
func (x *explainer) cause(found check.Cause) report.WhyCause {
	out := report.WhyCause{Root: found.Root().Kind, State: report.State(found.State)}
	root := len(found.Steps) - 1
	for i := range found.Steps {
		s := &found.Steps[i]
		found := x.found(s)
		out.Steps = append(out.Steps, x.step(s, found))
		if i < root {
			out.Remedies = append(out.Remedies, s.Next...)
			continue
		}
		next := s.Next
		if s.Quoted != "" {
			out.Findings = append(out.Findings, s.Quoted)
		}
		for i, f := range found {
			out.Findings = append(out.Findings, f.Code)
			if i == 0 {
				next = f.Remedies
			}
		}
		if len(next) == 0 {
			next = []remedy.Remedy{x.in.Steps.Commands.Describe(s.Object)}
		}
		out.Remedies = append(out.Remedies, next...)
	}
	slices.Sort(out.Findings)
	out.Findings = slices.Compact(out.Findings)
	return out
}

// step returns a step as a report shows it. The findings about its objects say more about them.
func (x *explainer) step(s *check.Step, found []check.Finding) report.WhyStep {
	out := report.WhyStep{Kind: s.Kind, Object: s.Object, Name: s.Name(), Cluster: s.Cluster,
		Message: s.Message + s.Said, AsOf: s.AsOf, Evidence: s.Evidence, Clusters: s.Clusters}
	if !s.Since.IsZero() {
		out.Since = report.Time(s.Since)
	}
	for i, r := range s.Resources {
		shown := report.Resource{Ref: r.Ref, State: report.State(r.State), Reason: r.Reason, Message: r.Message,
			Owner: r.Owner}
		j := slices.IndexFunc(found, func(f check.Finding) bool { return f.Object == r.Ref })
		if j >= 0 {
			shown.Message = found[j].Message
		}
		if i == 0 && j >= 0 {
			out.Message = shown.Message + strings.TrimPrefix(s.Message, r.Message)
			out.Evidence = report.Brief(found[j].Code, found[j].Evidence)
		}
		out.Resources = append(out.Resources, shown)
	}
	return out
}

// differing are the kinds of steps whose messages may have numbers that differ between clusters with the same cause.
var differing = []check.StepKind{check.StepRecord}

// foldKey is the same for causes with the same chain on different clusters.
func foldKey(c report.WhyCause) string {
	var b strings.Builder
	b.WriteString(string(c.State))
	first := c.Steps[0].Cluster
	for _, s := range c.Steps {
		fmt.Fprintf(&b, "\x00%s\x00%s\x00%s", s.Kind, s.Object.Kind, s.Name)
		if s.Cluster != first {
			b.WriteString("\x00" + s.Cluster)
		}
		if !slices.Contains(differing, s.Kind) {
			b.WriteString("\x00" + s.Message)
		}
	}
	return b.String()
}

// nouns are the units in which the deployments of an object are counted.
var nouns = map[string]string{state.Bundle: "cluster", state.ClusterKind: "bundle"}

// answer is the first sentence for people.
func answer(o *report.WhyObject) string {
	n, s := o.Name, o.Summary
	noun := cmp.Or(nouns[o.Kind], "bundle deployment")
	out, affected := n+" is not ready", s.NotReady
	switch o.State {
	case report.Ready:
		return n + ready(o, noun)
	case report.Unknown:
		out, affected = "It is not known whether "+n+" is ready", s.Unknown+s.FromStatus
	}
	if len(o.Causes) == 0 {
		return out + ": " + reportedOnly(s)
	}
	c := &o.Causes[0]
	if c.Steps[0].Kind == check.StepOutdated && s.NotReady == 0 {
		out = "It is not known whether " + n + " is up to date" // what is deployed can be ready
	}
	if len(o.Causes) == 1 && c.Steps[len(c.Steps)-1].Kind == check.StepStatusWrong {
		out = n + " is ready, and Fleet reports that it is not"
	}
	are := " are"
	if affected == 1 {
		are = " is"
	}
	switch {
	case s.Deployments <= 1 || affected == 0:
	case o.Kind == state.Bundle:
		out += " on " + share(affected, s.Deployments, noun)
	case o.State == report.Unknown:
		out += ": " + share(affected, s.Deployments, noun) + are + " not known"
	default:
		out += ": " + share(affected, s.Deployments, noun) + are + " not ready"
	}
	k, all := roots(o.Causes)
	root := rootName(n, c)
	if k == 1 && root == "" && !strings.Contains(out, ":") {
		return out + ": " + rootMessage(c)
	}
	if k == 1 {
		out += ". The cause"
	} else {
		out += fmt.Sprintf(". The first of %d causes", k)
	}
	partly := k > 1 || all < affected // the first cause is not that of all
	if partly && all > 0 && s.Deployments > 1 {
		out += " (" + report.Plural(all, noun) + ")"
	}
	if root != "" {
		out += " is " + root
	}
	return out + ": " + rootMessage(c)
}

// roots returns the number of causes that are not the same as another one, and the number of deployments of the first.
func roots(causes []report.WhyCause) (n, ofFirst int) {
	var distinct []*report.WhyCause
	for i := range causes {
		c := &causes[i]
		same := func(o *report.WhyCause) bool { return leadsTo(c, o) || leadsTo(o, c) }
		if !slices.ContainsFunc(distinct, same) {
			distinct = append(distinct, c)
		}
		if i == 0 || same(&causes[0]) {
			ofFirst += len(c.Deployments)
		}
	}
	return len(distinct), ofFirst
}

// leadsTo reports whether a chain leads to the root of another one: what that is about waits for nothing else.
func leadsTo(c, to *report.WhyCause) bool {
	root, last := &to.Steps[len(to.Steps)-1], len(c.Steps)-1
	for i := range c.Steps {
		if s := &c.Steps[i]; s.Object == root.Object && (i < last || s.Message == root.Message) {
			return true
		}
	}
	return false
}

// ready is the end of the sentence about an object that is ready.
func ready(o *report.WhyObject, noun string) string {
	s := o.Summary
	switch {
	case o.Kind == state.Schedule, o.Kind == state.ImageScan:
		return ": no problem was found"
	case s.Deployments == 0 && o.Kind == state.ClusterKind:
		return ": no bundle is deployed to it"
	case s.Deployments == 0:
		return " is deployed to no cluster"
	case s.Deployments == 1:
		return " is ready"
	case o.Kind == state.Bundle:
		return " is ready on " + report.Plural(s.Deployments, noun)
	}
	return " is ready, with " + report.Plural(s.Deployments, noun)
}

// rootName names the object of the root cause for people. It is empty if that is the object with the given name, on the
// cluster of the first step.
func rootName(name string, c *report.WhyCause) string {
	root := c.Steps[len(c.Steps)-1]
	if root.Name == name && root.Cluster == c.Steps[0].Cluster {
		return ""
	}
	if root.Object.Kind != state.BundleDeployment && root.Object.Kind != "" {
		return strings.ToLower(root.Object.Kind) + " " + root.Name
	}
	if root.Cluster == "" || root.Object.Kind != state.BundleDeployment {
		return root.Name
	}
	if root.Cluster != c.Steps[0].Cluster || len(c.Deployments) == 1 {
		return root.Name + " on " + root.Cluster
	}
	return root.Name
}

// rootMessage is the last step of a chain, and the time since which it is so.
func rootMessage(c *report.WhyCause) string {
	root := c.Steps[len(c.Steps)-1]
	if root.Since == "" {
		return root.Message
	}
	return root.Message + " (since " + root.Since + ")"
}

// reportedOnly says that Fleet reports deployments as ready whose objects were not read.
func reportedOnly(s report.WhySummary) string {
	const noun = "bundle deployment"
	switch n := s.FromStatus; {
	case s.Deployments == 1:
		return "Fleet reports it as Ready, and its objects were not read"
	case n == s.Deployments:
		return "Fleet reports " + share(n, n, noun) + " as Ready, and their objects were not read"
	case n == 1:
		return "the objects of " + share(n, s.Deployments, noun) + " were not read, and Fleet reports it as Ready"
	default:
		return "the objects of " + share(n, s.Deployments, noun) + " were not read, and Fleet reports them as Ready"
	}
}

func share(n, all int, noun string) string {
	return fmt.Sprintf("%d of %s", n, report.Plural(all, noun))
}

// explainer has what the explanations share.
type explainer struct {
	in     *check.Input
	causes *check.Causes
	// findings are by the key of their bundle deployment, others by the object that they are about.
	findings map[string][]check.Finding
	others   map[object.Ref][]check.Finding
}

func newExplainer(in *check.Input, findings []check.Finding) *explainer {
	x := &explainer{in: in, causes: in.Causes(), findings: map[string][]check.Finding{},
		others: map[object.Ref][]check.Finding{}}
	for _, f := range findings {
		if f.BundleDeployment != "" {
			x.findings[f.BundleDeployment] = append(x.findings[f.BundleDeployment], f)
		}
		x.others[f.Object] = append(x.others[f.Object], f)
	}
	return x
}

// found returns the findings about a step, in its order.
func (x *explainer) found(s *check.Step) []check.Finding {
	var out []check.Finding
	for _, o := range s.Findings {
		among := x.others[o.Object]
		if o.BundleDeployment != "" {
			among = x.findings[o.BundleDeployment]
		}
		for _, f := range among {
			if f.Is(o) {
				out = append(out, f)
			}
		}
	}
	return out
}

// whyDeployment names a member in a report.
func whyDeployment(m check.Member) report.WhyDeployment {
	out := report.WhyDeployment{Bundle: m.Bundle, Cluster: m.Cluster}
	if m.Deployment != nil {
		out.BundleDeployment = m.Deployment.Key()
	}
	return out
}
