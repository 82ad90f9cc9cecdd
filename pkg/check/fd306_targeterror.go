// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

var targetError = Check{
	Code: "FD306", Name: "TargetError", Severity: Error,
	Title: "an error of one target or cluster stops the whole Bundle",
	run: func(in *Input, report func(Finding)) {
		for _, b := range in.Candidates() {
			if f, ok := in.targetError(b); ok && in.DeploymentInScope(b, f.Cluster) {
				f.Object, f.AsOf = facts.Ref(state.Bundle, b.Namespace, b.Name), b.Reported().AsOf
				report(f)
			}
		}
	},
}

// The parts of the message of a targeting error that name what is missing.
var (
	errorCluster = regexp.MustCompile(`\bcluster ([a-z0-9]\S*) in namespace ([a-z0-9][a-z0-9-]*):`)
	errorKey     = regexp.MustCompile(`map has no entry for key "([^"]{1,253})"`)
	errorField   = regexp.MustCompile(`at <\.(Cluster\w+)`)
	templateStep = regexp.MustCompile(`failed to (parse|render|interpret)\b`)
)

// targetError reads the error in the status of a bundle, or finds a selector that is not valid.
func (in *Input) targetError(b *v1alpha1.Bundle) (Finding, bool) {
	if err := in.Targets(b).Invalid; err != nil {
		field, _, _ := strings.Cut(err.Error(), ": ")
		return Finding{
			Message: fmt.Sprintf("the selector %s of bundle %s is not valid: Fleet evaluates none of its targets",
				field, facts.Key(b)),
			Remedies: []remedy.Remedy{remedy.Run(in.Commands.Kubectl+remedy.InNamespace(b.Namespace)+" get "+
				remedy.Named("bundles.fleet.cattle.io", b.Name)+" -o jsonpath='{.spec.targets}'",
				"prints the targets of the bundle")},
		}, true
	}
	message, failed := facts.BundleError(b)
	reported := "Fleet reports" + in.Said(b, "Ready")
	m := errorCluster.FindStringSubmatch(message)
	if !failed || m == nil || !templateStep.MatchString(message) {
		return Finding{}, false
	}
	name, namespace := m[1], m[2]
	f := Finding{Cluster: namespace + "/" + name,
		Remedies: []remedy.Remedy{remedy.Run(in.Commands.Kubectl+remedy.InNamespace(namespace)+" get "+
			remedy.Named("clusters.fleet.cattle.io", name)+" --show-labels",
			"shows the labels of the Cluster, which templates can use")}}
	missing := errorKey.FindStringSubmatch(message)
	if missing == nil {
		f.Message = fmt.Sprintf("the values of bundle %s cannot be computed for cluster %s: Fleet updates none of "+
			"its clusters", facts.Key(b), f.Cluster)
		f.Evidence = []string{reported}
		return f, true
	}
	where := "value"
	if field := errorField.FindStringSubmatch(message); field != nil {
		where = map[string]string{"ClusterLabels": "label", "ClusterAnnotations": "annotation"}[field[1]]
	}
	if where == "" {
		where = "value"
	}
	f.Message = fmt.Sprintf("a template of bundle %s uses %s %q, which cluster %s does not have: Fleet updates none "+
		"of its clusters", facts.Key(b), where, missing[1], f.Cluster)
	f.Evidence = append(in.labelNow(namespace, name, where, missing[1]), reported)
	return f, true
}

// labelNow compares the error with the present labels of the cluster.
func (in *Input) labelNow(namespace, name, where, label string) []string {
	if where != "label" {
		return nil
	}
	for _, c := range in.Desired.Fleet.Clusters {
		if c.Namespace != namespace || c.Name != name {
			continue
		}
		if _, ok := c.Labels[label]; ok {
			return []string{"the cluster has the label now: Fleet has not processed the bundle since, or does not " +
				"pass the label to templates"}
		}
		return []string{"the cluster does not have the label now either"}
	}
	return nil
}
