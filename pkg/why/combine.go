// SPDX-License-Identifier: Apache-2.0

package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// combine returns the explanation of an object from its deployments and from what concerns the object itself. Deployments with the same chain have one cause.
func (x *explainer) combine(r object.Ref, list []member, own []verdict) report.WhyObject {
	out := report.WhyObject{Ref: r, State: report.Ready}
	place := map[string]int{}
	add := func(v verdict) *report.WhyCause {
		key := foldKey(v)
		i, known := place[key]
		if !known {
			i = len(out.Causes)
			place[key] = i
			out.Causes = append(out.Causes, report.WhyCause{Root: v.steps[len(v.steps)-1].Kind, State: v.state, Steps: v.steps, Remedies: report.NewRemedies(v.next), Findings: v.findings})
		}
		return &out.Causes[i]
	}
	for _, v := range own {
		add(v)
	}
	whole := len(out.Causes)
	slices.SortStableFunc(list, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Bundle, b.Bundle), cmp.Compare(a.BundleDeployment, b.BundleDeployment))
	})
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
	out.Answer = answer(&out)
	return out
}

// differing are the kinds of steps whose messages may have numbers that differ between clusters with the same cause.
var differing = []report.WhyKind{kindOfBlocker(check.BlockerRecord)}

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
	if o.State == report.Ready {
		return n + ready(o, noun)
	}
	c := &o.Causes[0]
	out, affected := n+" is not ready", s.NotReady
	if o.State == report.Unknown {
		out, affected = "it is not known whether "+n+" is ready", s.Unknown
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
	k, root := len(o.Causes), rootName(n, c)
	if k == 1 && root == "" && !strings.Contains(out, ":") {
		return out + ": " + rootMessage(c)
	}
	if k == 1 {
		out += ". The cause"
	} else {
		out += fmt.Sprintf(". The first of %d causes", k)
	}
	if of := len(c.Deployments); k > 1 && of > 0 && s.Deployments > 1 {
		out += " (" + plural(of, noun) + ")"
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
		return " is ready" + reportedOnly(s, noun)
	case o.Kind == state.Bundle:
		return " is ready on " + plural(s.Deployments, noun) + reportedOnly(s, noun)
	}
	return " is ready, with " + plural(s.Deployments, noun) + reportedOnly(s, noun)
}

// rootName names the object of the root cause for people. It is empty if that is the object with the given name, on the cluster of the first step.
func rootName(name string, c *report.WhyCause) string {
	root := c.Steps[len(c.Steps)-1]
	if root.Name == name && root.Cluster == c.Steps[0].Cluster {
		return ""
	}
	if root.Object.Kind != state.BundleDeployment && root.Object.Kind != "" {
		return strings.ToLower(root.Object.Kind) + " " + root.Name
	}
	if root.Cluster != "" && root.Object.Kind == state.BundleDeployment && (root.Cluster != c.Steps[0].Cluster || len(c.Deployments) == 1) {
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

// reportedOnly tells how many ready deployments are ready only as Fleet reports.
func reportedOnly(s report.WhySummary, noun string) string {
	switch s.FromStatus {
	case 0:
		return ""
	case s.Deployments:
		return ", as Fleet reports; its objects were not read"
	}
	return fmt.Sprintf("; on %s only as Fleet reports", plural(s.FromStatus, noun))
}

func share(n, of int, noun string) string {
	return fmt.Sprintf("%d of %s", n, plural(of, noun))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
