// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"slices"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	helm "helm.sh/helm/v4/pkg/release/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// bundle is a bundle during one rendering.
type bundle struct {
	in        Input
	pass      int
	result    *Result
	resources []resource
	style     style
	// chartFiles are the files of the chart for Helm.
	chartFiles []file
	chart      *chart.Chart
	// gaps were found during rendering. They are unsorted and may have duplicates.
	gaps []string
	// manifest and hooks are what Helm stores in the release record.
	manifest string
	hooks    []*helm.Hook
	// cluster answers lookups; nil if there is none. asked is true if a template looked something up. named are those
	// without an answer that a gap names.
	cluster Cluster
	asked   bool
	named   map[Lookup]bool
	// learned are the values of Secrets that were looked up.
	learned []string
}

// file is a file of a chart.
type file struct {
	name string
	data []byte
}

func (in Input) open(pass int) (*bundle, error) {
	in.Options.Helm = cmp.Or(in.Options.Helm, &v1alpha1.HelmOptions{})
	in.Options.Kustomize = cmp.Or(in.Options.Kustomize, &v1alpha1.KustomizeOptions{})
	in.Revision = max(in.Revision, 1)
	resources, err := decodeAll(in.Resources)
	if err != nil {
		return nil, in.fail("", err.Error())
	}
	b := &bundle{in: in, pass: pass, resources: resources, style: detectStyle(resources, &in.Options), result: &Result{
		ReleaseName:      releaseName(in.Name, &in.Options),
		ReleaseNamespace: releaseNamespace(&in.Options),
		Gaps:             slices.Clone(in.Gaps),
		Notes:            slices.Clone(in.Notes),
	}}
	if in.ValuesHash != "" && in.Values == nil {
		b.result.Gaps = append(b.result.Gaps, "the Secret with the values was not read")
	}
	return b, nil
}

// chartMissing reports whether the options name a chart that is not among the contents, and adds the gap. The agent
// would deploy the other files as manifests, which is never intended.
func (b *bundle) chartMissing() bool {
	helm := b.in.Options.Helm
	names := b.in.HelmOp || helm.Chart != "" || helm.Repo != ""
	if b.style.chart != "" || !names {
		return false
	}
	gap := "the chart"
	if helm.Chart != "" {
		gap = "chart " + escape.WithoutCredentials(helm.Chart)
	}
	if helm.Repo != "" {
		gap += " of " + escape.WithoutCredentials(helm.Repo)
	}
	if helm.Version != "" {
		gap += ", version " + helm.Version + ","
	}
	if b.in.HelmOp {
		gap += " is downloaded by the agent and"
	}
	b.result.Gaps = append(b.result.Gaps, gap+" is not among the contents")
	return true
}

// addGap adds a gap that was found during rendering.
func (b *bundle) addGap(gap string) { b.gaps = append(b.gaps, gap) }

// note records what the agent ignores. The notes of the second rendering are the same, and not used.
func (b *bundle) note(s string) { b.result.Notes = append(b.result.Notes, s) }
