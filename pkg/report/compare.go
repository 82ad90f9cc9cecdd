// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrNotComparable is returned for two reports that are not about the same objects.
var ErrNotComparable = errors.New("the audits cannot be compared")

// Comparable returns an error if two reports are not about the same objects.
func Comparable(before, after *Audit) error {
	names := []string{"first", "second"}
	for i, a := range []*Audit{before, after} {
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
func Compare(before, after *Audit, version string) *Comparison {
	p := newPair(before, after)
	out := &Comparison{APIVersion: APIVersion, Kind: KindComparison,
		Tool: Tool{Version: version}, Before: compared(before), After: compared(after),
		Scope: after.Scope, BundleDeployments: []BundleDeploymentChange{}, Findings: []FindingChange{},
		Resources: []ResourceChange{}, Gaps: []GapChange{}}
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

func compared(a *Audit) Compared {
	return Compared{TakenAt: a.TakenAt, Tool: a.Tool, Source: a.Source, Summary: a.Summary, Gaps: len(a.Gaps)}
}

// gaps adds what only one side could read.
func (p *pair) gaps(out *Comparison) {
	add := func(effect Effect, gaps []Gap) {
		for _, g := range gaps {
			out.Gaps = append(out.Gaps, GapChange{Effect: effect, Gap: g})
			out.Summary.Gaps.Add(effect)
		}
	}
	add(EffectUnknown, newGaps(p.before.Audit, p.after.Audit))
	add(Changed, newGaps(p.after.Audit, p.before.Audit))
	out.Summary.Complete = out.Summary.Complete && !p.lost
}

// findings adds the findings that one side does not have, and those with another severity.
func (p *pair) findings(out *Comparison) {
	earlier, later := byID(p.before.Audit), byID(p.after.Audit)
	ignored := map[string]bool{} // on one side: it is not known whether the other one is worse
	for _, x := range slices.Concat(p.before.Ignored, p.after.Ignored) {
		ignored[x.ID] = true
	}
	add := func(o Occurrence, before, after Severity, known bool) {
		c := FindingChange{Before: before, After: after, ID: o.ID, Code: o.Code, Title: o.Title,
			Object: o.Object, Cluster: o.Cluster,
			BundleDeployment: o.BundleDeployment, Bundle: o.Bundle, Message: o.Message, Effect: EffectUnknown}
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
	slices.SortFunc(out.Findings, func(x, y FindingChange) int {
		return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.BundleDeployment, y.BundleDeployment),
			cmp.Compare(x.Code, y.Code), x.Object.Compare(y.Object), cmp.Compare(x.ID, y.ID))
	})
}

// severityRank orders severities. Information is no problem: it is neither better nor worse than nothing.
func severityRank(s Severity) int {
	return map[Severity]int{Error: 2, Warning: 1}[s]
}

// effectOf returns the effect of a change by whether there are more problems or fewer.
func effectOf(more int) Effect {
	switch {
	case more > 0:
		return Worse
	case more < 0:
		return Better
	}
	return Changed
}

// deployments adds the bundle deployments that changed, and their objects.
func (p *pair) deployments(out *Comparison) {
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
			out.BundleDeployments = append(out.BundleDeployments, BundleDeploymentChange{Effect: effect,
				Namespace: bd.Namespace, Name: bd.Name, Cluster: bd.Cluster,
				Bundle: bd.Bundle, Before: stateOf(before), After: stateOf(after)})
			out.Summary.BundleDeployments.Add(effect)
			if ready := after != nil && after.State == Ready; effect == EffectUnknown && !ready {
				out.Summary.Complete = false
			}
		}
		if both && !before.WithoutResult() && !after.WithoutResult() {
			p.resources(out, key, before, after)
		}
	}
}

func stateOf(bd *BundleDeployment) *DeploymentState {
	if bd == nil {
		return nil
	}
	return &DeploymentState{State: bd.State, Reason: bd.Reason, Counts: bd.Counts, Reported: bd.Reported}
}

// deployment returns the effect of the change of a bundle deployment; "" if it did not change.
func (p *pair) deployment(before, after *BundleDeployment) Effect {
	switch {
	case after == nil && p.lost, before == nil && p.gained:
		return EffectUnknown
	case before == nil && (after.WithoutResult() || after.State == Unknown):
		return EffectUnknown
	case before == nil && after.State != Ready:
		return Worse
	case before == nil || after == nil:
		return Changed
	case before.WithoutResult() && after.WithoutResult():
		return reportedEffect(before.Reported, after.Reported)
	case before.WithoutResult() || after.WithoutResult():
		return EffectUnknown
	}
	fewest, most := notReady(before)
	now, nowMost := notReady(after)
	switch {
	case now > most:
		return Worse
	case nowMost < fewest:
		return Better
	case before.Counts != after.Counts && before.Counts.Unknown+after.Counts.Unknown > 0:
		return EffectUnknown
	case (before.State == Ready) != (after.State == Ready):
		return readiness(before.State == Ready)
	case before.State != after.State || before.Counts != after.Counts:
		return Changed
	}
	return ""
}

// notReady returns the least and the greatest number of objects that may not be ready.
func notReady(bd *BundleDeployment) (least, most int) {
	c := bd.Counts
	return c.Desired - c.Ready - c.Unknown + c.Orphaned, c.Desired - c.Ready + c.Orphaned
}

// readiness is the effect if something was ready before and is not any more, or the other way round.
func readiness(before bool) Effect {
	if before {
		return Worse
	}
	return Better
}

// reportedEffect is the effect of a change of the status that Fleet reports; "" if it did not change.
func reportedEffect(before, after *Reported) Effect {
	switch {
	case before == nil && after == nil:
		return ""
	case before == nil || after == nil:
		return EffectUnknown
	case before.State != after.State && (before.State == string(Ready)) != (after.State == string(Ready)):
		return readiness(before.State == string(Ready))
	}
	x, y := reportedNotReady(before), reportedNotReady(after)
	switch {
	case x != nil && y != nil && *x != *y:
		return effectOf(*y - *x)
	case before.State != after.State:
		return Changed
	}
	return ""
}

// reportedNotReady is the number of objects that are not ready as Fleet reports; nil if it does not report it.
func reportedNotReady(r *Reported) *int {
	if r.DesiredReady == nil || r.Ready == nil {
		return nil
	}
	n := *r.DesiredReady - *r.Ready
	return &n
}

// resources adds the objects of a bundle deployment whose state changed.
func (p *pair) resources(out *Comparison, key DeploymentKey, before, after *BundleDeployment) {
	add := func(x, y *Resource) {
		effect := resourceEffect(x, y)
		if effect == "" {
			return
		}
		c := ResourceChange{Effect: effect, Ref: cmp.Or(x, y).Ref, Cluster: key.Cluster,
			BundleDeployment: key.Key}
		if x != nil {
			c.Before = &ResourceState{State: x.State, Reason: x.Reason}
		}
		if y != nil {
			c.After = &ResourceState{State: y.State, Reason: y.Reason}
		}
		out.Resources = append(out.Resources, c)
		out.Summary.Resources.Add(effect)
		if ready := y != nil && y.State == Ready; effect == EffectUnknown && !ready {
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
	slices.SortFunc(out.Resources[first:], func(x, y ResourceChange) int { return x.Compare(y.Ref) })
}

// resourceEffect returns the effect of the change of an object; "" if it did not change, or was added or removed in the
// state Ready.
func resourceEffect(before, after *Resource) Effect {
	switch {
	case before == nil && after.State == Ready, after == nil && before.State == Ready:
		return ""
	case before == nil:
		if after.State == Unknown {
			return EffectUnknown
		}
		return Worse
	case after == nil && before.State == Orphaned:
		return Better
	case after == nil:
		return Changed
	case before.State == after.State && before.Reason == after.Reason:
		return ""
	case before.State == Unknown && after.State == Unknown:
		return Changed
	case before.State == Unknown || after.State == Unknown:
		return EffectUnknown
	case before.State == Ready || after.State == Ready:
		return readiness(before.State == Ready)
	}
	return Changed
}
