// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// impactCase is a case file of test/testdata/impacts. test/testdata/README.md describes the file.
type impactCase struct {
	Kind        string                      `json:"kind"`
	Description string                      `json:"description"`
	Source      string                      `json:"source"`
	NotCaptured []string                    `json:"notCaptured"`
	Deletions   map[string]expectedDeletion `json:"deletions"`
}

type expectedDeletion struct {
	Error      string                     `json:"error"`
	Summary    report.DeletionSummary     `json:"summary"`
	Namespaces map[string]string          `json:"namespaces"`
	Notes      []string                   `json:"notes"`
	Clusters   map[string]expectedCluster `json:"clusters"`
}

type expectedCluster struct {
	Result      report.ImpactResult `json:"result"`
	Deployments map[string]string   `json:"deployments"`
	Removed     []string            `json:"removed"`
	Kept        []string            `json:"kept"`
	Absent      []string            `json:"absent"`
	Hooks       []string            `json:"hooks"`
	Notes       []string            `json:"notes"`
	Reported    []string            `json:"reported"`
}

// TestImpact computes the impact of each deletion of the cases.
func TestImpact(t *testing.T) {
	files, err := filepath.Glob("../../test/testdata/impacts/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no case: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			var c impactCase
			capture, err := cases.Read(file, &c)
			if err != nil || c.Kind != "ImpactCase" || len(c.Deletions) == 0 {
				t.Fatalf("reading a case of kind %q: %v", c.Kind, err)
			}
			if err := capture.Complete(c.NotCaptured); err != nil {
				t.Fatal(err)
			}
			for arg, want := range c.Deletions {
				for _, order := range []string{"captured", "reversed"} {
					expectDeletion(t, capture, arg, want)
					slices.Reverse(capture.Documents)
					if t.Failed() {
						t.Fatalf("%s, %s order", arg, order)
					}
				}
			}
		})
	}
}

func expectDeletion(t *testing.T, capture *cases.Capture, arg string, want expectedDeletion) {
	t.Helper()
	src, err := capture.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(arg, "/")
	named := source.Named{Kind: parts[0], Name: parts[len(parts)-1]}
	if len(parts) == 3 {
		named.Namespace = parts[1]
	}
	got, err := query.Impact(t.Context(), src, audit.Options{Version: "test"}, []source.Named{named})
	if want.Error != "" || err != nil {
		if err == nil || want.Error == "" || !strings.Contains(err.Error(), want.Error) {
			t.Errorf("%s: error %v, want %q", arg, err, want.Error)
		}
		return
	}
	if len(got.Deletions) != 1 || len(got.Gaps) > 0 {
		t.Fatalf("%s: %d deletions, gaps %+v", arg, len(got.Deletions), got.Gaps)
	}
	d := got.Deletions[0]
	clusters := map[string]expectedCluster{}
	for _, c := range d.Clusters {
		clusters[c.Cluster] = outcomeOf(c)
	}
	if diff := cmp.Diff(want.Summary, d.Summary); diff != "" {
		t.Errorf("%s: summary (-want +got):\n%s", arg, diff)
	}
	if diff := cmp.Diff(want.Clusters, clusters, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(expectedCluster{},
		"Notes")); diff != "" {
		t.Errorf("%s: clusters (-want +got):\n%s", arg, diff)
	}
	for name, c := range want.Clusters {
		if !containsEach(c.Notes, clusters[name].Notes) {
			t.Errorf("%s: notes of cluster %s %q, want %q", arg, name, clusters[name].Notes, c.Notes)
		}
	}
	if !containsEach(want.Notes, d.Notes) {
		t.Errorf("%s: notes %q, want %q", arg, d.Notes, want.Notes)
	}
	if len(want.Namespaces) != len(d.Namespaces) {
		t.Errorf("%s: namespaces %+v, want %v", arg, d.Namespaces, want.Namespaces)
	}
	for _, ns := range d.Namespaces {
		texts := []string{ns.Message}
		for _, c := range ns.PersistentVolumeClaims {
			texts = append(texts, removedOf(c))
		}
		text := strings.Join(append(texts, ns.BundleDeployments...), "; ")
		if part := want.Namespaces[ns.Name]; part == "" || !strings.Contains(text, part) {
			t.Errorf("%s: namespace %s", arg, text)
		}
	}
}

// containsEach reports whether each text contains its part, in the same order.
func containsEach(parts, texts []string) bool {
	for i, part := range parts {
		if i >= len(texts) || !strings.Contains(texts[i], part) {
			return false
		}
	}
	return len(parts) == len(texts)
}

// outcomeOf writes what happens on a cluster as in a case file.
func outcomeOf(c report.ClusterImpact) expectedCluster {
	out := expectedCluster{Result: c.Result, Deployments: map[string]string{}}
	for _, d := range c.BundleDeployments {
		out.Deployments[d.Name] = strings.TrimSpace(string(d.Result) + " " + d.Reason)
		out.Notes = append(out.Notes, d.Notes...)
		if r := d.Reported; r != nil && r.Desired != nil && d.Reason == "ClusterNotRead" {
			counts := fmt.Sprintf("%d of %d", r.Objects, *r.Desired)
			if r.Truncated {
				counts += " truncated"
			}
			out.Reported = append(out.Reported, counts)
			for _, ref := range r.Listed {
				out.Reported = append(out.Reported, refOf(ref))
			}
		}
		for _, r := range d.Releases {
			out.Notes = append(out.Notes, r.Notes...)
			for _, o := range r.Removed {
				out.Removed = append(out.Removed, removedOf(o))
			}
			for _, k := range r.Kept {
				out.Kept = append(out.Kept, refOf(k.Ref)+": "+k.Reason)
			}
			for _, ref := range r.Absent {
				out.Absent = append(out.Absent, refOf(ref))
			}
			for _, h := range r.Hooks {
				words := append([]string{h.Kind, h.Name}, h.Runs...)
				if h.Stays {
					words = append(words, "stays")
				}
				out.Hooks = append(out.Hooks, strings.Join(words, " "))
			}
		}
	}
	for _, list := range [][]string{out.Removed, out.Kept, out.Absent, out.Hooks} {
		slices.Sort(list)
	}
	return out
}

func refOf(r object.Ref) string {
	return r.Kind + " " + strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
}

func removedOf(o report.RemovedObject) string {
	out := refOf(o.Ref)
	if o.CustomResources != nil {
		out += fmt.Sprintf(" with %d", *o.CustomResources)
	}
	if o.Volume != nil {
		out += strings.TrimRight(" volume "+o.Volume.Name+" "+o.Volume.ReclaimPolicy, " ")
	}
	if o.Cause != report.CauseManifest {
		out += strings.TrimRight(" by "+string(o.Cause)+" "+o.By, " ")
	}
	if o.OwnedBy != "" {
		out += " owned by " + o.OwnedBy
	}
	if len(o.DesiredBy) > 0 {
		out += " desired by " + strings.Join(o.DesiredBy, ", ")
	}
	if len(o.Affects) > 0 {
		out += " affects " + strings.Join(o.Affects, ", ")
	}
	return out
}

// TestImpactOnClusters deletes a bundle on clusters that are read beside the management cluster, and checks that a
// cluster that cannot be read is unknown.
func TestImpactOnClusters(t *testing.T) {
	o := audit.Options{Clusters: func(*state.Fleet) ([]audit.Cluster, []source.Gap) {
		return []audit.Cluster{clusterOf("one", capture(t, downstreamOf(t, "one")...), nil),
			clusterOf("two", capture(t, downstreamOf(t, "two")...), nil)}, nil
	}}
	got, err := query.Impact(t.Context(), capture(t, managementOf("one", "two", "three")...), o,
		[]source.Named{{Kind: "bundle", Name: "guestbook"}})
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]report.ImpactResult{}
	for _, c := range got.Deletions[0].Clusters {
		results[c.Cluster] = c.Result
	}
	want := map[string]report.ImpactResult{"fleet-default/one": report.ImpactRemoves,
		"fleet-default/two": report.ImpactRemoves, "fleet-default/three": report.ImpactUnknown}
	if diff := cmp.Diff(want, results); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if s := got.Deletions[0].Summary; s.Removing != 2 || s.Unknown != 1 || s.Removed != 2 ||
		len(got.Source.Clusters) != 2 {
		t.Errorf("summary %+v, %d clusters read", s, len(got.Source.Clusters))
	}
}

// TestImpactUnread computes the impact on a live cluster that permits only some requests. What was not read is unknown
// or counted as if it existed, and a gap.
func TestImpactUnread(t *testing.T) {
	forbidden := source.NotCovered(source.Failure{Reason: source.Forbidden, Detail: "forbidden"})
	for _, tc := range []struct {
		name  string
		lists []string
		want  report.DeletionSummary // without the numbers of Bundles and clusters
		gaps  []string
	}{
		{"custom resources", []string{"Database"}, report.DeletionSummary{Removing: 1,
			Losses: report.Losses{Removed: 11, CustomResourceDefinitions: 1, Uncounted: 1,
				PersistentVolumeClaims: 3, DeletedVolumes: 1, Kept: 6}}, []string{"listing Database objects"}},
		{"volumes", []string{"PersistentVolume"}, report.DeletionSummary{Removing: 1, Losses: report.Losses{Removed: 11,
			CustomResourceDefinitions: 1, CustomResources: 3,
			PersistentVolumeClaims: 3, UnknownVolumes: 2, Kept: 6}}, []string{"listing PersistentVolumes"}},
		{"claims", []string{"PersistentVolumeClaim"}, report.DeletionSummary{Removing: 1,
			Losses: report.Losses{Removed: 10, CustomResourceDefinitions: 1, CustomResources: 3,
				PersistentVolumeClaims: 2, UnknownVolumes: 2, Kept: 4}}, []string{"listing PersistentVolumeClaims"}},
		{"objects", []string{"ConfigMap"}, report.DeletionSummary{Removing: 1, Losses: report.Losses{Removed: 13,
			CustomResourceDefinitions: 1, CustomResources: 3,
			PersistentVolumeClaims: 3, DeletedVolumes: 1, Kept: 6}}, []string{"listing ConfigMap objects"}},
		{"records", []string{"Secret"}, report.DeletionSummary{Unknown: 1}, []string{"listing release records"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var c impactCase
			capture, err := cases.Read("../../test/testdata/impacts/database.yaml", &c)
			if err != nil {
				t.Fatal(err)
			}
			src, err := capture.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			f := faulty{Source: src, lists: map[string]source.Coverage{}}
			for _, kind := range []string{"ConfigMap", "Service", "Secret", "StatefulSet", "PersistentVolumeClaim",
				"PersistentVolume", "Database", "CustomResourceDefinition",
				"BundleDeployment", "Bundle", "HelmOp", "Cluster"} {
				f.lists[kind] = source.Covered()
			}
			for _, kind := range tc.lists {
				f.lists[kind] = forbidden
			}
			got, err := query.Impact(t.Context(), f, audit.Options{}, []source.Named{{Kind: "bundle", Name: "db"}})
			if err != nil {
				t.Fatal(err)
			}
			tc.want.Bundles, tc.want.BundleDeployments, tc.want.Clusters = 1, 1, 1
			if diff := cmp.Diff(tc.want, got.Deletions[0].Summary); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
			var gaps []string
			for _, g := range got.Gaps {
				if g.Reason == "Forbidden" {
					gaps = append(gaps, g.What)
				}
			}
			slices.Sort(gaps)
			if !containsEach(tc.gaps, gaps) {
				t.Errorf("gaps %q, want %q", gaps, tc.gaps)
			}
		})
	}
}
