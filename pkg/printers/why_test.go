// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
)

func whyOf(t *testing.T, src source.Source, targets ...evaluate.Target) *report.Why {
	t.Helper()
	all := query.WhyTargets(targets)
	found, err := audit.Run(t.Context(), src, audit.Options{Commands: cases.Commands, Version: "test",
		Scope: evaluate.Scope{Targets: all}, Pick: query.Pick})
	if err != nil {
		t.Fatal(err)
	}
	return query.Explain(found.Input(), found.Findings, all, nil, "test").Redacted(found.Secrets)
}

// TestGoldenWhy compares explanations with their golden files.
func TestGoldenWhy(t *testing.T) {
	d := whyOf(t, captured(t, "why/management.yaml"), evaluate.Target{Kind: evaluate.TargetBundle, Name: "shop"},
		evaluate.Target{Kind: evaluate.TargetGitRepo, Name: "platform"})
	var p people
	golden.Compare(t, "why.json", p.addDocument(t, "a Bundle and a GitRepo", printers.Why(d, printers.Options{})))
	p.addDocument(t, "many clusters", printers.Why(manyClusters(), printers.Options{}))
	p.Add("many clusters, in colour", shown(t, "table", printers.Why(manyClusters(),
		printers.Options{Colour: true})))
	d = whyOf(t, captured(t, "cases/ready.yaml"), evaluate.Target{Kind: evaluate.TargetBundleDeployment,
		Name: "guestbook"})
	p.Add("a bundle that is ready", shown(t, "table", printers.Why(d, printers.Options{})))
	p.Compare(t, "why.txt")
}

// manyClusters is an invented explanation with more clusters, resources and causes than the table shows.
func manyClusters() *report.Why {
	ref := func(kind, name string) object.Ref {
		return object.Ref{APIVersion: "v1", Kind: kind, Namespace: "web", Name: name}
	}
	o := report.WhyObject{Ref: object.Ref{APIVersion: "fleet.cattle.io/v1alpha1", Kind: "Bundle",
		Namespace: "fleet-default", Name: "guestbook"}, State: report.NotReady,
		Answer: "guestbook is not ready on 24 of 25 clusters", Reported: &report.Reported{State: "NotReady",
			AsOf: "2026-01-02T03:00:00Z"},
		Summary: report.WhySummary{Deployments: 25, Ready: 1, NotReady: 24},
		Notes:   []string{"Fleet reports another number"}}
	for i := range 12 {
		c := report.WhyCause{Root: check.StepObjects, State: report.NotReady, Next: "kubectl get pods",
			Findings: []string{"FD101"}}
		s := report.WhyStep{Kind: check.StepObjects, Object: ref("BundleDeployment", "guestbook"), Name: "guestbook",
			Cluster: "fleet-default/edge-01",
			Message: fmt.Sprintf("configmap web/cause-%02d is not on the cluster", i), Since: "2026-01-02T03:04:05Z"}
		for j := range 7 - min(i, 6) {
			cluster := fmt.Sprintf("fleet-default/edge-%02d", j)
			c.Deployments = append(c.Deployments, report.WhyDeployment{Bundle: "fleet-default/guestbook",
				Cluster: cluster, BundleDeployment: fmt.Sprintf("cluster-%d/guestbook", j)})
			s.Clusters = append(s.Clusters, cluster)
			s.Resources = append(s.Resources, report.Resource{Ref: ref("ConfigMap", fmt.Sprintf("cause-%d", j)),
				State: report.Missing, Message: fmt.Sprintf("configmap web/cause-%d is not on the cluster", j)})
		}
		c.Steps = []report.WhyStep{s}
		o.Causes = append(o.Causes, c)
	}
	out := &report.Why{
		Head: report.Head{APIVersion: report.APIVersion, Kind: report.KindWhy, TakenAt: "2026-01-02T03:04:05Z",
			Source: report.Source{Kind: "cluster", Context: "prod"}},
		Objects: []report.WhyObject{o},
		Gaps: []report.Gap{{What: "listing Bundle objects", Reason: "Forbidden",
			Effect: "their rollouts are not known"}}}
	out.Complete()
	return out
}

// TestWhyHidesSecrets explains the cluster of FuzzRedaction for every place that stores a value: no format shows the
// value.
func TestWhyHidesSecrets(t *testing.T) {
	for in := range places {
		for _, value := range []string{"hunter22-of-nothing", "newline-at-the-end\n", "p@ss\"w\\rd/<&>"} {
			var b bytes.Buffer
			for _, d := range cluster(t, value, in) {
				if err := json.NewEncoder(&b).Encode(d); err != nil {
					t.Fatal(err)
				}
			}
			s, err := snapshot.Open(t.Context(), []string{"-"}, &b)
			if err != nil {
				t.Fatal(err)
			}
			d := whyOf(t, s, evaluate.Target{Kind: evaluate.TargetBundleDeployment, Name: "guestbook"})
			if len(d.Objects[0].Causes) == 0 {
				t.Fatalf("%s: nothing is explained", in)
			}
			for _, format := range formats {
				if form := leak(t, format, shown(t, format, printers.Why(d, printers.Options{})), value); form != "" {
					t.Errorf("%s: the value is in -o %s, %s", in, format, form)
				}
			}
		}
	}
}

// TestWidthOfWhy checks that the table fits a terminal of 100 columns, except for commands.
func TestWidthOfWhy(t *testing.T) {
	for _, file := range []string{"why/blockers.yaml", "why/management.yaml", "why/rollout.yaml"} {
		d := whyOf(t, captured(t, file), evaluate.Target{Kind: evaluate.TargetCluster,
			Name: map[string]string{"why/blockers.yaml": "one", "why/management.yaml": "edge-2",
				"why/rollout.yaml": "c3"}[file]})
		for line := range strings.SplitSeq(shown(t, "table", printers.Why(d, printers.Options{})), "\n") {
			if n := utf8.RuneCountInString(line); n > 100 && !command.MatchString(line) {
				t.Errorf("%s: %d columns: %s", file, n, line)
			}
			if strings.TrimRight(line, " ") != line {
				t.Errorf("%s: blanks at the end of %q", file, line)
			}
		}
	}
}
