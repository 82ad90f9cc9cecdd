// SPDX-License-Identifier: Apache-2.0

package targeting

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// The second implementation, which follows docs/fleet-behavior.md, 5.2 and 5.3, line by line. It shares no code with
// the first one: it evaluates selectors itself, and works on the objects as they are.

func bruteSelects(s *metav1.LabelSelector, labels map[string]string) bool {
	for k, v := range s.MatchLabels {
		if got, ok := labels[k]; !ok || got != v {
			return false
		}
	}
	for _, e := range s.MatchExpressions {
		got, ok := labels[e.Key]
		in := ok && slices.Contains(e.Values, got)
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			if !in {
				return false
			}
		case metav1.LabelSelectorOpNotIn:
			if in {
				return false
			}
		case metav1.LabelSelectorOpExists:
			if !ok {
				return false
			}
		case metav1.LabelSelectorOpDoesNotExist:
			if ok {
				return false
			}
		}
	}
	return true
}

func bruteMatch(t v1alpha1.ClusterTarget, c *v1alpha1.Cluster, groupName string, groupLabels map[string]string,
	byDisplayName bool) bool {
	tested := 0
	if t.ClusterName != "" {
		tested++
		display, has := c.Labels["management.cattle.io/cluster-display-name"]
		if t.ClusterName != c.Name && (!byDisplayName || !has || t.ClusterName != display) {
			return false
		}
	}
	if t.ClusterGroup != "" {
		tested++
		if t.ClusterGroup != groupName {
			return false
		}
	}
	if t.ClusterGroupSelector != nil {
		tested++
		if !bruteSelects(t.ClusterGroupSelector, groupLabels) {
			return false
		}
	}
	if t.ClusterSelector != nil {
		tested++
		if !bruteSelects(t.ClusterSelector, c.Labels) {
			return false
		}
	}
	return tested > 0
}

// bruteDeployed reports whether a bundle is deployed to a cluster, the index of the target that excludes it, or -1, and
// the indexes of the targets whose options apply.
func bruteDeployed(b *v1alpha1.Bundle, c *v1alpha1.Cluster, groups []*v1alpha1.ClusterGroup,
	v fleet.Version) (deployed bool, excludes int, options []int) {
	byDisplayName := v.Minor > 14 || v.Minor == 14 && v.Patch >= 2 || v.Minor == 13 && v.Patch >= 7
	byPosition := v.Minor >= 16
	type pair struct {
		name   string
		labels map[string]string
	}
	var pairs []pair
	for _, g := range groups {
		if g.Namespace == c.Namespace && g.Spec.Selector != nil && bruteSelects(g.Spec.Selector, c.Labels) {
			pairs = append(pairs, pair{g.Name, g.Labels})
		}
	}
	if len(pairs) == 0 {
		pairs = []pair{{}}
	}
	anyGroup := func(f func(pair) bool) bool { return slices.ContainsFunc(pairs, f) }
	match := func(i int, g pair) bool {
		return bruteMatch(b.Spec.Targets[i].ClusterTarget, c, g.name, g.labels, byDisplayName)
	}
	allowed := func(g pair) bool {
		return len(b.Spec.TargetRestrictions) == 0 || slices.ContainsFunc(b.Spec.TargetRestrictions,
			func(r v1alpha1.ClusterTarget) bool {
				return bruteMatch(r, c, g.name, g.labels, byDisplayName)
			})
	}
	custom := func(i int) bool {
		return byPosition && len(b.Spec.TargetRestrictions) > 0 &&
			i < len(b.Spec.Targets)-len(b.Spec.TargetRestrictions)
	}
	base := -1
	for i := range b.Spec.Targets {
		if base < 0 && !custom(i) && anyGroup(func(g pair) bool { return allowed(g) && match(i, g) }) {
			base = i
		}
	}
	if base < 0 {
		return false, -1, nil
	}
	var found []int
	for i := range b.Spec.Targets {
		if (custom(i) || !byPosition) && anyGroup(func(g pair) bool { return match(i, g) }) {
			found = append(found, i)
		}
	}
	if byPosition && b.Spec.Targets[base].DoNotDeploy {
		return false, base, nil
	}
	all := byPosition && b.Spec.TargetCustomizationMode == "AllMatches"
	if !all {
		found = found[:min(len(found), 1)]
	}
	for _, i := range found {
		if b.Spec.Targets[i].DoNotDeploy {
			return false, i, nil
		}
	}
	if len(found) == 0 || all {
		return true, -1, append([]int{base}, found...)
	}
	return true, -1, found
}

// TestBruteForce compares the two implementations on random clusters, groups and bundles, for each version whose rules
// differ.
func TestBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 2026))
	versions := []string{"v0.10.4", "v0.13.6", "v0.13.7", "v0.14.1", "v0.14.2", "v0.15.0", "v0.16.0", "v0.16.1",
		"v0.17.0"}
	outcomes := map[Outcome]int{}
	for range 3000 {
		clusters, groups := randomClusters(r)
		b := randomBundle(r)
		tag := versions[r.IntN(len(versions))]
		v, _ := fleet.ParseVersion(tag)
		for result := range New(Input{Clusters: clusters, Groups: groups, Version: tag}).Bundle(b).Results() {
			deployed, excludes, options := bruteDeployed(b, result.Cluster.Cluster, groups, v)
			compareBrute(t, fmt.Sprintf("%s %+v %+v", tag, b.Spec, result.Cluster.Labels), result, deployed, excludes,
				options)
			outcomes[result.Outcome]++
		}
		checkUnknown(t, clusters, groups, b, versions)
	}
	if outcomes[Expected] < 1000 || outcomes[Excluded] < 1000 {
		t.Errorf("the random data are one-sided: %v", outcomes)
	}
}

func compareBrute(t *testing.T, what string, r Result, deployed bool, excludes int, options []int) {
	t.Helper()
	if (r.Outcome == Expected) != deployed || (r.Decides != nil) != (excludes >= 0) || r.Decides != nil &&
		r.Decides.Index != excludes {
		t.Fatalf("%s: %s, and brute force says %v, excluded by %d", what, short(r), deployed, excludes)
	}
	if !deployed {
		return
	}
	var got []int
	for _, c := range r.Customizations {
		got = append(got, c.Index)
	}
	if len(got) == 0 || len(options) != 1 {
		got = append([]int{r.Target.Index}, got...)
	}
	if !slices.Equal(got, options) {
		t.Fatalf("%s: %s: options of %v, and brute force says %v", what, short(r), got, options)
	}
}

// checkUnknown checks that the result for an unknown version is that of every version, or Unknown.
func checkUnknown(t *testing.T, clusters []*v1alpha1.Cluster, groups []*v1alpha1.ClusterGroup, b *v1alpha1.Bundle,
	versions []string) {
	t.Helper()
	unknown := New(Input{Clusters: clusters, Groups: groups, Version: "dev"}).Bundle(b)
	for r := range unknown.Results() {
		same := true
		first, _, _ := bruteDeployed(b, r.Cluster.Cluster, groups, fleet.Version{Minor: 10})
		for _, tag := range versions {
			v, _ := fleet.ParseVersion(tag)
			if b.Spec.TargetCustomizationMode != "" && v.Minor < 16 {
				continue // its API server does not store the mode
			}
			deployed, _, _ := bruteDeployed(b, r.Cluster.Cluster, groups, v)
			if b.Spec.TargetCustomizationMode != "" && tag == "v0.16.0" {
				first = deployed
			}
			same = same && deployed == first
		}
		if same != (r.Outcome != Unknown) || same && (r.Outcome == Expected) != first {
			t.Fatalf("%+v %+v: %s, and brute force says %v in every version: %v", b.Spec, r.Cluster.Labels, short(r),
				first, same)
		}
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func randomLabels(r *rand.Rand) map[string]string {
	out := map[string]string{}
	for _, k := range []string{"env", "tier", "region"} {
		if r.IntN(3) > 0 {
			out[k] = pick(r, "1", "2", "3")
		}
	}
	return out
}

func randomSelector(r *rand.Rand) *metav1.LabelSelector {
	out := &metav1.LabelSelector{}
	for range r.IntN(3) {
		key := pick(r, "env", "tier", "region")
		switch op := pick(r, "=", metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists,
			metav1.LabelSelectorOpDoesNotExist); op {
		case "=":
			out.MatchLabels = map[string]string{key: pick(r, "1", "2", "3")}
		case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
			out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: op,
				Values: []string{pick(r, "1", "2"), pick(r, "2", "3")}})
		default:
			out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: op})
		}
	}
	return out
}

func randomTarget(r *rand.Rand) v1alpha1.ClusterTarget {
	var out v1alpha1.ClusterTarget
	if r.IntN(5) == 0 {
		out.ClusterName = pick(r, "c0", "c1", "paris", "rome")
	}
	if r.IntN(5) == 0 {
		out.ClusterGroup = pick(r, "g0", "g1", "g2")
	}
	if r.IntN(5) == 0 {
		out.ClusterGroupSelector = randomSelector(r)
	}
	if r.IntN(3) > 0 {
		out.ClusterSelector = randomSelector(r)
	}
	return out
}

func randomClusters(r *rand.Rand) (clusters []*v1alpha1.Cluster, groups []*v1alpha1.ClusterGroup) {
	for i := range 4 {
		c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "w", Name: fmt.Sprintf("c%d", i),
			Labels: randomLabels(r)}}
		c.Status.Namespace = "cluster-" + c.Name
		if r.IntN(3) == 0 {
			c.Labels["management.cattle.io/cluster-display-name"] = pick(r, "paris", "rome", "c0")
		}
		clusters = append(clusters, c)
	}
	for i := range r.IntN(4) {
		g := &v1alpha1.ClusterGroup{ObjectMeta: metav1.ObjectMeta{Namespace: pick(r, "w", "w", "x"),
			Name: fmt.Sprintf("g%d", i), Labels: randomLabels(r)}}
		if r.IntN(4) > 0 {
			g.Spec.Selector = randomSelector(r)
		}
		groups = append(groups, g)
	}
	return clusters, groups
}

func randomBundle(r *rand.Rand) *v1alpha1.Bundle {
	b := &v1alpha1.Bundle{ObjectMeta: metav1.ObjectMeta{Namespace: "w", Name: "b"}}
	var base []v1alpha1.ClusterTarget
	for range r.IntN(3) {
		base = append(base, randomTarget(r))
	}
	for range r.IntN(4) {
		b.Spec.Targets = append(b.Spec.Targets, v1alpha1.BundleTarget{ClusterTarget: randomTarget(r),
			DoNotDeploy: r.IntN(4) == 0})
	}
	for _, t := range base {
		b.Spec.Targets = append(b.Spec.Targets, v1alpha1.BundleTarget{ClusterTarget: t, DoNotDeploy: r.IntN(8) == 0})
	}
	switch r.IntN(4) {
	case 0: // as for a HelmOp
	case 1: // a Bundle that was edited
		for range r.IntN(4) {
			b.Spec.TargetRestrictions = append(b.Spec.TargetRestrictions, randomTarget(r))
		}
	default:
		b.Spec.TargetRestrictions = base
	}
	b.Spec.TargetCustomizationMode = pick(r, "", "", "FirstMatch", "AllMatches")
	return b
}
