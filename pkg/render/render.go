// SPDX-License-Identifier: Apache-2.0

// Package render renders the contents of a bundle to the objects that Fleet's agent would store in the manifest of a
// release, with the same steps as the agent (docs/fleet-behavior.md, 1.3, 1.4, 2.6 and 2.7).
//
// It uses no client, no network and no file: a Cluster answers the lookups of templates. Other data that only a
// cluster or a registry has is a gap, which the Result names. Sizes are limited. The time and the memory of a template
// are not, because nothing within the process can stop a template: package process renders in a separate process.
package render

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	helm "helm.sh/helm/v4/pkg/release/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Input is a bundle for one cluster.
type Input struct {
	// Name is the name of the Bundle and of its BundleDeployment.
	Name string
	// Resources are the files of the bundle, encoded as in the Bundle or the Content.
	Resources []v1alpha1.BundleResource
	// Options are the merged options for the cluster. Fleet's management cluster has already evaluated the templates in
	// them.
	Options v1alpha1.Options
	// Values is the key "values" of the Secret in which Fleet stores the values, as JSON. If it is nil, the values of
	// the options are used.
	Values []byte
	// ValuesHash is the one of the BundleDeployment. If it is set, that Secret exists, so nil Values are a gap.
	ValuesHash string
	// ValuesFrom are the texts of ValuesRefs(Options), by index. A text that is missing or nil is a gap.
	ValuesFrom [][]byte
	// PreviousValues are the values of the deployed revision that the rollout upgrades, as JSON. Helm uses them if the
	// bundle has no values.
	PreviousValues []byte
	// Commit is the Git commit in a label of the BundleDeployment. It is part of the version of a generated chart.
	Commit string
	// SetID is the set id in the ownership metadata: fleet.SetID of the name and the agent's scope.
	SetID string
	// KubeVersion is the Kubernetes version of the cluster, such as "v1.36.3". If it is empty, Helm's default is used,
	// and a chart that reads the version causes a gap.
	KubeVersion string
	// APIVersions are all APIs of the cluster, such as "apps/v1" and "apps/v1/Deployment". If it is empty, Helm's
	// default is used, and a chart that reads them causes a gap.
	APIVersions []string
	// ClusterScoped maps kinds, in the format of schema.GroupKind.String, to whether they are cluster-scoped. For other
	// kinds, the built-in kinds and the CRDs of the bundle are used.
	ClusterScoped map[string]bool
	// Helm3 means that the agent is of Fleet 0.14 or earlier, with Helm 3: it does not change hooks, and a plain
	// manifest is never a hook.
	Helm3 bool
	// OfflineDryRun means that the agent is of Fleet 0.14.0 or earlier: lookups find nothing in the dry run that it
	// makes first.
	OfflineDryRun bool
	// HelmOp means that the agent downloads the chart itself.
	HelmOp bool
	// Revision is the revision of the release that is rendered: 0 and 1 are an installation, higher ones are upgrades.
	Revision int
	// Now is the time for templates.
	Now time.Time
	// FromFiles means that the values are those of a fleet.yaml, in which Fleet's management cluster evaluates
	// templates for each cluster. Cluster has the data of the templates; nil if it is not known.
	FromFiles bool
	Cluster   *ClusterContext
	// Others are the other clusters that the files target, if their values depend on the cluster.
	Others []Others
	// Gaps and Notes were found by the caller. They come first in the Result.
	Gaps, Notes []string
}

// Result is what the agent would install.
type Result struct {
	// ReleaseNamespace is also the namespace of namespaced objects that state none.
	ReleaseName, ReleaseNamespace string
	// Objects are the desired objects in the order of the manifest, including duplicates. Documents without a kind are
	// not included.
	Objects []release.Object
	// Helm applies Hooks in addition to the manifest, and CRDs, from the crds/ directory of a chart, before it. They
	// are not desired objects. Hooks have ownership metadata, CRDs do not.
	Hooks, CRDs []release.Object
	// Unstable are the objects that differ between two renderings. Their fields cannot be compared.
	Unstable []Unstable
	// RecordSize is the approximate size of the release record in its Secret, in bytes. It is 0 if it is not known or
	// far below the limit.
	RecordSize int
	// Gaps say what could not be resolved. With a gap, the agent may render other objects. With gaps and no objects,
	// nothing could be rendered.
	Gaps []string
	// Notes say what the agent ignores silently.
	Notes []string
}

// Unstable names the fields of an object that differ between two renderings of the same input.
type Unstable struct {
	Object object.Ref
	// Pointers are JSON pointers (RFC 6901). The empty pointer is the whole object: its name differs, or it is not in
	// every rendering.
	Pointers []string
}

// Render renders the bundle twice. cluster answers the lookups of templates; if it is nil, each is a gap. Errors of
// type *Error or *ClusterScopedError mean that the agent would refuse to deploy the bundle. They name the bundle and
// the file, and never quote a value.
func Render(ctx context.Context, in Input, cluster Cluster) (*Result, error) {
	first, err := in.render(ctx, 0, cluster)
	if err != nil {
		return nil, err
	}
	if len(first.Objects) == 0 {
		return first, nil
	}
	second, err := in.render(ctx, 1, cluster)
	if err != nil {
		return nil, err
	}
	if first.Unstable, err = compareRenderings(first.Objects, second.Objects); err != nil {
		return nil, in.fail("", err.Error())
	}
	return first, nil
}

// render renders once. Random values and times differ between the passes.
func (in Input) render(ctx context.Context, pass int, cluster Cluster) (*Result, error) {
	b, err := in.open(pass)
	if err != nil {
		return nil, err
	}
	b.cluster = cluster
	res := b.result
	if b.chartMissing() {
		return res, nil
	}
	if known, err := b.clusterValues(); err != nil || !known {
		return res, err
	}
	if err := b.layOut(); err != nil {
		return nil, err
	}
	if err = b.run(ctx); err == nil {
		if err := b.dryRun(ctx); err != nil {
			return nil, err
		}
	}
	slices.Sort(b.gaps)
	res.Gaps = append(res.Gaps, slices.Compact(b.gaps)...)
	fault, refused := errors.AsType[*Error](err)
	switch {
	case errors.Is(err, errRemote):
		return res, nil
	case refused && len(res.Gaps) > 0:
		// The missing data may be the cause. The agent has it, and might not fail.
		res.Gaps = append(res.Gaps, "the bundle cannot be rendered without the missing data: "+fault.detail())
		return res, nil
	case err != nil:
		return nil, err
	}
	return res, b.readManifests()
}

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

// resource is a file of a bundle, encoded and decoded.
type resource struct {
	v1alpha1.BundleResource
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
