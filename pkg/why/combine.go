// SPDX-License-Identifier: Apache-2.0

package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/blocker"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

func byCluster(a, b member) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Bundle, b.Bundle),
		cmp.Compare(a.BundleDeployment, b.BundleDeployment))
}

// combine returns the explanation of an object from its deployments and from what concerns the object itself.
// Deployments with the same chain have one cause.
func (x *explainer) combine(r object.Ref, list []member, own []verdict) report.WhyObject {
	out := report.WhyObject{Ref: r, State: report.Ready}
	place := map[string]int{}
	add := func(v verdict) *report.WhyCause {
		key := foldKey(v)
		i, known := place[key]
		if !known {
			i = len(out.Causes)
			place[key] = i
			out.Causes = append(out.Causes, report.WhyCause{Root: v.steps[len(v.steps)-1].Kind, State: v.state,
				Steps: v.steps, Remedies: v.next, Findings: v.findings})
		}
		return &out.Causes[i]
	}
	for _, v := range own {
		add(v)
	}
	whole := len(out.Causes)
	slices.SortStableFunc(list, byCluster)
	for _, m := range list {
		out.Summary.Deployments++
		if m.note != "" {
			out.Notes = append(out.Notes, m.note)
		}
		switch m.state {
		case report.Ready:
			out.Summary.Ready++
			if m.fromStatus {
				out.Summary.FromStatus++
			}
			continue
		case report.NotReady:
			out.Summary.NotReady++
		default:
			out.Summary.Unknown++
		}
		c := add(m.verdict)
		if next := m.next; !slices.Equal(next, c.Remedies) {
			m.Remedies = next
		}
		c.Deployments = append(c.Deployments, m.WhyDeployment)
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
	if v, hidden := x.hidden(r); hidden && out.State == report.Ready {
		add(v)
		out.State = report.Unknown
	}
	out.Answer = answer(&out)
	return out
}

// hidden returns the verdict that an object may have deployments that were not read.
func (x *explainer) hidden(r object.Ref) (v verdict, hidden bool) {
	if r.Kind == state.BundleDeployment || object.Group(r.APIVersion) != v1alpha1.GroupVersion.Group {
		return verdict{}, false
	}
	for _, kind := range []string{state.BundleDeployment, state.Bundle, state.ClusterKind, state.ClusterGroup} {
		cover := x.in.Desired.Needed(kind).Within(x.in.Desired.InWorkspace(kind, x.in.Scope.Namespace))
		for _, f := range source.CoverageGaps("listing "+kind+" objects", cover, "") {
			s := report.WhyStep{Kind: Unread, Object: r, Name: r.Name, Message: f.What + ": " + f.Why()}
			return unknown(only(x.in.ShowRole()), s), true
		}
	}
	return verdict{}, false
}

// differing are the kinds of steps whose messages may have numbers that differ between clusters with the same cause.
var differing = []blocker.Kind{blocker.Record}

// foldKey is the same for verdicts with the same chain on different clusters.
func foldKey(v verdict) string {
	var b strings.Builder
	b.WriteString(string(v.state))
	first := v.steps[0].Cluster
	for _, s := range v.steps {
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
	k, root := len(o.Causes), rootName(n, c)
	if k == 1 && root == "" && !strings.Contains(out, ":") {
		return out + ": " + rootMessage(c)
	}
	if k == 1 {
		out += ". The cause"
	} else {
		out += fmt.Sprintf(". The first of %d causes", k)
	}
	of := len(c.Deployments)
	partly := k > 1 || of < affected // the first cause is not that of all
	if partly && of > 0 && s.Deployments > 1 {
		out += " (" + report.Plural(of, noun) + ")"
	}
	if root != "" {
		out += " is " + root
	}
	return out + ": " + rootMessage(c)
}

// ready is the end of the sentence about an object that is ready.
func ready(o *report.WhyObject, noun string) string {
	s := o.Summary
	switch {
	case s.Deployments == 0:
		return " is ready: there is nothing to deploy"
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

func share(n, of int, noun string) string {
	return fmt.Sprintf("%d of %s", n, report.Plural(of, noun))
}
