// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// BlockerKind is why a bundle deployment is not applied.
type BlockerKind string

// The kinds, in the order in which they are considered: what comes first hides what comes later.
const (
	BlockerPaused     BlockerKind = "Paused"
	BlockerSchedule   BlockerKind = "OffSchedule"
	BlockerAgent      BlockerKind = "AgentSilent"
	BlockerValues     BlockerKind = "Values"
	BlockerDependency BlockerKind = "Dependency"
	BlockerContent    BlockerKind = "ContentMissing"
	BlockerRecord     BlockerKind = "RecordPending"
	BlockerFailed     BlockerKind = "DeployFailed"
	// BlockerState is the end of a chain: a dependency that is deployed and not ready.
	BlockerState BlockerKind = "NotReady"
	// BlockerCycle is the end of a chain of dependencies that leads back to itself.
	BlockerCycle BlockerKind = "DependencyCycle"
)

// Blocker is one step from a bundle deployment that is not applied to the root cause, which is the last step.
type Blocker struct {
	Kind BlockerKind
	// Deployment is the key of the bundle deployment that the step is about.
	Deployment, Message string
}

// silentAfter is how old a heartbeat must be before the agent counts as silent: three times the default interval.
const silentAfter = 45 * time.Minute

// blockers finds the blockers of bundle deployments.
type blockers struct {
	in          *Input
	clusters    map[string]*v1alpha1.Cluster            // by the namespace of their BundleDeployments
	byName      map[[2]string]*resolve.BundleDeployment // by namespace and name
	byNamespace map[string][]*resolve.BundleDeployment  // by namespace
	bundles     map[string]*v1alpha1.Bundle             // by "namespace/name"
	never       map[*v1alpha1.Cluster]bool              // those whose agents have never reported
}

// values returns why the values of a bundle deployment keep its agent from deploying it, as a sentence; empty if they do not, or if it is not known.
func (c *blockers) values(d *resolve.BundleDeployment) string {
	facts := c.in.Desired.Values.Facts(state.DeploymentKey(d.BD), state.DeploymentOwner(d.BD, c.bundles[d.Bundle]))
	switch values.Classify(facts, c.in.Now(), c.in.controller()).State {
	case values.Missing:
		return "its values Secret " + d.Key() + " is missing"
	case values.Mismatch:
		return "its values Secret " + d.Key() + " has other values than its BundleDeployment states"
	}
	return ""
}

// Blockers returns a function that follows a bundle deployment to the root cause for which it is not applied. It returns nothing if it is applied, or if
// the data does not show the cause.
func (in *Input) Blockers() func(*resolve.BundleDeployment) []Blocker {
	c := blockers{in: in, clusters: map[string]*v1alpha1.Cluster{}, byName: map[[2]string]*resolve.BundleDeployment{}, byNamespace: map[string][]*resolve.BundleDeployment{},
		bundles: map[string]*v1alpha1.Bundle{}, never: map[*v1alpha1.Cluster]bool{}}
	for _, a := range in.Agents() {
		c.never[a.Cluster] = a.Silent
	}
	for _, b := range in.Desired.Bundles {
		c.bundles[b.Namespace+"/"+b.Name] = b
	}
	for _, o := range in.Desired.Fleet.Clusters {
		c.clusters[o.Status.Namespace] = o
	}
	for _, d := range in.Desired.Deployments {
		if d.BD != nil {
			c.byName[[2]string{d.Namespace, d.Name}] = d
			c.byNamespace[d.Namespace] = append(c.byNamespace[d.Namespace], d)
		}
	}
	return func(d *resolve.BundleDeployment) []Blocker { return c.of(d, map[string]bool{}) }
}

// waits reports whether a bundle deployment is not applied.
func waits(d *resolve.BundleDeployment) bool {
	return d.BD != nil && !d.FromFiles() && d.BD.DeletionTimestamp == nil && d.BD.Spec.DeploymentID != "" &&
		(d.BD.Spec.DeploymentID != d.BD.Status.AppliedDeploymentID || conditionFalse(d.BD, "Installed"))
}

func conditionFalse(bd *v1alpha1.BundleDeployment, name string) bool {
	return slices.ContainsFunc(bd.Status.Conditions, func(c v1alpha1.Condition) bool { return c.Type == name && c.Status == "False" })
}

// of returns the blockers of a bundle deployment. seen are those of the chain so far.
func (c *blockers) of(d *resolve.BundleDeployment, seen map[string]bool) []Blocker {
	if !waits(d) {
		return nil
	}
	seen[d.Key()] = true
	one := func(kind BlockerKind, format string, args ...any) []Blocker {
		return []Blocker{{kind, d.Key(), fmt.Sprintf(format, args...)}}
	}
	switch spec := &d.BD.Spec; {
	case spec.Paused:
		return one(BlockerPaused, "it is paused")
	case spec.OffSchedule:
		return one(BlockerSchedule, "it is outside of the schedule of its cluster")
	}
	if since := c.silent(d); since != "" {
		return one(BlockerAgent, "the agent of its cluster %s", since)
	}
	if why := c.values(d); why != "" {
		return one(BlockerValues, "%s", why)
	}
	if chain := c.dependency(d, seen); len(chain) > 0 {
		return chain
	}
	if id := state.ContentID(d.BD); c.in.Desired.Contents.Missing[id] {
		return one(BlockerContent, "its content %s does not exist", id)
	}
	for _, t := range d.RecordProblems {
		if c.in.blocksHelm(d, t) {
			return one(BlockerRecord, "revision %d of its release is %s: Helm refuses to deploy", t.Record.Revision, t.Status)
		}
	}
	if conditionFalse(d.BD, "Installed") {
		return one(BlockerFailed, "its installation was refused; its condition Installed has the error")
	}
	if conditionFalse(d.BD, "Deployed") {
		return one(BlockerFailed, "its agent could not deploy it; its condition Deployed has the error")
	}
	return nil
}

// silent returns since when the agent of a bundle deployment is silent, as the end of a sentence; empty if it is not, or if that is not known.
func (c *blockers) silent(d *resolve.BundleDeployment) string {
	cluster := c.clusters[d.Namespace]
	if cluster == nil || c.in.Now().IsZero() {
		return ""
	}
	if c.never[cluster] {
		return "was imported and has never reported"
	}
	seen, err := time.Parse(time.RFC3339, cluster.Status.Agent.LastSeen)
	if err != nil || !c.in.late(seen, silentAfter) {
		return ""
	}
	return "has not reported since " + seen.UTC().Format(time.RFC3339)
}

// dependency returns the chain from a bundle deployment to the first blocker among its dependencies; nil if nothing shows one.
func (c *blockers) dependency(d *resolve.BundleDeployment, seen map[string]bool) []Blocker {
	for _, ref := range d.BD.Spec.DependsOn {
		found, known := c.matching(d, ref)
		if !known {
			continue
		}
		if len(found) == 0 {
			return []Blocker{{BlockerDependency, d.Key(), "no bundle deployment of its cluster matches its dependency " + cmp.Or(ref.Name, "(a selector)")}}
		}
		for _, b := range found {
			reported := b.BD.Reported().State
			if reported == "" || accepted(ref, reported) {
				continue
			}
			step := Blocker{BlockerDependency, d.Key(), "it waits for its dependency " + b.Key() + ", which is " + reported}
			if seen[b.Key()] {
				return []Blocker{step, {BlockerCycle, b.Key(), "its dependencies lead back to itself"}}
			}
			if deeper := c.of(b, seen); len(deeper) > 0 {
				return append([]Blocker{step}, deeper...)
			}
			return []Blocker{step, {BlockerState, b.Key(), "it is " + reported}}
		}
	}
	return nil
}

func accepted(ref v1alpha1.BundleRef, reported string) bool {
	if len(ref.AcceptedStates) == 0 {
		return reported == "Ready"
	}
	return slices.Contains(ref.AcceptedStates, reported)
}

// matching returns the bundle deployments in the same namespace that a dependency names; known is false if not all could be read.
func (c *blockers) matching(d *resolve.BundleDeployment, ref v1alpha1.BundleRef) (found []*resolve.BundleDeployment, known bool) {
	if !c.in.Desired.Read(state.BundleDeployment, d.Namespace) || ref.Name == "" && ref.Selector == nil {
		return nil, false
	}
	selector, err := metav1.LabelSelectorAsSelector(cmp.Or(ref.Selector, &metav1.LabelSelector{}))
	if err != nil {
		return nil, false
	}
	if ref.Name != "" && ref.Selector == nil {
		if b := c.byName[[2]string{d.Namespace, ref.Name}]; b != nil && b.BD.Labels[fleet.BundleLabel] == ref.Name &&
			b.BD.Labels[fleet.BundleNamespaceLabel] == d.BD.Labels[fleet.BundleNamespaceLabel] {
			return []*resolve.BundleDeployment{b}, true
		}
	}
	for _, b := range c.byNamespace[d.Namespace] {
		l := b.BD.Labels
		named := ref.Name == "" || l[fleet.BundleLabel] == ref.Name && l[fleet.BundleNamespaceLabel] == d.BD.Labels[fleet.BundleNamespaceLabel]
		if named && selector.Matches(labels.Set(l)) {
			found = append(found, b)
		}
	}
	return found, true
}
