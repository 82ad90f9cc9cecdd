// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"

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
				out[i].CausedBy = &Origin{Code: of.Code, Object: of.Object, Cluster: of.Cluster,
					BundleDeployment: of.BundleDeployment}
				break
			}
		}
	}
}

// identify completes the causes with the identities of their findings.
func identify(findings []Finding) {
	ids := map[Origin]string{}
	for _, f := range findings {
		k := Origin{Code: f.Code, Object: f.Object, Cluster: f.Cluster, BundleDeployment: f.BundleDeployment}
		if ids[k] == "" {
			ids[k] = f.ID
		}
	}
	for i := range findings {
		if o := findings[i].CausedBy; o != nil {
			o.ID = ids[*o]
		}
	}
}

// withoutOrphans returns findings without the causes that are not among them.
func withoutOrphans(findings []Finding) []Finding {
	present := map[string]bool{}
	for i := range findings {
		present[findings[i].ID] = true
		for _, id := range findings[i].IDs {
			present[id] = true
		}
	}
	return each(findings, func(f Finding) Finding {
		if f.CausedBy != nil && !present[f.CausedBy.ID] {
			f.CausedBy = nil
		}
		return f
	})
}
