// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// unconfirmed reports a release record that claims objects outside of its namespace, if nothing confirms it.
func (in *Input) unconfirmed(out *found, d *evaluate.BundleDeployment) {
	var claimed []string
	for i := range d.Objects {
		if o := &d.Objects[i]; o.Reason == evaluate.Unconfirmed {
			claimed = append(claimed, o.Key().String())
		}
	}
	if len(claimed) == 0 {
		return
	}
	r := directory.SecretRef(d.Release)
	f := about(d, r, "the record of release %s claims %s outside of its namespace, and nothing else confirms it",
		d.Release, facts.Count(len(claimed), "object"))
	f.say("who may create Secrets in namespace %s can write such a record", r.Namespace)
	f.say("it claims %s: whether a bundle desires them is not known", facts.List(claimed))
	f.sayIf(!in.Result.Desired.Cluster(d.ClusterID).State.Coverage.TrustLabels.Whole(), fmt.Sprintf("the labels of namespace %s, which say whose "+
		"records are trusted, could not be read", ownership.TrustNamespace))
	out.report(f, in.Steps.On(d.ClusterID).ShowSecret(r),
		remedy.Advise("audit the management cluster together with this one, which confirms the releases of bundles; "+
			"or %s", ownership.TrustAdvice(r.Namespace)))
}
