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
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// forbidden returns the right whose lack leaves a bundle deployment without a result; empty if another reason does.
func forbidden(d *evaluate.BundleDeployment) string {
	switch {
	case d.Problem == directory.RecordsForbidden && len(d.RecordProblems) == 0:
		return "their release records (Secrets)"
	case d.Problem == "" && !d.HasResult() && d.Objects[0].Reason == string(directory.RecordsForbidden):
		return "their objects"
	}
	return ""
}

// forbiddenRights reports the bundle deployments that have no result because a right is missing. Several on one cluster
// are one finding: what is missing is the same.
func (in *Input) forbiddenRights(out *found) {
	type missing struct {
		cluster object.ClusterID
		placed  bool
		right   string
	}
	var order []missing
	without := map[missing][]*evaluate.BundleDeployment{}
	for _, d := range in.Result.Deployments {
		right := forbidden(d)
		if right == "" {
			continue
		}
		m := missing{d.ClusterID, d.Placed, right}
		if without[m] == nil {
			order = append(order, m)
		}
		without[m] = append(without[m], d)
	}
	for _, m := range order {
		all := without[m]
		if len(all) == 1 {
			in.noResult(out, all[0])
			continue
		}
		f := Finding{Object: all[0].Ref(), Cluster: all[0].Cluster, Aspect: m.right}
		if cluster := facts.Named(state.ClusterKind, all[0].ClusterKey()); in.Facts.Object(cluster) != nil {
			f.Object = cluster
		}
		f.Message = fmt.Sprintf("no result for %s, because %s may not be read: only what Fleet reports of them is "+
			"known", facts.Count(len(all), "bundle deployment"), m.right)
		out.report(f, in.Steps.On(m.cluster).ShowRole())
	}
}

func (in *Input) unread(out *found, d *evaluate.BundleDeployment) {
	if forbidden(d) == "" {
		in.noResult(out, d)
	}
}

// noResult reports a bundle deployment that has no result.
func (in *Input) noResult(out *found, d *evaluate.BundleDeployment) {
	switch {
	case d.Problem == "" && !d.HasResult():
		in.nothingRead(out, d)
	case d.Problem == "", d.Problem == directory.ClusterNotRead: // it has a result, or it is on another cluster
	case len(d.RecordProblems) > 0 && d.Release.Name != "": // FD602 reports the record
	default:
		f := onDeployment(d, "no result for %s: %s", d.Key(), d.Detail)
		if d.BD != nil {
			f.Message += in.Facts.SaidOf(&d.Deployment, "Deployed")
		}
		f.Follows = originsAt(&d.Deployment, codes.NotApplied)
		if r, paused := in.Facts.Pauses(&d.Deployment); paused {
			f.Follows = append(f.Follows, Origin{Code: codes.WaitsForPause, Object: r})
		}
		if t, pending := hooked(&d.Deployment); pending {
			f.say("%s", waitsForHooks(t))
			out.report(f, in.showHooks(&d.Deployment, t)...)
			return
		}
		idle := in.idleAgent(d.Namespace)
		if d.Problem == directory.NoReleaseRecord && idle != "" {
			a, _ := in.Facts.AgentOf(d.Namespace)
			f.say("%s", idle)
			f.Follows = append(f.Follows, silentOrigins(a.Cluster)...)
			out.report(f, in.Steps.LogsOfAgent(a))
			return
		}
		out.report(f, in.readAgain(d))
	}
}

// readAgain returns the next step for a bundle deployment without desired objects.
func (in *Input) readAgain(d *evaluate.BundleDeployment) remedy.Remedy {
	switch {
	case d.Problem == directory.RecordsForbidden:
		return in.Steps.On(d.ClusterID).ShowRole()
	case d.Problem == directory.RecordNotCaptured:
		return remedy.Advise("capture the Secrets of type %s too", release.SecretType)
	case d.Problem == directory.RecordUnreadable:
		return in.Steps.On(d.ClusterID).History(d.Release)
	case d.Problem == directory.RecordsFailed, d.FromFiles():
		return remedy.Advise("resolve what the message names, and run the audit again")
	case d.Rendering.Refused != "":
		return in.Steps.Commands.Predict(&d.Deployment)
	case d.BD == nil:
		return in.Steps.On(d.ClusterID).History(d.Release)
	}
	return in.Steps.Commands.Describe(d.Ref())
}

// nothingRead reports a bundle deployment of which no object has a result.
func (in *Input) nothingRead(out *found, d *evaluate.BundleDeployment) {
	first := d.Objects[0]
	f := onDeployment(d, "no result for %s: none of its objects has a result (%s)", d.Key(), first.Reason)
	f.sayIf(first.Message != "", first.Key().String()+": "+first.Message)
	if first.Reason == string(directory.RecordsForbidden) {
		out.report(f, in.Steps.On(d.ClusterID).ShowRole())
		return
	}
	if first.NotServed() {
		out.report(f, remedy.Advise("install the definition of the kind: the cluster does not serve it"))
		return
	}
	out.report(f, remedy.Advise("resolve what the evidence names, and run the audit again"))
}

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
		f.Evidence = in.labelNow(f.Cluster, where, missing[1])
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
func (in *Input) labelNow(cluster, where, label string) []string {
	c := in.Facts.Cluster(cluster)
	if where != "label" || c == nil {
		return nil
	}
	if _, ok := c.Labels[label]; ok {
		return []string{"the cluster has the label now: Fleet has not processed the bundle since, or does not " +
			"pass the label to templates"}
	}
	return []string{"the cluster does not have the label now either"}
}
