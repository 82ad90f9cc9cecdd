// SPDX-License-Identifier: Apache-2.0

package comparison

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// ErrNotComparable is returned for two reports that are not about the same objects.
var ErrNotComparable = errors.New("the audits cannot be compared")

// Comparable returns an error if two reports are not about the same objects.
func Comparable(before, after *report.Audit) error {
	names := []string{"first", "second"}
	for i, a := range []*report.Audit{before, after} {
		if a.Filter.Hides() && !before.Filter.Same(after.Filter) {
			return fmt.Errorf("%w: the %s one was made with %s, which leaves out findings (%s). Make it without %[3]s",
				ErrNotComparable, names[i], a.Filter, a.Filter.Hidden)
		}
	}
	if x, y := ScopeOf(before), ScopeOf(after); !slices.Equal(x, y) {
		return fmt.Errorf("%w: the first one is about %s, the second one about %s", ErrNotComparable, scopeText(x),
			scopeText(y))
	}
	if why := OtherCluster(before, after); why != "" {
		return fmt.Errorf("%w: they are of different clusters: %s", ErrNotComparable, why)
	}
	return nil
}

func scopeText(scope []string) string {
	if len(scope) == 0 {
		return "everything"
	}
	return strings.Join(scope, ", ")
}

// Compare compares two comparable reports. Both are redacted. version is the version of the program.
func Compare(before, after *report.Audit, version string) *report.Comparison {
	p := newPair(before, after)
	out := &report.Comparison{APIVersion: report.APIVersion, Kind: report.KindComparison,
		Tool: report.Tool{Version: version}, Before: compared(before), After: compared(after),
		Scope: after.Scope, BundleDeployments: []report.BundleDeploymentChange{}, Findings: []report.FindingChange{},
		Resources: []report.ResourceChange{}, Gaps: []report.GapChange{}}
	out.Summary.Complete = true
	p.deployments(out)
	p.findings(out)
	p.gaps(out)
	if x, y := before.Tool.Version, after.Tool.Version; x != y {
		out.Notes = append(out.Notes,
			fmt.Sprintf("the reports were made by different versions of this program, %s and %s: their checks may "+
				"differ", x, y))
	}
	if before.TakenAt > after.TakenAt && after.TakenAt != "" {
		out.Notes = append(out.Notes, "the first audit is newer than the second one")
	}
	return out
}

func compared(a *report.Audit) report.Compared {
	return report.Compared{TakenAt: a.TakenAt, Tool: a.Tool, Source: a.Source, Summary: a.Summary, Gaps: len(a.Gaps)}
}

// gaps adds what only one side could read.
func (p *pair) gaps(out *report.Comparison) {
	add := func(effect report.Effect, gaps []report.Gap) {
		for _, g := range gaps {
			out.Gaps = append(out.Gaps, report.GapChange{Effect: effect, Gap: g})
			out.Summary.Gaps.Add(effect)
		}
	}
	add(report.EffectUnknown, newGaps(p.before.Audit, p.after.Audit))
	add(report.Changed, newGaps(p.after.Audit, p.before.Audit))
	out.Summary.Complete = out.Summary.Complete && !p.lost
}

// findings adds the findings that one side does not have, and those with another severity.
func (p *pair) findings(out *report.Comparison) {
	earlier, later := byID(p.before.Audit), byID(p.after.Audit)
	ignored := map[string]bool{} // on one side: it is not known whether the other one is worse
	for _, x := range slices.Concat(p.before.Ignored, p.after.Ignored) {
		ignored[x.ID] = true
	}
	add := func(o Occurrence, before, after report.Severity, known bool) {
		c := report.FindingChange{Before: before, After: after, ID: o.ID, Code: o.Code, Title: o.Title,
			Object: o.Object, Cluster: o.Cluster,
			BundleDeployment: o.BundleDeployment, Bundle: o.Bundle, Message: o.Message, Effect: report.EffectUnknown}
		if known {
			c.Effect = effectOf(severityRank(after) - severityRank(before))
		}
		out.Summary.Complete = out.Summary.Complete && (known || severityRank(c.Severity()) == 0)
		out.Findings = append(out.Findings, c)
		out.Summary.Findings.Add(c.Effect)
	}
	for id, o := range earlier {
		switch now, ok := later[id]; {
		case !ok && !ignored[id]:
			add(o, o.Severity, "", evaluated(o, p.before, p.after, p.lost))
		case ok && now.Severity != o.Severity:
			add(now, o.Severity, now.Severity, true)
		}
	}
	for id, o := range later {
		if _, ok := earlier[id]; !ok && !ignored[id] {
			add(o, "", o.Severity, evaluated(o, p.after, p.before, p.gained))
		}
	}
	slices.SortFunc(out.Findings, func(x, y report.FindingChange) int {
		return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.BundleDeployment, y.BundleDeployment),
			cmp.Compare(x.Code, y.Code), x.Object.Compare(y.Object), cmp.Compare(x.ID, y.ID))
	})
}

// severityRank orders severities. Information is no problem: it is neither better nor worse than nothing.
func severityRank(s report.Severity) int {
	return map[report.Severity]int{report.Error: 2, report.Warning: 1}[s]
}

// effectOf returns the effect of a change by whether there are more problems or fewer.
func effectOf(more int) report.Effect {
	switch {
	case more > 0:
		return report.Worse
	case more < 0:
		return report.Better
	}
	return report.Changed
}

// deployments adds the bundle deployments that changed, and their objects.
func (p *pair) deployments(out *report.Comparison) {
	all := maps.Clone(p.before.deployments)
	maps.Copy(all, p.after.deployments)
	keys := slices.SortedFunc(maps.Keys(all), func(x, y DeploymentKey) int {
		return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.Key, y.Key))
	})
	for _, key := range keys {
		before, after := p.before.deployments[key], p.after.deployments[key]
		both := before != nil && after != nil
		if both && before.WithoutResult() && after.WithoutResult() {
			out.Summary.FromStatus++
		}
		if effect := p.deployment(before, after); effect != "" {
			bd := all[key]
			out.BundleDeployments = append(out.BundleDeployments, report.BundleDeploymentChange{Effect: effect,
				Namespace: bd.Namespace, Name: bd.Name, Cluster: bd.Cluster,
				Bundle: bd.Bundle, Before: stateOf(before), After: stateOf(after)})
			out.Summary.BundleDeployments.Add(effect)
			if ready := after != nil && after.State == report.Ready; effect == report.EffectUnknown && !ready {
				out.Summary.Complete = false
			}
		}
		if both && !before.WithoutResult() && !after.WithoutResult() {
			p.resources(out, key, before, after)
		}
	}
}

func stateOf(bd *report.BundleDeployment) *report.DeploymentState {
	if bd == nil {
		return nil
	}
	return &report.DeploymentState{State: bd.State, Reason: bd.Reason, Counts: bd.Counts, Reported: bd.Reported}
}

// deployment returns the effect of the change of a bundle deployment; "" if it did not change.
func (p *pair) deployment(before, after *report.BundleDeployment) report.Effect {
	switch {
	case after == nil && p.lost, before == nil && p.gained:
		return report.EffectUnknown
	case before == nil && (after.WithoutResult() || after.State == report.Unknown):
		return report.EffectUnknown
	case before == nil && after.State != report.Ready:
		return report.Worse
	case before == nil || after == nil:
		return report.Changed
	case before.WithoutResult() && after.WithoutResult():
		return reportedEffect(before.Reported, after.Reported)
	case before.WithoutResult() || after.WithoutResult():
		return report.EffectUnknown
	}
	fewest, most := notReady(before)
	now, nowMost := notReady(after)
	switch {
	case now > most:
		return report.Worse
	case nowMost < fewest:
		return report.Better
	case before.Counts != after.Counts && before.Counts.Unknown+after.Counts.Unknown > 0:
		return report.EffectUnknown
	case (before.State == report.Ready) != (after.State == report.Ready):
		return readiness(before.State == report.Ready)
	case before.State != after.State || before.Counts != after.Counts:
		return report.Changed
	}
	return ""
}

// notReady returns the least and the greatest number of objects that may not be ready.
func notReady(bd *report.BundleDeployment) (least, most int) {
	c := bd.Counts
	return c.Desired - c.Ready - c.Unknown + c.Orphaned, c.Desired - c.Ready + c.Orphaned
}

// readiness is the effect if something was ready before and is not any more, or the other way round.
func readiness(before bool) report.Effect {
	if before {
		return report.Worse
	}
	return report.Better
}

// reportedEffect is the effect of a change of the status that Fleet reports; "" if it did not change.
func reportedEffect(before, after *report.Reported) report.Effect {
	switch {
	case before == nil && after == nil:
		return ""
	case before == nil || after == nil:
		return report.EffectUnknown
	case before.State != after.State && (before.State == string(report.Ready)) != (after.State == string(report.Ready)):
		return readiness(before.State == string(report.Ready))
	}
	x, y := reportedNotReady(before), reportedNotReady(after)
	switch {
	case x != nil && y != nil && *x != *y:
		return effectOf(*y - *x)
	case before.State != after.State:
		return report.Changed
	}
	return ""
}

// reportedNotReady is the number of objects that are not ready as Fleet reports; nil if it does not report it.
func reportedNotReady(r *report.Reported) *int {
	if r.DesiredReady == nil || r.Ready == nil {
		return nil
	}
	n := *r.DesiredReady - *r.Ready
	return &n
}

// resources adds the objects of a bundle deployment whose state changed.
func (p *pair) resources(out *report.Comparison, key DeploymentKey, before, after *report.BundleDeployment) {
	add := func(x, y *report.Resource) {
		effect := resourceEffect(x, y)
		if effect == "" {
			return
		}
		c := report.ResourceChange{Effect: effect, Ref: cmp.Or(x, y).Ref, Cluster: key.Cluster,
			BundleDeployment: key.Key}
		if x != nil {
			c.Before = &report.ResourceState{State: x.State, Reason: x.Reason}
		}
		if y != nil {
			c.After = &report.ResourceState{State: y.State, Reason: y.Reason}
		}
		out.Resources = append(out.Resources, c)
		out.Summary.Resources.Add(effect)
		if ready := y != nil && y.State == report.Ready; effect == report.EffectUnknown && !ready {
			out.Summary.Complete = false
		}
	}
	first := len(out.Resources)
	for i := range before.Resources {
		x := &before.Resources[i]
		add(x, p.after.resources[resourceKey{key, x.Ref}])
	}
	for i := range after.Resources {
		y := &after.Resources[i]
		if p.before.resources[resourceKey{key, y.Ref}] == nil {
			add(nil, y)
		}
	}
	slices.SortFunc(out.Resources[first:], func(x, y report.ResourceChange) int { return x.Compare(y.Ref) })
}

// resourceEffect returns the effect of the change of an object; "" if it did not change, or was added or removed in the
// state Ready.
func resourceEffect(before, after *report.Resource) report.Effect {
	switch {
	case before == nil && after.State == report.Ready, after == nil && before.State == report.Ready:
		return ""
	case before == nil:
		if after.State == report.Unknown {
			return report.EffectUnknown
		}
		return report.Worse
	case after == nil && before.State == report.Orphaned:
		return report.Better
	case after == nil:
		return report.Changed
	case before.State == after.State && before.Reason == after.Reason:
		return ""
	case before.State == report.Unknown && after.State == report.Unknown:
		return report.Changed
	case before.State == report.Unknown || after.State == report.Unknown:
		return report.EffectUnknown
	case before.State == report.Ready || after.State == report.Ready:
		return readiness(before.State == report.Ready)
	}
	return report.Changed
}
