// SPDX-License-Identifier: Apache-2.0

// Package preflight predicts problems before a rollout: what Helm or Fleet's agent would refuse, which objects have another owner, and which
// objects would be taken over, overwritten or deleted. It is a pure function of the result of an audit with the contents of the bundles.
package preflight

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"

	corev1 "k8s.io/api/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

// Check predicts the rollout of every bundle that is deployed to this cluster, or may be. elsewhere is the number of bundles that are known to be
// deployed to other clusters.
func Check(c *check.Input) (rollouts []report.Rollout, elsewhere int) {
	for _, d := range c.Deployments {
		if d.OnOtherCluster {
			elsewhere++
			continue
		}
		r := newRollout(c, d)
		r.predict()
		rollouts = append(rollouts, r.Rollout)
	}
	return rollouts, elsewhere
}

// rollout is the prediction for one bundle.
type rollout struct {
	report.Rollout
	c *check.Input
	d *evaluate.BundleDeployment
	// last is the highest recorded revision of the release, nil if there is none.
	last *state.Record
	// takes reports whether Helm takes over existing objects.
	takes bool
	// agent is the version of the agent that deploys the bundle.
	agent      fleet.Version
	agentKnown bool
}

func newRollout(c *check.Input, d *evaluate.BundleDeployment) *rollout {
	r := &rollout{c: c, d: d, Rollout: report.Rollout{
		Namespace: d.Namespace, Name: d.Name, Cluster: d.Cluster, Bundle: d.Bundle, GitRepo: d.GitRepo, HelmOp: d.HelmOp,
		SetID: d.Ownership.SetID, Release: d.Ownership.Release(), Verdict: report.VerdictOK,
	}}
	r.agent, r.agentKnown = fleet.ParseVersion(agentVersion(d))
	return r
}

// rendered reports whether the desired objects of the bundle are known.
func (r *rollout) rendered() bool {
	return r.d.From == resolve.FromBundle || r.d.From == resolve.FromFiles
}

func (r *rollout) predict() {
	r.refusals()
	r.names()
	if !r.rendered() {
		r.Release = "" // the release in the record may not be that of the bundle
		if r.d.Rendering.Refused == "" {
			why := strings.Join(r.d.Rendering.Unresolved, "; ")
			if r.d.BD == nil && why == "" {
				why = "its contents are on the cluster that manages this one"
			}
			r.add(unknownObjects, nil, "nothing can be predicted: %s", cmp.Or(why, r.d.Detail))
		}
		return
	}
	r.DesiredFrom = string(r.d.From)
	if len(r.d.Rendering.Unresolved) > len(r.d.Rendering.ValuesMissing) { // missing values are reported already
		r.add(partial, nil, "the prediction may be incomplete: %s", strings.Join(r.d.Rendering.Unresolved, "; "))
	}
	r.recordSize()
	r.release()
	for i := range r.d.Objects {
		r.object(&r.d.Objects[i])
	}
	r.deletions()
}

// add adds an item, and the result of its rule.
func (r *rollout) add(rule Rule, o *object.Ref, format string, args ...any) *report.PreflightItem {
	if rule.Severity == report.Error || rule.Verdict == report.VerdictUnknown {
		r.raise(rule.Verdict)
	}
	r.Items = append(r.Items, report.PreflightItem{Rule: rule.Name, Severity: rule.Severity, Object: o, Message: fmt.Sprintf(format, args...)})
	return &r.Items[len(r.Items)-1]
}

// resultOrder is the order of the results of rules. The highest is the result of the rollout.
var resultOrder = map[report.Verdict]int{report.VerdictOK: 0, report.VerdictUnknown: 1, report.VerdictContested: 2, report.VerdictRefused: 3}

// raise sets the result of the rollout, unless it is higher already.
func (r *rollout) raise(v report.Verdict) {
	if resultOrder[v] > resultOrder[r.Verdict] {
		r.Verdict = v
	}
}

// refusals reports problems because of which Fleet's agent deploys nothing.
func (r *rollout) refusals() {
	d := r.d
	for i := range d.Rendering.ClusterScoped {
		o := &d.Rendering.ClusterScoped[i]
		r.add(clusterScoped, o, "%s is cluster-scoped, and the bundle has the targetNamespace %q: every deploy fails", o.Key(), d.Options().TargetNamespace).
			Remediation = "use defaultNamespace instead of namespace, or move the object to another bundle"
	}
	if d.Rendering.Refused != "" && len(d.Rendering.ClusterScoped) == 0 {
		r.add(notRendered, nil, "it cannot be rendered: %s", d.Rendering.Refused)
	}
	for _, what := range d.Rendering.ValuesMissing {
		r.add(valuesMissing, nil, "its valuesFrom names %s, which is not on the cluster: every deploy fails until it exists", what)
	}
}

// recordSize predicts whether Helm can store the release. The limit of the API server is for the decoded data of a Secret.
func (r *rollout) recordSize() {
	const limit, margin = corev1.MaxSecretSize, corev1.MaxSecretSize / 50
	const remedy = "split the bundle, or move large definitions to a bundle of their own"
	size := fmt.Sprintf("%.2f MiB", float64(r.d.Rendering.RecordSize)/(1<<20))
	switch n := r.d.Rendering.RecordSize; {
	case n > limit+margin:
		r.add(recordTooLarge, nil, "its release record would be about %s, and the limit of a Secret is 1 MiB: Helm cannot store it, and every deploy fails (\"Too long\")", size).
			Remediation = remedy
	case n >= limit-margin:
		r.add(recordTooLarge.as(report.Warning), nil, "its release record would be about %s, and the limit of a Secret is 1 MiB: it may be too large for Helm to store (\"Too long\")", size).
			Remediation = remedy
	}
}

// names reports names that a version of Fleet does not handle correctly.
func (r *rollout) names() {
	d := r.d
	if fleet.IsAgentBundle(d.Name) && !r.ofAgent() {
		r.add(agentName, nil, "its name begins with fleet-agent: its objects get the set id of Fleet's agent, and Fleet treats it as the agent's bundle").
			Remediation = "give the bundle another name"
	}
	stated := ""
	if helm := d.Options().Helm; helm != nil {
		stated = helm.ReleaseName
	}
	generated := fleet.HelmReleaseName(d.Name)
	if stated == "" && generated != d.Name {
		r.garbageCollected(generated)
	}
	if d.Options().KeepResources && cmp.Or(stated, generated) != d.Name {
		r.add(keptRecords, nil, "it has keepResources, and its release does not have the name of the bundle: when the bundle is deleted, the records of release %s stay", cmp.Or(stated, generated))
	}
}

// ofAgent reports whether the bundle is the one that Fleet creates for the agent of the cluster.
func (r *rollout) ofAgent() bool {
	_, cluster, _ := strings.Cut(r.d.Cluster, "/")
	return r.d.BD != nil && r.d.GitRepo+r.d.HelmOp == "" && r.d.Name == fleet.SafeConcat(fleet.AgentName, cluster)
}

// garbageCollected reports that the agent's garbage collection uninstalls the release, or may.
func (r *rollout) garbageCollected(release string) {
	const remedy = "set helm.releaseName, or update the agent"
	switch {
	case !r.agentKnown:
		item := r.add(garbageCollected.as(report.Warning), nil, "the name of its release is %s, not %s: agents older than 0.15.6, and 0.16.0, uninstall it again, and the version of this agent is "+
			"not known", release, r.d.Name)
		item.Remediation = remedy
	case r.agent.CollectsByBundleName():
		r.add(garbageCollected, nil, "the name of its release is %s, not %s: this agent's garbage collection does not find its bundle, and uninstalls it", release, r.d.Name).
			Remediation = remedy
	}
}

// as returns the rule with another severity.
func (r Rule) as(s report.Severity) Rule {
	r.Severity = s
	return r
}

// agentVersion returns the image tag of the agent that deploys a bundle, empty if it is not known.
func agentVersion(d *evaluate.BundleDeployment) string {
	if d.On == nil {
		return ""
	}
	return d.On.Versions()[d.On.AgentOf(d.BundleDeployment)]
}

// recordsRead reports whether every release record was read in the namespace of the release.
func recordsRead(d *evaluate.BundleDeployment) bool {
	_, all := d.On.State.Coverage.Records.Of(d.Ownership.ReleaseNamespace)
	return all
}
