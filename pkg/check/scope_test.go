// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// TestScopeOfDeployment checks on the captured clusters that the checks of a deployment read no other deployment: their
// findings are the same if all that is known of the others is their names and labels.
func TestScopeOfDeployment(t *testing.T) {
	files, err := filepath.Glob("../../test/testdata/cases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	compared := map[string]bool{} // codes of findings beside other deployments
	for _, file := range files {
		a := auditOf(t, file)
		if a == nil || len(a.Deployments) < 2 {
			continue
		}
		in := a.Input()
		all := check.Run(in, check.OfDeployment)
		var apart []check.Finding
		for _, d := range a.Deployments {
			apart = append(apart, check.Run(alone(in, d), check.OfDeployment)...)
		}
		for _, f := range all {
			compared[f.Code] = true
		}
		unordered := cmpopts.SortSlices(func(x, y check.Finding) bool {
			return x.Code+x.BundleDeployment+x.Message < y.Code+y.BundleDeployment+y.Message
		})
		if diff := cmp.Diff(all, apart, unordered); diff != "" {
			t.Errorf("%s: findings beside other deployments and without them (-beside +without):\n%s", file, diff)
		}
	}
	for _, code := range []string{"FD101", "FD104", "FD107", "FD201", "FD208", "FD301", "FD602", "FD607"} {
		if !compared[code] {
			t.Errorf("no case with several deployments has the finding %s", code)
		}
	}
}

// auditOf audits the captured cluster of a case; nil if it has no result.
func auditOf(t *testing.T, file string) *audit.Audit {
	t.Helper()
	capture, err := cases.Read(file, &map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	if err := capture.Complete(nil); err != nil {
		t.Fatal(err)
	}
	src, err := capture.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a, err := audit.Run(t.Context(), src, audit.Options{Commands: cases.Commands})
	if err != nil {
		return nil // a case of an error
	}
	return a
}

// alone returns an input with only one deployment. Of the others, their names, labels and placement are left.
func alone(in *check.Input, d *evaluate.BundleDeployment) *check.Input {
	fleet, place := *in.Result.Desired.Fleet, *in.Result.Desired.Directory
	fleet.BundleDeployments, place.Deployments, place.LeftoverSets = nil, nil, nil
	for _, bd := range in.Result.Desired.BundleDeployments {
		if bd != d.BD {
			bd = named(bd)
		}
		fleet.BundleDeployments = append(fleet.BundleDeployments, bd)
	}
	for _, other := range in.Result.Desired.Directory.Deployments {
		if other.ID() != d.ID() {
			other = &directory.Deployment{Namespace: other.Namespace, Name: other.Name, Bundle: other.Bundle,
				Cluster: other.Cluster, ClusterID: other.ClusterID, Placed: other.Placed,
				AgentVersion: other.AgentVersion, BD: named(other.BD)}
		}
		place.Deployments = append(place.Deployments, other)
	}
	place.Fleet = &fleet
	result := *in.Result
	result.Desired = desired.IndexState(&place, []*desired.BundleDeployment{d.BundleDeployment})
	result.Deployments, result.Undesired = []*evaluate.BundleDeployment{d}, nil
	result.Copies = slices.DeleteFunc(slices.Clone(result.Copies),
		func(c evaluate.Copy) bool { return c.Deployment.ID() != d.ID() })
	f := facts.New(evaluate.NewResult(result), in.Facts.Quotations)
	return check.New(f, in.Steps.Commands, in.Steps.ClusterCommands)
}

// named returns a BundleDeployment without spec and status.
func named(bd *v1alpha1.BundleDeployment) *v1alpha1.BundleDeployment {
	if bd == nil {
		return nil
	}
	return &v1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: bd.Namespace, Name: bd.Name,
		Labels: bd.Labels}}
}
