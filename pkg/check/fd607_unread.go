// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
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
		on     object.ClusterID
		placed bool
		right  string
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
		out.report(f, in.Steps.On(m.on).ShowRole())
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
