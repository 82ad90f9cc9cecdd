// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
)

func (in *Input) willReimport(out *found, a evaluate.Agent) {
	if !facts.Reimported(a) {
		return
	}
	f := onCluster(a)
	var fields []string
	for _, r := range a.Now.Reasons {
		fields = append(fields, string(r.Field))
		f.Evidence = append(f.Evidence, evidenceOf(r))
	}
	f.Message = fmt.Sprintf("a restart of fleet-controller imports the agent of cluster %s again: %s", f.Cluster,
		strings.Join(fields, ", "))
	if a.Now.Reasons[0].Field == agentconfig.FieldPending {
		f.Message = fmt.Sprintf("fleet-controller is about to import the agent of cluster %s again: it has set "+
			"agentConfigChanged", f.Cluster)
	}
	if c, _ := in.Result.Desired.Agents.Config(); c.Config != nil {
		ignored := agentconfig.ReloadIgnored(c.Version, in.Result.Desired.ControllerVersion)
		f.sayIf(ignored != "", ignored)
	}
	f.sayIf(a.Now.Why != "", a.Now.Why)
	out.report(f, avoidImport(a))
}

// evidenceOf describes one reason: where the present value is, and both values.
func evidenceOf(r agentconfig.Reason) string {
	where := "the spec of the Cluster"
	switch {
	case r.Field == agentconfig.FieldPending:
		return "status.agentConfigChanged is true"
	case strings.HasSuffix(string(r.Field), "Migrated"):
		return "the migration " + string(r.Field) + " is not done"
	case r.Field.Configured():
		where = "the ConfigMap fleet-controller"
	}
	value := func(v string) string {
		if strings.ContainsAny(v, " ") {
			return v // "not recorded"
		}
		return strconv.Quote(v)
	}
	text := fmt.Sprintf("%s: the status has %s, %s has %s", r.Field, value(r.Recorded), where, value(r.Present))
	if r.CA != nil {
		text += " (hashes; " + describeCA(*r.CA) + ")"
	}
	if r.Field.Setting() && r.Field != agentconfig.FieldRepoURL && r.Field != agentconfig.FieldHostNetwork {
		text += " (hashes)"
	}
	return text
}

// describeCA describes the present CA.
func describeCA(ca agentconfig.CA) string {
	switch {
	case ca.Subject != "":
		return fmt.Sprintf("the present CA is %q, valid until %s", ca.Subject, ca.NotAfter.Format(time.RFC3339))
	case ca.Certificates == 0:
		return "the configuration has no CA"
	}
	return "the present CA could not be decoded"
}

// avoidImport describes what to change so that the agent is not imported, by the first reason that can be changed.
func avoidImport(a evaluate.Agent) remedy.Remedy {
	if a.Upgraded.Result == agentconfig.None && a.Now.Result != a.Upgraded.Result {
		return remedy.Advise("upgrade Fleet to 0.13 or later, which does not compare the values that the kubeconfig " +
			"Secret states")
	}
	for _, r := range a.Now.Reasons {
		switch {
		case r.Field == agentconfig.FieldPending || strings.HasSuffix(string(r.Field), "Migrated"):
			return remedy.Advise("it cannot be avoided: the controller has already decided it. Restart the " +
				"controller when the agent may be replaced")
		case r.Field == agentconfig.FieldCA:
			return remedy.Advise("if the CA was not changed deliberately, restore apiServerCA in the values of " +
				"Fleet's chart; otherwise the import gives the agent the new CA")
		case r.Field.Configured():
			return remedy.Advise("if %s was not changed deliberately, restore it in the values of Fleet's chart",
				r.Field)
		case r.Field == agentconfig.FieldGeneration:
			return remedy.Advise("to prevent it, set spec.redeployAgentGeneration of the Cluster to %s again",
				r.Recorded)
		}
	}
	return remedy.Advise("to prevent it, restore spec.%s of the Cluster", a.Now.Reasons[0].Field)
}
