// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Occurrence is a finding on one cluster.
type Occurrence struct {
	// ID is the identity of the finding on the cluster. It is computed if the report does not have it, as those of
	// earlier versions.
	ID string
	*Finding
	// Cluster and BundleDeployment are those of the occurrence.
	Cluster, BundleDeployment string
}

// Occurrences returns the findings of a report, once for each of their clusters.
func Occurrences(a *Audit) []Occurrence {
	bundles := map[DeploymentKey]string{}
	deployments := map[[2]string]string{} // by bundle and cluster
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		bundles[KeyOf(bd)], deployments[[2]string{bd.Bundle, bd.Cluster}] = bd.Bundle, KeyOf(bd).Key
	}
	times := map[string]int{}
	out := make([]Occurrence, 0, len(a.Findings))
	add := func(id string, f *Finding, cluster, deployment string) {
		computed := FindingID(f, cluster, deployment, times)
		out = append(out, Occurrence{cmp.Or(id, computed), f, cluster, deployment})
	}
	for i := range a.Findings {
		f := &a.Findings[i]
		add(f.ID, f, f.Cluster, f.BundleDeployment)
		bundle := cmp.Or(f.Bundle, bundles[DeploymentKey{f.Cluster, f.BundleDeployment}])
		for j, c := range f.Clusters {
			id := ""
			if len(f.IDs) == len(f.Clusters) {
				id = f.IDs[j]
			}
			if c != f.Cluster {
				add(id, f, c, deployments[[2]string{bundle, c}])
			}
		}
	}
	return out
}

// byID returns the findings of a report by their identities, once for each of their clusters.
func byID(a *Audit) map[string]Occurrence {
	out := map[string]Occurrence{}
	for _, o := range Occurrences(a) {
		out[o.ID] = o
	}
	return out
}

// DeploymentKey identifies a bundle deployment. Those of which only the release is known have no namespace: on several
// clusters, they have the same Key.
type DeploymentKey struct{ Cluster, Key string }

// KeyOf returns the identity of a bundle deployment.
func KeyOf(bd *BundleDeployment) DeploymentKey {
	return DeploymentKey{bd.Cluster, bd.Key()}
}

// resourceKey identifies an object that a bundle deployment desires.
type resourceKey struct {
	DeploymentKey
	object.Ref
}

// side is one of the two reports.
type side struct {
	*Audit
	deployments map[DeploymentKey]*BundleDeployment
	resources   map[resourceKey]*Resource
	unread      map[DeploymentKey]bool // of which the other side knows more
	// withoutResult is true if a bundle deployment has a result on the other side only.
	withoutResult bool
}

func newSide(a *Audit) *side {
	s := &side{Audit: a, deployments: map[DeploymentKey]*BundleDeployment{},
		resources: map[resourceKey]*Resource{}}
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		s.deployments[KeyOf(bd)] = bd
		for j := range bd.Resources {
			s.resources[resourceKey{KeyOf(bd), bd.Resources[j].Ref}] = &bd.Resources[j]
		}
	}
	return s
}

// pair are two reports.
type pair struct {
	before, after *side
	// lost is true if the later report has a gap that the earlier one does not have, gained if it is the other way
	// round.
	lost, gained bool
}

// newPair returns the reports with what their comparison needs.
func newPair(before, after *Audit) *pair {
	p := &pair{before: newSide(before), after: newSide(after)}
	p.lost, p.gained = len(newGaps(before, after)) > 0, len(newGaps(after, before)) > 0
	p.before.unread, p.before.withoutResult = unread(p.before, p.after)
	p.after.unread, p.after.withoutResult = unread(p.after, p.before)
	return p
}

// unread returns the bundle deployments of which a could not read an object that b could read. withoutResult is true if
// a has no result of one of them.
func unread(a, b *side) (out map[DeploymentKey]bool, withoutResult bool) {
	out = map[DeploymentKey]bool{}
	for key, bd := range a.deployments {
		other := b.deployments[key]
		if other == nil || other.WithoutResult() {
			continue
		}
		if bd.WithoutResult() || slices.ContainsFunc(bd.Resources, func(r Resource) bool {
			known := b.resources[resourceKey{key, r.Ref}]
			return r.State == Unknown && (known == nil || known.State != Unknown)
		}) {
			out[key] = true
			withoutResult = withoutResult || bd.WithoutResult()
		}
	}
	return out, withoutResult
}

// newGaps returns the gaps that a report has, and an earlier one does not have. Their details do not count: they may
// have a time or a number of bytes that differs each time. If a report has a gap several times, the other one must have
// it as often.
func newGaps(before, after *Audit) []Gap {
	known := map[Gap]int{}
	for _, g := range withoutDetails(before) {
		known[g]++
	}
	var out []Gap
	for i, g := range withoutDetails(after) {
		if known[g] > 0 {
			known[g]--
		} else {
			out = append(out, after.Gaps[i])
		}
	}
	return out
}

// withoutDetails returns the gaps of a report without their details, and without the path of the snapshot, which
// differs in each snapshot.
func withoutDetails(a *Audit) []Gap {
	paths := strings.Split(a.Source.Path, ", ")
	for _, c := range a.Source.Clusters {
		paths = append(paths, strings.Split(c.Path, ", ")...)
	}
	slices.SortFunc(paths, func(x, y string) int { return len(y) - len(x) })
	out := slices.Clone(a.Gaps)
	for i := range out {
		for _, p := range paths {
			if p != "" {
				out[i].What = strings.ReplaceAll(out[i].What, p, "SNAPSHOT")
			}
		}
		out[i].Detail = ""
	}
	return out
}

// evaluated reports whether the side that does not have a finding has evaluated what it is about: otherwise it is not
// known whether the finding is fixed, or new. gaps is true if that side has gaps that the other one does not have.
func evaluated(o Occurrence, with, absent *side, gaps bool) bool {
	key := DeploymentKey{o.Cluster, o.BundleDeployment}
	bd := absent.deployments[key]
	switch {
	case o.BundleDeployment == "" && o.Cause != "": // a number of several bundle deployments
		return !gaps && len(absent.unread) == 0
	case o.BundleDeployment == "": // it may depend on several bundle deployments
		return !gaps && !absent.withoutResult
	case bd == nil:
		return !gaps
	case bd.WithoutResult():
		// A finding about the status of a deployment without a result does not need one.
		other := with.deployments[key]
		return !gaps && other != nil && other.WithoutResult()
	}
	if r := absent.resources[resourceKey{key, o.Object}]; r != nil {
		return r.State != Unknown
	}
	earlier := with.resources[resourceKey{key, o.Object}]
	notDesired := earlier != nil && earlier.State != Orphaned
	return !gaps && (notDesired || !absent.unread[key])
}

// ScopeOf lists the words of the scope of a report, in an order that does not depend on the arguments. Reports with
// different scopes are about different objects.
func ScopeOf(a *Audit) []string {
	var out []string
	for _, words := range [][]string{a.Scope.Namespaces, a.Scope.Selectors, a.Scope.Targets} {
		out = append(out, slices.Compact(slices.Sorted(slices.Values(words)))...)
	}
	return out
}

// WithoutResult reports whether nothing is known about the actual state of the bundle deployment. A state such as
// WaitApplied comes from Fleet's status; then the reason is why the desired objects could not be read. A bundle
// deployment of which only some objects are Unknown has a result.
func (bd *BundleDeployment) WithoutResult() bool {
	switch {
	case bd.Reason != "":
		return true
	case bd.Counts.Desired == 0 && bd.State != Unknown:
		return false
	}
	return bd.Counts.Unknown == bd.Counts.Desired
}

// WithoutResult is the number of bundle deployments without a result.
func (a *Audit) WithoutResult() int {
	return Count(a.BundleDeployments, func(bd BundleDeployment) bool { return bd.WithoutResult() })
}

// Complete reports whether everything in scope was read: there is no gap, and nothing is Unknown except on clusters
// that are excluded.
func (a *Audit) Complete() bool {
	excluded := a.Excluded()
	return len(a.Gaps) == 0 && !slices.ContainsFunc(a.BundleDeployments, func(bd BundleDeployment) bool {
		return !excluded(&bd) && (bd.WithoutResult() || bd.Counts.Unknown > 0)
	})
}

// GapText counts the gaps and names the first one, as the end of a sentence. It is empty without a gap.
func (a *Audit) GapText() string {
	switch n := len(a.Gaps); n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 gap in what was read: %s (%s)", a.Gaps[0].What, a.Gaps[0].Why())
	default:
		return fmt.Sprintf("%d gaps in what was read, the first is %s (%s)", n, a.Gaps[0].What, a.Gaps[0].Why())
	}
}

// Undecided says what was not read and may hide a problem, among the gaps; empty if nothing.
func Undecided(gaps []Gap) string {
	for _, g := range gaps {
		if !g.Optional {
			return g.What + ": " + g.Why()
		}
	}
	return ""
}

// Excluded returns a function that reports whether a bundle deployment has no result only because the audit does not
// include its cluster. No bundle deployment is excluded if none has a result: then the audit proves nothing.
func (a *Audit) Excluded() func(*BundleDeployment) bool {
	// A bundle deployment without a reason has a result at least for some of its objects.
	result := slices.ContainsFunc(a.BundleDeployments, func(bd BundleDeployment) bool { return bd.Reason == "" })
	return func(bd *BundleDeployment) bool { return result && bd.Reason == string(directory.ClusterNotRead) }
}
