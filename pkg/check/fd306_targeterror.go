// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

func (in *Input) targetError(out *found) {
	for _, b := range in.Facts.Candidates() {
		if f, ok := in.TargetError(b); ok && in.Facts.DeploymentInScope(b, f.Cluster) {
			f.AsOf = b.Reported().AsOf
			out.report(f)
		}
	}
}

// The parts of the message of a targeting error that name what is missing.
var (
	errorCluster = regexp.MustCompile(`\bcluster ([a-z0-9]\S*) in namespace ([a-z0-9][a-z0-9-]*):`)
	errorKey     = regexp.MustCompile(`map has no entry for key "([^"]{1,253})"`)
	undefined    = regexp.MustCompile(`function "[^"]{1,253}" not defined`)
	errorField   = regexp.MustCompile(`at <\.(Cluster\w+)`)
	templateStep = regexp.MustCompile(`failed to (parse|render|interpret)\b`)
)

// TargetError returns the finding that the targets of a Bundle have an error that stops all of its clusters: a selector
// that is not valid, or the error in its status.
func (in *Input) TargetError(b *v1alpha1.Bundle) (Finding, bool) {
	f := Finding{Code: codes.TargetError, Object: facts.RefTo(b)}
	get := func(namespace, resource, name, output, effect string) []remedy.Remedy {
		return []remedy.Remedy{remedy.Run(in.Steps.Commands.Kubectl+remedy.InNamespace(namespace)+" get "+
			remedy.Named(resource+".fleet.cattle.io", name)+output, "%s", effect)}
	}
	if err := in.Facts.Targets(b).Invalid; err != nil {
		field, _, _ := strings.Cut(err.Error(), ": ")
		f.Message = fmt.Sprintf("the selector %s of bundle %s is not valid: Fleet evaluates none of its targets", field,
			facts.Key(b))
		f.Remedies = get(b.Namespace, "bundles", b.Name, " -o jsonpath='{.spec.targets}'",
			"prints the targets of the bundle")
		if said := in.Facts.Said(b, "Ready"); said != "" {
			f.say("Fleet reports%s", said)
		}
		if repo := in.repoOfTarget(b, field); repo != "" {
			f.say("GitRepo %s/%s has this target", b.Namespace, repo)
			f.Remedies = get(b.Namespace, "gitrepos", repo, " -o jsonpath='{.spec.targets}'",
				"prints the targets of the GitRepo: correct them there")
		}
		return f, true
	}
	message, failed := facts.BundleError(b)
	m := errorCluster.FindStringSubmatch(message)
	if !failed || m == nil || !templateStep.MatchString(message) {
		return f, false
	}
	name, namespace := m[1], m[2]
	f.Cluster = namespace + "/" + name
	f.Remedies = get(namespace, "clusters", name, " --show-labels",
		"shows the labels of the Cluster, which templates can use")
	f.Message = fmt.Sprintf("the values of bundle %s cannot be computed for cluster %s: Fleet updates none of its "+
		"clusters", facts.Key(b), f.Cluster)
	if missing := errorKey.FindStringSubmatch(message); missing != nil {
		where := templateField(message)
		f.Message = fmt.Sprintf("a template of bundle %s uses %s %q, which cluster %s does not have: Fleet updates "+
			"none of its clusters", facts.Key(b), where, missing[1], f.Cluster)
		f.Evidence = in.labelNow(namespace, name, where, missing[1])
		f.Remedies = append([]remedy.Remedy{remedy.Advise("give cluster %s the %s %s, or give the template of the "+
			"values a default", f.Cluster, where, missing[1])}, f.Remedies...)
	}
	if undefined.MatchString(message) {
		f.Remedies = append([]remedy.Remedy{remedy.Advise("set helm.disablePreProcess in the fleet.yaml, if what " +
			"stands between ${ and } is no template of Fleet")}, f.Remedies...)
	}
	f.Evidence = append(f.Evidence, "Fleet reports"+in.Facts.Said(b, "Ready"))
	return f, true
}

// repoOfTarget returns the name of the GitRepo that has the target of a Bundle with a field ("targets[0].name"); empty
// if the target is not from there.
func (in *Input) repoOfTarget(b *v1alpha1.Bundle, field string) string {
	repo, _ := facts.RepoOf(b)
	g := in.Facts.GitRepo(repo.Namespace + "/" + repo.Name)
	for i := range b.Spec.Targets {
		t := b.Spec.Targets[i].ClusterTarget
		same := func(x v1alpha1.ClusterTarget) bool { return reflect.DeepEqual(x, t) }
		named := strings.HasPrefix(field, fmt.Sprintf("targets[%d].", i))
		if named && g != nil && slices.ContainsFunc(g.Spec.Targets, same) {
			return g.Name
		}
	}
	return ""
}

// templateField returns what a template uses: a label, an annotation or another value of the cluster.
func templateField(message string) string {
	field := errorField.FindStringSubmatch(message)
	switch {
	case field == nil:
	case field[1] == "ClusterLabels":
		return "label"
	case field[1] == "ClusterAnnotations":
		return "annotation"
	}
	return "value"
}

// labelNow compares the error with the present labels of the cluster.
func (in *Input) labelNow(namespace, name, where, label string) []string {
	if where != "label" {
		return nil
	}
	for _, c := range in.Result.Desired.Fleet.Clusters {
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
