// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// link sets the cause of each finding: the first of the findings that it follows from, if one is reported. out are the
// same findings as in, in the same order.
func link(out []Finding, in []check.Finding) {
	found := map[check.Origin]*Finding{}
	add := func(k check.Origin, f *Finding) {
		if found[k] == nil {
			found[k] = f
		}
	}
	for i := range out {
		f := &out[i]
		if f.BundleDeployment != "" {
			add(check.Origin{Code: f.Code, Cluster: f.Cluster, BundleDeployment: f.BundleDeployment}, f)
		}
		add(check.Origin{Code: f.Code, Cluster: f.Cluster, Object: f.Object}, f)
	}
	for i := range in {
		for _, k := range in[i].Follows {
			if of := found[k]; of != nil && of != &out[i] {
				out[i].CausedBy = &Origin{Code: of.Code, Object: of.Object, Cluster: of.Cluster}
				break
			}
		}
	}
}

// identify completes the causes with the identities of their findings.
func identify(findings []Finding) {
	type key struct {
		code, cluster string
		object        object.Ref
	}
	ids := map[key]string{}
	for _, f := range findings {
		if k := (key{f.Code, f.Cluster, f.Object}); ids[k] == "" {
			ids[k] = f.ID
		}
	}
	for i := range findings {
		if o := findings[i].CausedBy; o != nil {
			o.ID = ids[key{o.Code, o.Cluster, o.Object}]
		}
	}
}
