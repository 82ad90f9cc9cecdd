// SPDX-License-Identifier: Apache-2.0

package exported

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// maxEqual is the number of findings that one series can stand for. An auditor names at most as many for each check and
// bundle deployment.
const maxEqual = 20

// addFindings adds the findings of the auditors with a present state. Of the replicas of an auditor, only one counts
// for a bundle deployment. Other findings are those of each replica.
func (f *fleet) addFindings() {
	for _, t := range f.targets {
		if !t.usable(f.now) {
			continue
		}
		for _, s := range t.findings {
			var bd *report.BundleDeployment
			if x := f.known[t.keyOf(s.labels)]; x != nil {
				if x.replaces(t) {
					continue
				}
				bd = x.shown
			}
			f.addFinding(s, f.clusterOf(t, s), bd)
		}
	}
}

// replaces reports whether a replica of an auditor counts for the bundle deployment instead of it.
func (x *known) replaces(t *target) bool {
	chosen := []*target{x.evaluator.target, x.reporter.target}
	return !slices.Contains(chosen, t) && slices.ContainsFunc(chosen, func(c *target) bool {
		return c != nil && c.site == t.site
	})
}

// clusterOf is the cluster of a finding. An auditor on a downstream cluster may not know the name of its cluster.
func (f *fleet) clusterOf(t *target, s series) string {
	if s.of("cluster_namespace") == "" && !t.manages() && len(f.used[t]) == 1 {
		for only := range f.used[t] {
			return only
		}
	}
	return s.key("cluster_namespace", "cluster_name")
}

// addFinding adds the findings of a series, unless another auditor exports them too. bd is the bundle deployment that
// they are about; nil if they are about none.
func (f *fleet) addFinding(s series, cluster string, bd *report.BundleDeployment) {
	x := report.Finding{Code: s.of("code"), Severity: report.Severity(s.of("severity")), Object: refOf(s.labels),
		Cluster: cluster, Bundle: s.key("bundle_namespace", "bundle")}
	if repo := s.of("repo"); repo != "" {
		x.GitRepo = s.of("bundle_namespace") + "/" + repo
	}
	if bd != nil {
		x.Cluster, x.BundleDeployment = bd.Cluster, bd.Key()
		x.Bundle, x.GitRepo = bd.Bundle, bd.GitRepo
	}
	switch x.Object.Kind {
	case state.Bundle:
		x.Bundle = cmp.Or(x.Bundle, x.Object.Namespace+"/"+x.Object.Name)
	case state.GitRepo:
		x.GitRepo = cmp.Or(x.GitRepo, x.Object.Namespace+"/"+x.Object.Name)
	}
	k := foundKey{x.Code, x.Cluster, x.BundleDeployment, x.Object}
	if f.found[k] {
		return
	}
	f.found[k] = true
	explain(&x)
	for range min(s.value, maxEqual) {
		f.out.Findings = append(f.out.Findings, x)
	}
}

// explain adds what is known of the code of a finding.
func explain(x *report.Finding) {
	all := check.Catalogue()
	i := slices.IndexFunc(all, func(c check.Check) bool { return c.Code == x.Code })
	if i < 0 {
		x.Title = "a finding that this version of the program does not know"
	} else {
		x.Title, x.Urgency = all[i].Title, report.Urgency(all[i].Urgency)
		x.Remediation = "kubectl fleetdoctor explain " + x.Code
		x.Remedies = []report.Remedy{{Command: x.Remediation, Text: "shows the possible causes and remedies"}}
	}
	x.Message = fmt.Sprintf("%s: %s", x.Object.Key(), x.Title)
	if !slices.Contains([]report.Severity{report.Error, report.Warning, report.Info}, x.Severity) {
		x.Severity = report.Error
	}
}
