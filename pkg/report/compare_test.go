// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// audit returns a report from lines: "gap WHAT", "CODE SEVERITY OBJECT" for a finding about an object of the bundle
// deployment, or without one for an OBJECT with the kind Cluster, "reported STATE READY/DESIRED" for a bundle
// deployment without a result, and "OBJECT STATE" for its objects.
func audit(lines ...string) *Audit {
	a := &Audit{APIVersion: APIVersion, Kind: Kind, Source: Source{Path: "a.tgz"}}
	bd := BundleDeployment{Namespace: "c", Name: "web", Cluster: "fleet/one", Bundle: "fleet/web",
		State: Ready}
	present := false
	for _, line := range lines {
		w := strings.Fields(line)
		switch {
		case w[0] == "gap":
			a.Gaps = append(a.Gaps, Gap{What: line, Reason: "Forbidden"})
		case w[0] == "reported":
			r := &Reported{State: w[1], Ready: new(int), DesiredReady: new(int)}
			if _, err := fmt.Sscanf(w[2], "%d/%d", r.Ready, r.DesiredReady); err != nil {
				r.Ready, r.DesiredReady = nil, nil
			}
			bd.State, bd.Reason, bd.Reported, present = Unknown, "ClusterNotRead", r, true
		case len(w) == 3:
			f := Finding{Code: w[0], Severity: Severity(w[1]), Object: comparisonRef(w[2]), Message: "m",
				Cluster: "fleet/one"}
			if f.Object.Kind == "Cluster" {
				f.Cause = facts.Lag
			} else {
				f.BundleDeployment, f.Bundle = "c/web", "fleet/web"
			}
			a.Findings = append(a.Findings, f)
		default:
			present = true
			if w[0] != "-" {
				add(&bd, comparisonRef(w[0]), State(w[1]))
			} else {
				bd.State = State(w[1])
			}
		}
	}
	if present {
		a.BundleDeployments = append(a.BundleDeployments, bd)
	}
	return a
}

func comparisonRef(name string) object.Ref {
	if name == "Cluster" {
		return object.Ref{APIVersion: "fleet.cattle.io/v1alpha1", Kind: name, Namespace: "fleet", Name: "one"}
	}
	return object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: name}
}

func add(bd *BundleDeployment, r object.Ref, s State) {
	c := &bd.Counts
	bd.Resources = append(bd.Resources, Resource{Ref: r, State: s})
	n := map[State]*int{Ready: &c.Ready, Missing: &c.Missing, Modified: &c.Modified,
		Unknown: &c.Unknown, Orphaned: &c.Orphaned,
		Unowned: &c.Unowned}[s]
	*n++
	if s != Orphaned {
		c.Desired++
	}
	switch {
	case c.Missing+c.Unowned+c.Modified+c.Orphaned > 0:
		bd.State = Modified
	case c.Unknown > 0:
		bd.State = Unknown
	}
}

func TestCompare(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after []string
		want          string // EFFECT WHAT, sorted as in the document; "?" if it is not complete
	}{
		"nothing": {[]string{"a Ready", "b Missing"}, []string{"a Ready", "b Missing"}, ""},
		"worse": {[]string{"a Ready", "b Ready"}, []string{"a Ready", "b Missing", "FD101 error b"},
			"Worse deployment; Worse FD101 b; Worse b"},
		"better": {[]string{"a Ready", "b Missing", "FD101 error b"}, []string{"a Ready", "b Ready"},
			"Better deployment; Better FD101 b; Better b"},
		"neither": {[]string{"a Ready", "b Missing"}, []string{"a Ready", "b Unowned"},
			"Changed deployment; Changed b"},
		"one each way":   {[]string{"a Ready", "b Missing"}, []string{"a Missing", "b Ready"}, "Worse a; Better b"},
		"an orphan":      {[]string{"a Ready"}, []string{"a Ready", "b Orphaned"}, "Worse deployment; Worse b"},
		"no orphan":      {[]string{"a Ready", "b Orphaned"}, []string{"a Ready"}, "Better deployment; Better b"},
		"a ready object": {[]string{"a Ready"}, []string{"a Ready", "b Ready"}, "Changed deployment"},
		"a bad object":   {[]string{"a Ready"}, []string{"a Ready", "b Missing"}, "Worse deployment; Worse b"},
		"not desired":    {[]string{"a Ready", "b Missing"}, []string{"a Ready"}, "Better deployment; Changed b"},
		"only the state": {[]string{"a Ready"}, []string{"a Ready", "- ErrApplied"}, "Worse deployment"},
		"its end":        {[]string{"a Ready", "- ErrApplied"}, []string{"a Ready"}, "Better deployment"},

		"unread after": {[]string{"a Ready", "b Ready"}, []string{"a Ready", "b Unknown"},
			"Unknown deployment; Unknown b; ?"},
		"unread before, ready": {[]string{"a Ready", "b Unknown"}, []string{"a Ready", "b Ready"},
			"Unknown deployment; Unknown b"},
		"unread before, missing": {[]string{"a Ready", "b Unknown"}, []string{"a Ready", "b Missing",
			"FD101 error b"}, "Unknown deployment; Unknown FD101 b; Unknown b; ?"},
		"missing, then unread": {[]string{"a Ready", "b Missing", "FD101 error b"},
			[]string{"a Ready", "b Unknown"}, "Unknown deployment; Unknown FD101 b; Unknown b; ?"},
		"unread, another is missing": {[]string{"a Ready", "b Unknown"}, []string{"a Missing", "b Unknown",
			"FD101 error a"}, "Unknown deployment; Worse FD101 a; Worse a; ?"},
		"unread, two are missing": {[]string{"a Ready", "b Unknown", "c Ready"}, []string{"a Missing", "b Unknown",
			"c Missing"}, "Worse deployment; Worse a; Worse c"},
		"no result after":  {[]string{"a Ready"}, []string{"reported Ready 1/1"}, "Unknown deployment; ?"},
		"no result before": {[]string{"reported Ready 1/1"}, []string{"a Ready"}, "Unknown deployment"},
		"no result, then missing": {[]string{"reported Ready 1/1"}, []string{"a Missing", "FD101 error a"},
			"Unknown deployment; Unknown FD101 a; ?"},
		"both are unread": {[]string{"a Unknown", "b Ready"}, []string{"a Unknown", "b Ready"}, ""},
		"one is unread after": {[]string{"a Missing", "b Ready", "FD101 error a"},
			[]string{"a Ready", "b Unknown"}, "Unknown deployment; Better FD101 a; Better a; Unknown b; ?"},
		"one is unread before": {[]string{"a Ready", "b Unknown"}, []string{"a Missing", "b Ready",
			"FD101 error a"}, "Unknown deployment; Worse FD101 a; Worse a; Unknown b; ?"},
		"one is unread in both": {[]string{"a Missing", "b Unknown", "FD101 error a"},
			[]string{"a Ready", "b Unknown"}, "Unknown deployment; Better FD101 a; Better a; ?"},
		"numbers, unread after": {[]string{"a Ready", "b Ready", "FD201 warning web", "FD205 warning Cluster"},
			[]string{"a Ready", "b Unknown"}, "Unknown deployment; Unknown FD205 one; Unknown FD201 web; Unknown b; ?"},
		"numbers, unread in both": {[]string{"a Ready", "b Unknown", "FD201 warning web", "FD205 warning Cluster"},
			[]string{"a Ready", "b Unknown"}, "Better FD205 one; Better FD201 web"},
		"not desired, one is unread": {[]string{"a Missing", "b Ready", "c Ready", "FD101 error a"},
			[]string{"b Unknown", "c Ready"}, "Unknown deployment; Better FD101 a; Changed a; Unknown b; ?"},

		"reported alike": {[]string{"reported Ready 1/1"}, []string{"reported Ready 1/1"}, ""},
		"reported worse": {[]string{"reported Ready 1/1"}, []string{"reported NotReady 0/1"}, "Worse deployment"},
		"reported better": {[]string{"reported NotReady 0/2"}, []string{"reported NotReady 1/2"},
			"Better deployment"},
		"reported other": {[]string{"reported NotReady x"}, []string{"reported ErrApplied x"},
			"Changed deployment"},
		"a status, then not": {[]string{"reported ErrApplied 0/1", "FD604 error web"}, []string{"reported Ready 1/1"},
			"Better deployment; Better FD604 web"},
		"a finding, no gap": {[]string{"a Ready", "FD205 warning Cluster"}, []string{"a Ready"}, "Better FD205 one"},
		"a finding, a gap": {[]string{"a Ready", "FD205 warning Cluster"}, []string{"a Ready", "gap x"},
			"Unknown FD205 one; Unknown gap x; ?"},
		"a new one, old gap": {[]string{"a Ready", "gap x"}, []string{"a Ready", "FD205 warning Cluster"},
			"Unknown FD205 one; Changed gap x; ?"},
		"a finding, a result": {[]string{"a Ready", "FD205 warning Cluster"}, []string{"reported Ready 1/1"},
			"Unknown deployment; Unknown FD205 one; ?"},
		"the same gap": {[]string{"a Ready", "gap in a.tgz", "FD205 warning Cluster"},
			[]string{"a Ready", "gap in a.tgz"}, "Better FD205 one"},
		"severity": {[]string{"a Ready", "FD205 warning Cluster"},
			[]string{"a Ready", "FD205 error Cluster"}, "Worse FD205 one"},
		"information":       {[]string{"a Ready"}, []string{"a Ready", "FD109 info a"}, "Changed FD109 a"},
		"a new deployment":  {nil, []string{"a Ready"}, "Changed deployment"},
		"new and not ready": {nil, []string{"a Missing"}, "Worse deployment"},
		"new, but a gap":    {[]string{"gap x"}, []string{"a Missing"}, "Unknown deployment; Changed gap x; ?"},
		"removed":           {[]string{"a Missing", "FD101 error a"}, nil, "Changed deployment; Better FD101 a"},
		"removed, but a gap": {[]string{"a Missing", "FD101 error a"}, []string{"gap x"},
			"Unknown deployment; Unknown FD101 a; Unknown gap x; ?"},
		"an object, of a gap": {[]string{"a Ready", "b Missing", "FD101 error b"}, []string{"a Ready", "b Ready",
			"gap x"}, "Better deployment; Better FD101 b; Better b; Unknown gap x; ?"},
	} {
		got := Compare(audit(tc.before...), audit(tc.after...), "")
		if s := changes(got); s != tc.want {
			t.Errorf("%s: %s, want %s", name, s, tc.want)
		}
	}
}

// changes lists the changes, and checks the summary.
func changes(c *Comparison) string {
	var out []string
	var sum ComparisonSummary
	for _, x := range c.BundleDeployments {
		out = append(out, string(x.Effect)+" deployment")
		sum.BundleDeployments.Add(x.Effect)
	}
	for _, x := range c.Findings {
		out = append(out, fmt.Sprintf("%s %s %s", x.Effect, x.Code, x.Object.Name))
		sum.Findings.Add(x.Effect)
	}
	for _, x := range c.Resources {
		out = append(out, fmt.Sprintf("%s %s", x.Effect, x.Name))
		sum.Resources.Add(x.Effect)
	}
	for _, x := range c.Gaps {
		out = append(out, fmt.Sprintf("%s %s", x.Effect, x.What))
		sum.Gaps.Add(x.Effect)
	}
	if !c.Summary.Complete {
		out = append(out, "?")
	}
	sum.Complete, sum.FromStatus = c.Summary.Complete, c.Summary.FromStatus
	if diff := cmp.Diff(sum, c.Summary); diff != "" {
		out = append(out, diff)
	}
	return strings.Join(out, "; ")
}

// TestGapsOfSnapshots checks that gaps are the same if only the path of the snapshot differs.
func TestGapsOfSnapshots(t *testing.T) {
	before, after := audit("a Ready", "gap a.tgz line 3"), audit("a Ready", "gap b.tgz line 3")
	after.Source.Path = "b.tgz"
	if got := changes(Compare(before, after, "")); got != "" {
		t.Error(got)
	}
}

// TestGapDetails checks that gaps are the same if only their details differ, unless one report has more of them.
func TestGapDetails(t *testing.T) {
	before, after := audit("a Ready", "gap x"), audit("a Ready", "gap x")
	before.Gaps[0].Detail, after.Gaps[0].Detail = "timeout after 1.2s", "timeout after 1.3s"
	if got := changes(Compare(before, after, "")); got != "" {
		t.Error(got)
	}
	after.Gaps = append(after.Gaps, before.Gaps[0])
	if got := changes(Compare(before, after, "")); got != "Unknown gap x; ?" {
		t.Errorf("two gaps: %s", got)
	}
}

// TestDownstream checks that a finding about a bundle deployment of which only the release is known, which has no
// namespace, is not fixed if the bundle deployment has no result any more.
func TestDownstream(t *testing.T) {
	before, after := audit("a Ready", "FD604 error a"), audit("reported Ready 1/1")
	before.BundleDeployments[0].Namespace, after.BundleDeployments[0].Namespace = "", ""
	before.Findings[0].BundleDeployment = "web"
	if got := changes(Compare(before, after, "")); got != "Unknown deployment; Unknown FD604 a; ?" {
		t.Error(got)
	}
}

// TestIgnored checks that a finding that is ignored on one side is not fixed, and not new.
func TestIgnored(t *testing.T) {
	with, without := audit("a Ready", "FD205 warning Cluster"), audit("a Ready")
	without.Ignored = []Ignored{{ID: Occurrences(with)[0].ID}}
	for _, c := range []*Comparison{Compare(with, without, ""), Compare(without, with, "")} {
		if got := changes(c); got != "" {
			t.Error(got)
		}
	}
}

// downstream returns a report of a downstream cluster, of which only the release of a bundle is known.
func downstream(bundle string, lines ...string) *Audit {
	a := audit(append(lines, "a Ready")...)
	bd := &a.BundleDeployments[0]
	bd.Namespace, bd.Name, bd.Cluster, bd.Bundle = "", bundle, "", ""
	return a
}

func TestComparable(t *testing.T) {
	scoped := audit("a Ready")
	scoped.Scope.Targets = []string{"bundle/web", "bundle/api"}
	otherOrder := audit("a Ready")
	otherOrder.Scope.Targets = []string{"bundle/api", "bundle/web", "bundle/api"}
	hides, alike, hidesNothing := audit("a Ready"), audit("a Ready"), audit("a Ready")
	hides.Filter = &Filter{Codes: []string{"FD104", "FD101"}, Hidden: FindingCounts{Warning: 1}}
	alike.Filter = &Filter{Codes: []string{"FD101", "FD104"}, Hidden: FindingCounts{Info: 1}}
	hidesNothing.Filter = &Filter{Severity: Error}
	other := audit("a Ready")
	other.BundleDeployments[0].Name, other.BundleDeployments[0].Cluster = "other", "fleet/two"
	otherOfCluster, ofCluster := *other, *audit("a Ready")
	otherOfCluster.Clusters, ofCluster.Clusters = []Aggregate{{Name: "one"}}, []Aggregate{{Name: "one"}}
	ofUID := func(uid string, a *Audit) *Audit {
		a.Source.ClusterUID = uid
		return a
	}
	for name, tc := range map[string]struct {
		x, y *Audit
		ok   bool
	}{
		"alike":             {audit("a Ready"), audit("b Ready"), true},
		"another scope":     {audit("a Ready"), scoped, false},
		"another order":     {scoped, otherOrder, true},
		"hidden findings":   {audit("a Ready"), hides, false},
		"another filter":    {hidesNothing, hides, false},
		"the same filter":   {hides, alike, true},
		"a filter, all":     {audit("a Ready"), hidesNothing, true},
		"nothing in common": {audit("a Ready"), other, false},
		"a Cluster":         {&ofCluster, &otherOfCluster, true},
		"unread":            {downstream("web", "gap x"), downstream("other"), true},
		"nothing unread":    {downstream("web"), downstream("other"), false},
		"other Clusters":    {audit("a Ready", "gap x"), other, false},
		"one uid":           {ofUID("u1", downstream("web")), ofUID("u1", downstream("other")), true},
		"two uids":          {ofUID("u1", audit("a Ready")), ofUID("u2", audit("a Ready")), false},
		"a uid is unread":   {ofUID("u1", audit("a Ready")), audit("a Ready"), true},
		"downstream":        {ofUID("u1", downstream("web")), downstream("web"), true},
		"nothing deployed":  {audit(), audit("a Ready"), true},
	} {
		for _, err := range []error{Comparable(tc.x, tc.y), Comparable(tc.y, tc.x)} {
			if (err == nil) != tc.ok || err != nil && !errors.Is(err, ErrNotComparable) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestClusterNotes checks that two reports of downstream clusters are not taken for those of one cluster because a
// bundle is deployed to both.
func TestClusterNotes(t *testing.T) {
	uid := downstream("web")
	uid.Source.ClusterUID = "u1"
	for name, tc := range map[string]struct {
		x, y  *Audit
		notes int
	}{
		"no uid":           {downstream("web"), downstream("web"), 1},
		"one uid":          {downstream("web"), uid, 1},
		"both uids":        {uid, uid, 0},
		"no bundle":        {downstream("web", "gap x"), downstream("other"), 0},
		"a management one": {audit("a Ready"), audit("a Ready"), 0},
	} {
		for _, got := range [][]string{ClusterNotes(tc.x, tc.y), ClusterNotes(tc.y, tc.x)} {
			if len(got) != tc.notes {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
}
