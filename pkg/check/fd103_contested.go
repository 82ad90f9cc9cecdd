// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

var contested = Check{
	Code: "FD103", Name: "Contested", Severity: Error,
	Title: "two bundles on one cluster want the same object",
	Explain: "The bundle that deployed last holds it and is Ready; every other one says \"not owned by us\" for ever, and still deletes the object by name " +
		"when it is uninstalled. Take the object out of all bundles but one.",
	run: func(in *Input) []Finding {
		type place struct {
			on  *resolve.Cluster
			key object.Key
		}
		contested := map[place]*evaluate.Object{} // each object once, however many bundles in scope desire it
		for _, d := range in.Deployments {
			for i := range d.Objects {
				if key := d.Objects[i].Key(); len(d.On.Objects[key]) > 1 {
					contested[place{d.On, key}] = &d.Objects[i]
				}
			}
		}
		var out []Finding
		for p, o := range contested {
			out = append(out, contest(p.on.Objects[p.key], o))
		}
		return out
	},
}

func contest(desired []*resolve.Object, o *evaluate.Object) Finding {
	names := make([]string, len(desired))
	for i, other := range desired {
		names[i] = other.Deployment.Key()
	}
	held := "nobody holds it now"
	switch {
	case o.State == evaluate.Unknown:
		held = "who holds it now could not be read"
	case o.State == evaluate.Missing:
	case o.State != evaluate.Unowned:
		held = o.Deployment.Key() + " holds it now"
	case o.Owner == nil || o.Owner.SetID == o.Deployment.Ownership.SetID && o.Owner.BundleDeployment == "": // only its own id is left of its marks
	default:
		held = "it is held by " + holder(o.Owner)
	}
	return Finding{
		Object: o.Ref, Cluster: o.Deployment.Cluster,
		Message:     fmt.Sprintf("%s is wanted by %s; %s", o.Key(), strings.Join(names, " and "), held),
		Remediation: "take it out of all bundles but one",
	}
}
