// SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// TestContradictions asks both verbs about each object of each captured cluster. An error of the audit about an object,
// or about what decides over it, is the end of "ready". What is not ready is a subject of the audit and has a finding,
// or the audit does not end well. A cause is not unknown if the audit knows it.
func TestContradictions(t *testing.T) {
	for name, open := range snapshots(t) {
		found := contradictions(t, open)
		for _, property := range slices.Sorted(maps.Keys(found)) {
			t.Errorf("%s: %s: %s", name, property, found[property])
		}
	}
}

// contradictions returns an example for each property that does not hold.
func contradictions(t *testing.T, open func() source.Source) map[string]string {
	t.Helper()
	whole, err := audit.Run(t.Context(), open(), audit.Options{Commands: cases.Commands})
	if err != nil {
		return nil // a case without Fleet, or with an error of the audit
	}
	a := whole.Report()
	out := map[string]string{}
	targets := subjects(a)
	if len(targets) == 0 {
		return nil
	}
	for _, o := range explained(t, open(), targets...).Objects {
		target := evaluate.Target{Kind: strings.ToLower(o.Kind), Name: strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")}
		for _, f := range a.Findings {
			if o.State == report.Ready && hurts(&f) && concerns(a, &f, &o) {
				out["ready"] = fmt.Sprintf("why: %s. The audit: %s %s", o.Answer, f.Code, f.Message)
			}
		}
		if _, err := scoped(t, open(), target); err != nil && o.State == report.NotReady {
			out["no subject"] = fmt.Sprintf("why: %s. The audit of %s %s: %v", o.Answer, target.Kind, target.Name, err)
		}
		if o.State == report.NotReady && endsWell(t, open(), target) {
			out["no finding"] = fmt.Sprintf("why: %s. The audit of %s %s has no finding", o.Answer, target.Kind,
				target.Name)
		}
		for _, c := range o.Causes {
			if c.Root != check.StepNotApplied {
				continue
			}
			for _, f := range a.Findings {
				if f.Severity == report.Error && about(&f, c.Deployments) && !slices.Contains(c.Findings, f.Code) {
					out["unknown cause"] = fmt.Sprintf("why: %s. The audit: %s %s", o.Answer, f.Code, f.Message)
				}
			}
		}
	}
	return out
}

// hurts reports whether a finding is an error that has an effect now. Values of Secrets in a status are one, and what
// they belong to may be ready.
func hurts(f *report.Finding) bool {
	return f.Severity == report.Error && f.Urgency == report.Now && f.Code != "FD701"
}

// subjects are all objects that can be explained.
func subjects(a *report.Audit) []evaluate.Target {
	var out []evaluate.Target
	for _, d := range a.BundleDeployments {
		out = append(out, evaluate.Target{Kind: evaluate.TargetBundleDeployment,
			Name: strings.TrimPrefix(d.Namespace+"/"+d.Name, "/")})
	}
	for kind, list := range map[string][]report.Aggregate{evaluate.TargetBundle: a.Bundles,
		evaluate.TargetGitRepo: a.GitRepos, evaluate.TargetHelmOp: a.HelmOps, evaluate.TargetCluster: a.Clusters} {
		for _, x := range list {
			out = append(out, evaluate.Target{Kind: kind, Name: x.Namespace + "/" + x.Name})
		}
	}
	for _, f := range a.Findings { // about objects without a bundle deployment
		target := evaluate.Target{Kind: strings.ToLower(f.Object.Kind), Name: f.Object.Namespace + "/" + f.Object.Name}
		kind, _ := evaluate.TargetKind(target.Kind)
		if kind != "" && f.Code == codes.NotProcessed && !slices.Contains(out, target) {
			out = append(out, target)
		}
	}
	return out
}

// concerns reports whether a finding is about an object, about a bundle deployment of it, or about the GitRepo or
// HelmOp that refuses its changes.
func concerns(a *report.Audit, f *report.Finding, o *report.WhyObject) bool {
	key := strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
	itsOwn := func(d *report.BundleDeployment) bool { return d.Bundle == key }
	switch o.Kind {
	case "BundleDeployment":
		return f.BundleDeployment == key // what its GitRepo refuses has not become a part of it
	case "Bundle":
		return f.Bundle == key || refused(a, f, itsOwn)
	case "GitRepo":
		return f.GitRepo == key || f.Object == o.Ref
	case "HelmOp":
		return f.HelmOp == key || f.Object == o.Ref
	}
	return f.Object == o.Ref
}

// refused reports whether a finding is that the GitRepo or HelmOp of a bundle deployment is not processed.
func refused(a *report.Audit, f *report.Finding, of func(*report.BundleDeployment) bool) bool {
	if f.Code != codes.NotProcessed {
		return false
	}
	key := f.Object.Namespace + "/" + f.Object.Name
	return slices.ContainsFunc(a.BundleDeployments, func(d report.BundleDeployment) bool {
		return of(&d) && map[string]string{"GitRepo": d.GitRepo, "HelmOp": d.HelmOp}[f.Object.Kind] == key
	})
}

// about reports whether a finding is about one of the deployments.
func about(f *report.Finding, deployments []report.WhyDeployment) bool {
	return slices.ContainsFunc(deployments, func(d report.WhyDeployment) bool {
		return f.BundleDeployment == d.BundleDeployment && f.Object.Kind == "BundleDeployment"
	})
}

// endsWell reports whether the exit status of an audit of the object is 0.
func endsWell(t *testing.T, src source.Source, target evaluate.Target) bool {
	t.Helper()
	found, err := scoped(t, src, target)
	if err != nil || found.NoResult() != nil || found.Undecided() != "" {
		return false
	}
	n := found.Report().Summary.Findings
	return n.Error+n.Warning == 0
}

// scoped is the audit of an object.
func scoped(t *testing.T, src source.Source, target evaluate.Target) (*audit.Audit, error) {
	t.Helper()
	return audit.Run(t.Context(), src,
		audit.Options{Commands: cases.Commands, Parents: true,
			Scope: evaluate.Scope{Targets: []evaluate.Target{target}}})
}
