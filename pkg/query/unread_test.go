// SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// unreadable is a source that does not permit reading some kinds.
type unreadable struct {
	source.Source
	kinds []string
}

func (s unreadable) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage,
	error) {
	if slices.Contains(s.kinds, q.Kind.Kind) {
		return source.NotCovered(source.Failure{Reason: source.Forbidden, Detail: "not permitted"}), nil
	}
	return s.Source.List(ctx, q, yield)
}

// TestUnread: what could not be read is never a root cause, and an object is not called ready because of it.
func TestUnread(t *testing.T) {
	for _, tc := range []struct {
		file, target string
		unread       []string
		state        report.State
		steps        string // those of the first cause
		note         string
	}{
		{"why/management.yaml", "bundle/guestbook", nil, report.NotReady, "Dependency guestbook, Values cert-manager",
			""},
		{"why/management.yaml", "bundle/guestbook", []string{"Secret"}, report.NotReady,
			"Dependency guestbook, NotApplied cert-manager", ""},
		{"why/management.yaml", "bundle/guestbook", []string{"Bundle"}, report.NotReady,
			"Dependency guestbook, Values cert-manager", "the Bundle itself was not read (Forbidden)"},
		{"why/management.yaml", "bundle/shop", []string{"Cluster"}, report.NotReady, "Rollout shop", ""},
		{"why/management.yaml", "bundle/shop", []string{"Bundle"}, report.NotReady, "Rollout shop",
			"the Bundle itself was not read (Forbidden)"},
		{"why/management.yaml", "cluster/edge-1", []string{"Cluster"}, report.NotReady, "Objects shop",
			"the Cluster itself was not read (Forbidden)"},
		{"why/blockers.yaml", "bundle/content", []string{"Content"}, report.NotReady, "NotApplied content", ""},
		{"why/blockers.yaml", "bundle/needs-nothing", []string{"Bundle"}, report.NotReady,
			"DependencyAbsent needs-nothing", "the Bundle itself"},
		{"why/record-pending.yaml", "bundle/pending", []string{"Secret"}, report.NotReady, "NotApplied pending", ""},
		{"why/blockers.yaml", "bundle/by-bundle", []string{"Bundle"}, report.NotReady, "Paused by-bundle",
			"the Bundle itself"},
		{"cases/ready.yaml", "bundledeployment/guestbook", nil, report.Ready, "", ""},
		{"cases/ready.yaml", "bundledeployment/guestbook", []string{"ConfigMap"}, report.Unknown, "Unread guestbook",
			""},
		{"cases/missing.yaml", "gitrepo/apps", []string{"ConfigMap"}, report.NotReady, "Objects guestbook", ""},
	} {
		kind, name, _ := strings.Cut(tc.target, "/")
		got := explained(t, unreadable{caseOf(t, testdata+"/"+tc.file), tc.unread},
			evaluate.Target{Kind: kind, Name: name})
		o := got.Objects[0]
		consistent(t, tc.target, o)
		var steps []string
		if len(o.Causes) > 0 {
			steps = shortened("", o).Causes[0].Steps
		}
		if o.State != tc.state || strings.Join(steps, ", ") != tc.steps ||
			!strings.Contains(strings.Join(o.Notes, "\n"), tc.note) {
			t.Errorf("%s without %v: %s by %v, notes %q, want %s by %s: %s", tc.target, tc.unread, o.State, steps,
				o.Notes, tc.state, tc.steps, o.Answer)
		}
	}
}

// TestNotFound: a name that no object has is an error.
func TestNotFound(t *testing.T) {
	for _, target := range []evaluate.Target{{Kind: evaluate.TargetBundle, Name: "shopping"},
		{Kind: evaluate.TargetBundle, Name: "other/shop"}, {Kind: evaluate.TargetCluster, Name: "edge"}} {
		all := query.WhyTargets{target}
		_, err := audit.Run(t.Context(), caseOf(t, testdata+"/why/management.yaml"),
			audit.Options{Commands: cases.Commands, Scope: evaluate.Scope{Targets: all}, Pick: query.Pick})
		if _, ok := errors.AsType[*evaluate.NotFoundError](err); !ok {
			t.Errorf("%s: error %v", target, err)
		}
	}
}

// changed explains an object of a case in which a text is replaced.
func changed(t *testing.T, file string, target evaluate.Target, pairs ...string) report.WhyObject {
	t.Helper()
	var head map[string]any
	capture, err := cases.Read(testdata+"/"+file, &head)
	if err != nil {
		t.Fatal(err)
	}
	if err := capture.Complete(nil); err != nil {
		t.Fatal(err)
	}
	in, err := capture.Stream()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(in); err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(pairs...).Replace(b.String())
	if text == b.String() {
		t.Fatalf("%s does not have %q", file, pairs[0])
	}
	s, err := snapshot.Open(t.Context(), []string{"-"}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	o := explained(t, s, target).Objects[0]
	consistent(t, file, o)
	return o
}

// TestOther checks the kinds that need other data than the cases have.
func TestOther(t *testing.T) {
	platform := evaluate.Target{Kind: evaluate.TargetGitRepo, Name: "platform"}
	for _, tc := range []struct {
		name  string
		got   report.WhyObject
		steps string
	}{
		{"a GitRepo that is not polled", changed(t, "why/management.yaml", platform, `"gitJobStatus":"Current"`,
			`"gitJobStatus":"Current","lastPollingTriggered":"2026-01-01T00:00:00Z"`), "NotFollowed platform"},
		{"a Job in progress", changed(t, "why/management.yaml", platform, `"gitJobStatus":"Current"`,
			`"gitJobStatus":"InProgress"`), "GitJob platform"},
		{"the values of a Bundle", changed(t, "why/management.yaml", platform,
			`"generation":1,"labels":{"fleet.cattle.io/commit":"c0ffee","fleet.cattle.io/repo-name":"platform"},`+
				`"name":"cert-manager"`,
			`"generation":1,"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"fleet.cattle.io/commit":"c0ffee",`+
				`"fleet.cattle.io/repo-name":"platform"},"name":"cert-manager"`,
			`"spec":{"targets":[`, `"spec":{"valuesHash":"0123","targets":[`), "BundleValues cert-manager"},
	} {
		if steps := shortened("", tc.got).Causes[0].Steps; strings.Join(steps, ", ") != tc.steps {
			t.Errorf("%s: %v, want %s: %s", tc.name, steps, tc.steps, tc.got.Answer)
		}
	}
}

// TestReportedOnly: Fleet's status does not prove that an object is ready. The answer counts the deployments whose
// objects were not read.
func TestReportedOnly(t *testing.T) {
	const estate = testdata + "/impact/management.yaml"
	of := func(src source.Source, kind, name string) report.WhyObject {
		return explained(t, src, evaluate.Target{Kind: kind, Name: name}).Objects[0]
	}
	for _, tc := range []struct {
		got    report.WhyObject
		answer string
	}{
		{of(opened(t, estate), evaluate.TargetGitRepo, "platform"),
			"platform is ready: Fleet reports 3 of 3 bundle deployments as Ready, and their objects were not read"},
		{of(opened(t, estate), evaluate.TargetCluster, "edge-1"),
			"edge-1 is ready: Fleet reports it as Ready, and its objects were not read"},
	} {
		consistent(t, "reported only", tc.got)
		if want := "It is not known whether " + tc.answer; tc.got.State != report.Unknown || tc.got.Answer != want {
			t.Errorf("%s is %s: %q, want %q", tc.got.Key(), tc.got.State, tc.got.Answer, want)
		}
	}
}
