// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// faulty simulates a cluster from a snapshot. Some requests to it fail.
type faulty struct {
	source.Source
	// lists are the results of list requests, by kind, or by kind and field selector ("Secret type=…").
	lists map[string]source.Coverage
	// unserved are kinds that the server does not serve. served are additional kinds that it serves.
	unserved []string
	served   []source.Kind
	// undecodable is a kind: the status of its objects cannot be decoded.
	undecodable string
	// late lists yield every object before they fail.
	late bool
}

func (f faulty) Describe(ctx context.Context) (source.Description, error) {
	d, err := f.Source.Describe(ctx)
	d.Origin, d.Server, d.Paths = source.OriginCluster, "https://cluster.example.com", nil
	d.ClusterUID = "" // a server does not state it
	return d, err
}

func (f faulty) Kinds(ctx context.Context) (*source.Kinds, error) {
	all, err := f.Source.Kinds(ctx)
	if err != nil {
		return nil, err
	}
	kinds := &source.Kinds{}
	kinds.MissingMeans(source.Failure{Reason: source.KindNotServed})
	for _, k := range all.All() {
		if !slices.Contains(f.unserved, k.Kind) {
			kinds.Add(k)
		}
	}
	for _, k := range f.served {
		kinds.Add(k)
	}
	return kinds, nil
}

func (f faulty) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	for _, key := range []string{q.Kind.Kind + " " + q.FieldSelector, q.Kind.Kind} {
		cover, ok := f.lists[key]
		if !ok {
			continue
		}
		_, err := f.Source.List(ctx, q, func(o source.Object) error {
			if _, ok := cover.Of(namespaceOf(o.Raw)); !ok && !f.late {
				return nil // this namespace cannot be read
			}
			return yield(o)
		})
		return cover, err
	}
	return f.Source.List(ctx, q, func(o source.Object) error {
		if q.Kind.Kind == f.undecodable {
			o.Raw = bytes.Replace(o.Raw, []byte(`"status":{`), []byte(`"status":["REDACTED"],"was":{`), 1)
		}
		return yield(o)
	})
}

func namespaceOf(raw []byte) string {
	_, rest, ok := strings.Cut(string(raw), `"namespace":"`)
	if !ok {
		return ""
	}
	ns, _, _ := strings.Cut(rest, `"`)
	return ns
}

var forbidden = source.NotCovered(source.Failure{Reason: source.Forbidden, Detail: "user reader may not list it"})

// auditCase audits the cluster of a case with a fault.
func auditCase(t *testing.T, name string, f faulty) (*report.Audit, error) {
	t.Helper()
	f.Source = readCase(t, casesDir+"/"+name+".yaml").open(t)
	return reportOf(audit.Run(t.Context(), f, audit.Options{Commands: cases.Commands, Pause: noPause}))
}

// TestUnread checks that objects are Unknown, with the reason, if the server refuses to list them. A snapshot cannot
// show this.
func TestUnread(t *testing.T) {
	failed := source.NotCovered(source.Failure{Reason: source.ReadFailed, Detail: "the connection was lost"})
	for _, tc := range []struct {
		name      string
		fault     faulty
		state     report.State
		reason    string
		counts    report.Counts
		resources map[string]string
		findings  []string
		gaps      []string
	}{
		{name: "a kind may not be listed", fault: faulty{lists: map[string]source.Coverage{"Service": forbidden}},
			state: report.Unknown, counts: report.Counts{Desired: 3, Ready: 2, Unknown: 1},
			resources: map[string]string{"v1/Service/web/frontend": "Unknown:Forbidden"},
			gaps:      []string{"reading Service objects in namespace web: Forbidden"}},
		{name: "a kind may be listed in one namespace only",
			fault: faulty{lists: map[string]source.Coverage{"Service": forbidden.With("web", nil)}},
			state: report.Ready, counts: report.Counts{Desired: 3, Ready: 3},
			gaps: []string{"reading Service objects: Forbidden: user reader may not list it"}},
		{name: "a list fails after the desired objects",
			fault: faulty{late: true, lists: map[string]source.Coverage{"Service": failed}},
			state: report.Ready, counts: report.Counts{Desired: 3, Ready: 3},
			gaps: []string{"reading Service objects: ReadFailed: the connection was lost: orphaned objects of this " +
				"kind may be missed"}},
		{name: "a list fails in a namespace after the desired objects",
			fault: faulty{late: true, lists: map[string]source.Coverage{"Service": source.Covered().With("web",
				&source.Failure{Reason: source.ReadFailed})}},
			state: report.Ready, counts: report.Counts{Desired: 3, Ready: 3},
			gaps: []string{"reading Service objects in namespace web: ReadFailed: orphaned objects of this kind may " +
				"be missed"}},
		{name: "the connection is lost", fault: faulty{lists: map[string]source.Coverage{"Deployment": failed}},
			state: report.Unknown, counts: report.Counts{Desired: 3, Ready: 2, Unknown: 1},
			resources: map[string]string{"apps/v1/Deployment/web/frontend": "Unknown:ReadFailed"},
			gaps:      []string{"reading Deployment objects in namespace web: ReadFailed"}},
		{name: "a kind is not served", fault: faulty{unserved: []string{"Service"}},
			state: report.Unknown, counts: report.Counts{Desired: 3, Ready: 2, Unknown: 1},
			resources: map[string]string{"v1/Service/web/frontend": "Unknown:KindNotServed"},
			gaps:      []string{"reading Service objects in namespace web: KindNotServed"}},
		{name: "Secrets may not be listed", fault: faulty{lists: map[string]source.Coverage{"Secret": forbidden}},
			state: report.Unknown, reason: "Forbidden",
			findings: []string{"FD607 BundleDeployment cluster-one/guestbook"},
			gaps: []string{"listing release records (Secrets): Forbidden",
				"searching for objects with the hash label in secrets"}},
		{name: "release records could not be read", fault: faulty{lists: map[string]source.Coverage{"Secret type=" +
			release.SecretType: failed}},
			state: report.Unknown, reason: "ReadFailed",
			findings: []string{"FD607 BundleDeployment cluster-one/guestbook"},
			gaps:     []string{"listing release records (Secrets): ReadFailed"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := auditCase(t, "ready", tc.fault)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.BundleDeployments) != 1 {
				t.Fatalf("%d bundle deployments, want one", len(got.BundleDeployments))
			}
			bd := stateOf(got.BundleDeployments[0], expectedDeployment{})
			want := expectedDeployment{State: tc.state, Reason: tc.reason, Counts: tc.counts, Resources: tc.resources,
				Differences: map[string][]string{}, Owners: map[string]string{}}
			if want.Resources == nil {
				want.Resources = map[string]string{}
			}
			if diff := cmp.Diff(want, bd); diff != "" {
				t.Errorf("bundle deployment (-want +got):\n%s", diff)
			}
			var findings, gaps []string
			for _, f := range got.Findings {
				findings = append(findings, findingKey(f))
			}
			if diff := cmp.Diff(tc.findings, findings); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			for _, g := range got.Gaps {
				gaps = append(gaps, g.What+": "+g.Why()+": "+g.Effect)
			}
			checkTexts(t, "gaps", tc.gaps, gaps)
		})
	}
}

// TestUnreadFleet checks that unread objects of Fleet cause no false findings, such as leftover releases.
func TestUnreadFleet(t *testing.T) {
	t.Run("BundleDeployments", func(t *testing.T) {
		got, err := auditCase(t, "cluster-lags",
			faulty{lists: map[string]source.Coverage{"BundleDeployment": forbidden}})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range got.Findings {
			switch f.Code {
			case "FD205", "FD606":
				t.Errorf("false finding %s: %s", findingKey(f), f.Message)
			}
		}
		// The release is evaluated without its BundleDeployment, as on a downstream cluster.
		if len(got.BundleDeployments) != 1 || got.BundleDeployments[0].Name != "guestbook" ||
			got.BundleDeployments[0].Counts.Missing != 1 {
			t.Errorf("bundle deployments %+v, want the release of guestbook with one object missing",
				got.BundleDeployments)
		}
	})
	t.Run("BundleDeployments and release records", func(t *testing.T) {
		f := faulty{lists: map[string]source.Coverage{"BundleDeployment": forbidden, "Secret": forbidden}}
		f.Source = readCase(t, casesDir+"/cluster-lags.yaml").open(t)
		got, err := audit.Run(t.Context(), f, audit.Options{Pause: noPause})
		if err != nil {
			t.Fatal(err)
		}
		if unread := got.Undecided(); !strings.HasPrefix(unread, "listing BundleDeployment objects: Forbidden") {
			t.Errorf("undecided %q: a Cluster alone gives no result", unread)
		}
	})
	t.Run("only the namespace of BundleDeployments was read, and it has none", func(t *testing.T) {
		cover := forbidden.With("cluster-one", nil)
		got, err := auditCase(t, "cluster-without-deployments-captured",
			faulty{lists: map[string]source.Coverage{"BundleDeployment": cover}})
		if err != nil || len(got.BundleDeployments) != 0 {
			t.Errorf("error %v, report %+v, want one without deployments", err, got)
		}
	})
	t.Run("a BundleDeployment that cannot be decoded", func(t *testing.T) {
		got, err := auditCase(t, "cluster-lags", faulty{undecodable: "BundleDeployment"})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range got.Findings {
			if f.Code == "FD606" {
				t.Errorf("false finding %s: %s", findingKey(f), f.Message)
			}
		}
		if len(got.Gaps) == 0 {
			t.Error("no gap")
		}
	})
	t.Run("leftovers", func(t *testing.T) {
		got, err := auditCase(t, "leftover-release",
			faulty{lists: map[string]source.Coverage{"BundleDeployment": forbidden}})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range got.Findings {
			if f.Code == "FD606" {
				t.Errorf("false finding %s: %s", findingKey(f), f.Message)
			}
		}
	})
	t.Run("all objects", func(t *testing.T) {
		_, err := auditCase(t, "fleet-dump", faulty{lists: map[string]source.Coverage{"BundleDeployment": forbidden,
			"Cluster": forbidden}})
		if !errors.Is(err, collect.ErrNothingRead) {
			t.Errorf("error %v, want %v", err, collect.ErrNothingRead)
		}
	})
	t.Run("no Fleet", func(t *testing.T) {
		_, err := auditCase(t, "no-fleet", faulty{})
		if !errors.Is(err, collect.ErrNoFleet) || !strings.Contains(err.Error(), "https://cluster.example.com") {
			t.Errorf("error %v, want %v and the server", err, collect.ErrNoFleet)
		}
	})
	t.Run("Fleet without deployments", func(t *testing.T) {
		served := source.Kind{
			GroupVersionKind: v1alpha1.Kind("BundleDeployment"),
			Resource:         "bundledeployments",
			Namespaced:       true,
		}
		got, err := auditCase(t, "no-fleet", faulty{
			lists:  map[string]source.Coverage{"BundleDeployment": source.Covered()},
			served: []source.Kind{served},
		})
		if err != nil || len(got.Findings) > 0 || len(got.Gaps) > 0 {
			t.Errorf("error %v, report %+v, want a clean report", err, got)
		}
	})
}

// TestOtherVersionServed checks the search for objects with the hash label if the server does not serve the desired
// version of a kind. The search uses the served version.
func TestOtherVersionServed(t *testing.T) {
	got, err := auditCase(t, "other-version", faulty{})
	if err != nil {
		t.Fatal(err)
	}
	if c := got.BundleDeployments[0].Counts; c.Unknown != 4 || c.Desired != 4 {
		t.Errorf("counts %+v, want 4 unknown", c)
	}
	var findings []string
	for _, f := range got.Findings {
		findings = append(findings, findingKey(f))
	}
	if !slices.Contains(findings, "FD109 HorizontalPodAutoscaler web/copy") {
		t.Errorf("findings %q, want one for web/copy", findings)
	}
}

// TestUnreadTotals checks that an incomplete total is not reported as complete, for clusters that were not read and for
// GitRepos that are deployed there.
func TestUnreadTotals(t *testing.T) {
	for _, tc := range []struct {
		name            string
		fault           faulty
		repos, clusters []string
	}{
		{"ready", faulty{}, nil, nil},
		{"cluster-lags", faulty{}, nil, []string{"local"}},
		{"cluster-lags", faulty{lists: map[string]source.Coverage{"BundleDeployment": forbidden}}, nil, nil},
		{"other-cluster", faulty{}, nil, []string{"one"}},
		{"fleet-dump", faulty{}, nil, nil},
	} {
		got, err := auditCase(t, tc.name, tc.fault)
		if err != nil {
			t.Fatal(err)
		}
		names := func(list []report.Aggregate) (out []string) {
			for _, a := range list {
				if a.Actual != nil {
					out = append(out, a.Name)
				}
				if a.Reported == nil || (a.Statuses == nil) != (tc.fault.lists != nil) {
					t.Errorf("%s: %s has other numbers: %+v", tc.name, a.Name, a)
				}
			}
			return out
		}
		if diff := cmp.Diff([][]string{tc.repos, tc.clusters}, [][]string{names(got.GitRepos),
			names(got.Clusters)}); diff != "" {
			t.Errorf("%s: totals of GitRepos and Clusters (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestAgentVersions checks two agents with the same deployments, in any order. The agent that reports to the Cluster
// has the Cluster's name.
func TestAgentVersions(t *testing.T) {
	want := map[string]string{"fleet-default/one": "v0.16.1", "cattle-fleet-system": "v0.15.0"}
	for range 20 {
		got, err := auditCase(t, "agent-moved", faulty{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Source.FleetVersions.Agents); diff != "" {
			t.Fatalf("agents (-want +got):\n%s", diff)
		}
	}
}

// TestStopped checks that an audit with a cancelled context returns the error of the context and no partial report.
func TestStopped(t *testing.T) {
	s := readCase(t, casesDir+"/ready.yaml").open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := audit.Run(ctx, s, audit.Options{}); !errors.Is(err, context.Canceled) || got != nil {
		t.Errorf("report %v, error %v", got, err)
	}
}

// TestCutSnapshot checks that a snapshot that lost its BundleDeployments is not reported as a cluster without
// deployments.
func TestCutSnapshot(t *testing.T) {
	const captured = `{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"GitRepo",` +
		`"metadata":{"name":"apps","namespace":"fleet-local"},"status":{"resourceCounts":{"desiredReady":5}}}
{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"BundleDeployment","metadata":{"name":"cut`
	s, err := snapshot.Open(t.Context(), []string{"-"}, strings.NewReader(captured))
	if err != nil {
		t.Fatal(err)
	}
	got, err := audit.Run(t.Context(), s, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Undecided() == "" {
		t.Errorf("the audit has no gap: %+v", got.Report())
	}
}

// noPause is a pause that does not wait.
func noPause(context.Context) error { return nil }

// TestForbiddenOnce checks that one missing right is one finding, although it concerns several bundle deployments, and
// that what Fleet reports of them is a finding too.
func TestForbiddenOnce(t *testing.T) {
	e := newEstate("v0.16.1")
	e.add(document{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Cluster",
		"metadata": document{"name": "local", "namespace": "fleet-local", "creationTimestamp": past},
		"status":   document{"namespace": "cluster-one", "agent": document{"lastSeen": taken}}})
	for _, name := range []string{"web", "shop", "mail"} {
		bd, secret := e.deployment(name, past)
		bd["status"] = document{"appliedDeploymentID": "id", "release": "web/" + name + ":1",
			"display": document{"state": "NotReady"}, "resourceCounts": document{"desiredReady": 1, "notReady": 1},
			"conditions": []any{document{"type": "Ready", "status": "False", "message": "it has no pods",
				"lastUpdateTime": past}}}
		e.add(bd)
		e.add(secret)
		bundle, _ := e.bundle(name, past)
		e.add(bundle)
	}
	for _, test := range []struct {
		scope evaluate.Scope
		want  []string
	}{
		{evaluate.Scope{}, []string{"FD607 Cluster fleet-local/local: no result for 3 bundle deployments, because " +
			"their release records (Secrets) may not be read: only what Fleet reports of them is known",
			"FD611 BundleDeployment cluster-one/mail",
			"FD611 BundleDeployment cluster-one/shop", "FD611 BundleDeployment cluster-one/web"}},
		{evaluate.Scope{Targets: []evaluate.Target{{Kind: evaluate.TargetBundle, Name: "web"}}},
			[]string{"FD607 BundleDeployment cluster-one/web: no result for cluster-one/web: its release record may " +
				"not be read (Secrets)", "FD611 BundleDeployment cluster-one/web"}},
	} {
		src := faulty{Source: e.open(t), lists: map[string]source.Coverage{"Secret": forbidden}}
		got, err := reportOf(audit.Run(t.Context(), src, audit.Options{Scope: test.scope, Pause: noPause}))
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, f := range got.Findings {
			switch f.Code {
			case "FD607":
				found = append(found, findingKey(f)+": "+f.Message)
			case "FD611":
				found = append(found, findingKey(f))
			}
		}
		if diff := cmp.Diff(test.want, found); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
