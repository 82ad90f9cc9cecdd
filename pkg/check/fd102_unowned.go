// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

func (in *Input) unowned(out *found, d *evaluate.BundleDeployment, o *evaluate.Object) {
	owners := in.Result.Desired.On(d.ClusterID).Owners(&d.Deployment, o.Key(), o.Metadata)
	f := about(d, o.Ref, "%s exists, but %s", o.Key(), whyUnowned(d, owners))
	if len(o.Differences) > 0 {
		f.Message += "; it also differs in " + facts.List(paths(o))
	}
	f.Evidence = append(differs(o, true), requiredChanges(owners.Patch())...)
	out.report(f, in.assign(d, o))
}

func whyUnowned(d *evaluate.BundleDeployment, r ownership.Result) string {
	switch r.Class {
	case ownership.Unmarked:
		return "has no ownership labels or annotations"
	case ownership.HelmOnly:
		return "has only Helm's label and annotations of release " + r.Have.Release()
	case ownership.HashStripped:
		return "has lost the hash label of its set " + d.Ownership.SetID
	case ownership.Inconsistent:
		return "has the id of its set with the hash of another set"
	}
	if d.ReleaseOwnership.Hash != "" && r.Have.Hash == d.ReleaseOwnership.Hash {
		return fmt.Sprintf("has set %q, with which its release was made; the agent uses set %q",
			d.ReleaseOwnership.SetID, d.Ownership.SetID)
	}
	if len(r.Owners) == 0 { // the namespace of a release without its name
		return "has ownership metadata that names no owner"
	}
	return r.Owners[0].Describe()
}

// requiredChanges lists the ownership metadata to change so that the bundle owns the object, with the present values.
func requiredChanges(changes []ownership.Change) []string {
	var out []string
	for _, c := range changes {
		switch {
		case c.New == nil: // the name of the release is not known yet
		case c.Old == nil:
			out = append(out, fmt.Sprintf("%s %s=%s is desired and not set", c.Field(), c.Name, *c.New))
		default:
			out = append(out, fmt.Sprintf("%s %s=%s is desired, it is %q", c.Field(), c.Name, *c.New, *c.Old))
		}
	}
	return out
}

// assign plans to assign the object, and the others of its bundle, to the bundle.
func (in *Input) assign(d *evaluate.BundleDeployment, o *evaluate.Object) remedy.Remedy {
	if len(in.Result.Desired.On(d.ClusterID).Confirmed(o.Key())) > 1 {
		return remedy.Advise("decide which bundle should own it, and remove it from the others")
	}
	if refused := d.AdoptUncertain(); len(refused) > 0 {
		return remedy.Advise("adopt would refuse it now: %s", strings.Join(refused, "; "))
	}
	out := in.Steps.On(d.ClusterID).Assign(&d.Deployment)
	out.Step.Object = o.Ref
	return out
}
