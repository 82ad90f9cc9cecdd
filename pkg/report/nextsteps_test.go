// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

func TestNextSteps(t *testing.T) {
	for name, tc := range map[string]struct {
		finding report.Finding
		want    []report.Remedy
	}{
		"none": {report.Finding{}, nil},
		"command": {report.Finding{Remediation: "bin/kubectl-fleetdoctor adopt"},
			[]report.Remedy{{Command: "bin/kubectl-fleetdoctor adopt"}}},
		"advice": {report.Finding{Remediation: "restore it"}, []report.Remedy{{Text: "restore it"}}},
		"both": {report.Finding{Remediation: "x", Remedies: []report.Remedy{{Text: "y", URL: "z"}}},
			[]report.Remedy{{Text: "y", URL: "z"}}},
		"several clusters": {onTwo(), append(slices.Clone(commandsOfTwo), report.Remedy{Text: "change Git"})},
	} {
		if diff := cmp.Diff(tc.want, tc.finding.NextSteps()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// commandsOfTwo are the commands of onTwo.
var commandsOfTwo = []report.Remedy{{Command: "kubectl --context one"}, {Command: "kubectl --context two"}}

// onTwo is a finding on two clusters, with a command for each of them and a remedy for both.
func onTwo() report.Finding {
	on := func(cluster string) report.ClusterFinding {
		return report.ClusterFinding{Cluster: cluster, ID: "FD102-" + cluster,
			BundleDeployment: "cluster-" + cluster + "/web",
			Evidence:         []string{"changed on " + cluster, "it is a Service"},
			Remedies:         []report.Remedy{{Command: "kubectl --context " + cluster}, {Text: "change Git"}}}
	}
	one, two := on("one"), on("two")
	return report.Finding{ID: one.ID, Code: "FD102", Cluster: "one", BundleDeployment: one.BundleDeployment,
		Clusters: []string{"one", "two"}, IDs: []string{one.ID, two.ID}, PerCluster: []report.ClusterFinding{one, two},
		Evidence: one.Evidence, Remedies: one.Remedies, Remediation: one.Remedies[0].Command}
}

// TestSeveralClusters checks that a finding on several clusters names the cluster of what is true of one of them, and
// can be taken apart.
func TestSeveralClusters(t *testing.T) {
	f := onTwo()
	if diff := cmp.Diff([]string{"on one: changed on one", "it is a Service"}, f.Described()); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(commandsOfTwo, f.FirstSteps()); diff != "" {
		t.Errorf("first steps (-want +got):\n%s", diff)
	}
	var got []string
	for _, x := range f.OnEach() {
		got = append(got, strings.Join([]string{x.Cluster, x.ID, x.BundleDeployment, x.Remediation, x.Evidence[0]},
			" "))
	}
	want := []string{"one FD102-one cluster-one/web kubectl --context one changed on one",
		"two FD102-two cluster-two/web kubectl --context two changed on two"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("on each cluster (-want +got):\n%s", diff)
	}
	f.PerCluster = nil // in a report of an earlier version
	if each := f.OnEach(); len(each) != 2 || each[1].Cluster != "two" || each[1].ID != "FD102-two" {
		t.Errorf("without details: %+v", each)
	}
}

// TestLines checks that a command comes before its effect, a clause whose subject is the command.
func TestLines(t *testing.T) {
	for _, tc := range []struct {
		remedy report.Remedy
		want   []string
	}{
		{report.Remedy{Command: "kubectl get pods", Text: "lists the Pods"},
			[]string{"kubectl get pods", "lists the Pods"}},
		{report.Remedy{Command: "kubectl get pods"}, []string{"kubectl get pods"}},
		{report.Remedy{Text: "restore it"}, []string{"restore it"}},
	} {
		if diff := cmp.Diff(tc.want, tc.remedy.Lines()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tc.remedy, diff)
		}
	}
}
