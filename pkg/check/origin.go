// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/blocker"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Origin is a finding from which another one follows, if it is reported: one of a code about an object, or about a
// bundle deployment or any of its objects.
type Origin struct {
	Code    string
	Cluster string // "namespace/name"
	// BundleDeployment is its key; empty for a finding about another Object.
	BundleDeployment string
	Object           object.Ref
}

// originsAt returns the findings of these codes about a bundle deployment.
func originsAt(d *directory.Deployment, codes ...string) []Origin {
	var out []Origin
	for _, code := range codes {
		out = append(out, Origin{Code: code, Cluster: d.Cluster, BundleDeployment: d.Key()})
	}
	return out
}

// notReadyOrigins returns the findings for which a bundle deployment is not ready.
func notReadyOrigins(d *directory.Deployment) []Origin {
	return originsAt(d, "FD101", "FD107", "FD104", "FD102", "FD105")
}

// silentOrigins returns the findings for which the agent of a Cluster does not report.
func silentOrigins(c *v1alpha1.Cluster) []Origin {
	var out []Origin
	for _, code := range []string{CodeStale, "FD503"} {
		out = append(out, Origin{Code: code, Cluster: facts.Key(c), Object: facts.RefTo(c)})
	}
	return out
}

// originsOfCounts returns the findings from which wrong counts of a bundle deployment follow.
func (in *Input) originsOfCounts(d *evaluate.BundleDeployment, why facts.Cause) []Origin {
	switch why {
	case facts.Lag:
		return notReadyOrigins(&d.Deployment)
	case facts.StaleAgent:
		if a, known := in.AgentOf(d.Namespace); known {
			return silentOrigins(a.Cluster)
		}
	}
	return nil
}

// originsOfTotal returns the findings from which a wrong number of an aggregate follows.
func originsOfTotal(t *totals, n number, why facts.Cause) []Origin {
	if d := t.wrongPart(n); d != nil {
		return originsAt(&d.Deployment, "FD201", "FD208")
	}
	c, isCluster := t.Object.(*v1alpha1.Cluster)
	switch {
	case why == facts.StaleAgent && isCluster:
		return silentOrigins(c)
	case why != facts.Lag:
		return nil
	}
	var out []Origin
	for _, d := range t.BundleDeployments {
		out = append(out, originsAt(&d.Deployment, "FD201")...)
		if d.State != evaluate.Ready {
			out = append(out, notReadyOrigins(&d.Deployment)...)
		}
	}
	return out
}

// originsOfWait returns the findings about the root cause for which a bundle deployment waits.
func (in *Input) originsOfWait(d *evaluate.BundleDeployment, root blocker.Step) []Origin {
	var out []Origin
	if root.Of.ID() != d.ID() {
		out = originsAt(root.Of, "FD604")
	}
	switch root.Kind {
	case blocker.Agent:
		if a, known := in.AgentOf(root.Of.Namespace); known {
			out = append(out, silentOrigins(a.Cluster)...)
		}
	case blocker.Values:
		out = append(out, originsAt(root.Of, "FD402", "FD403")...)
	case blocker.Content:
		content := facts.Ref(state.Content, "", state.ContentID(root.Of.BD))
		out = append(originsAt(root.Of, "FD601"), Origin{Code: "FD601", Object: content})
	case blocker.Record:
		out = append(out, originsAt(root.Of, "FD602")...)
	case blocker.State:
		out = append(out, notReadyOrigins(root.Of)...)
	}
	return out
}
