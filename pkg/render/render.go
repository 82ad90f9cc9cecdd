// SPDX-License-Identifier: Apache-2.0

// Package render renders the contents of a bundle to the objects that Fleet's agent would store in the manifest of a release, with the same steps
// as the agent (docs/fleet-behavior.md, 2.6 and 2.7, 1.3 and 1.4).
//
// It uses no client, no network and no file. Data that only a cluster or a registry has is a gap, which the Result names. Sizes are limited. The
// time and the memory of a template are not, because nothing within the process can stop a template: package process renders in a separate
// process.
package render

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Input is one bundle as one cluster gets it.
type Input struct {
	// Name is the BundleDeployment's, which is the Bundle's.
	Name string
	// Resources are the bundle's files as the Bundle or the Content holds them: they are decoded here.
	Resources []v1alpha1.BundleResource
	// Options are the merged options of the cluster, templated where Fleet templates them.
	Options v1alpha1.Options
	// Values are those of the Secret in which Fleet keeps them, its key "values", JSON. Nil: those of the options.
	Values []byte
	// ValuesHash is the BundleDeployment's. It says that there is such a Secret; with no Values that is a gap.
	ValuesHash string
	// ValuesFrom holds the text behind each of ValuesRefs(Options). One that is not there is a gap.
	ValuesFrom map[ValuesRef][]byte
	// Commit is the BundleDeployment's label. It enters the version of a generated chart.
	Commit string
	// SetID is the set id in the ownership metadata: fleet.SetID of the name and the agent's scope.
	SetID string
	// KubeVersion is the cluster's, as "v1.36.3". Empty: Helm's own, and a gap where a chart asks.
	KubeVersion string
	// APIVersions are all the cluster serves, as "apps/v1" and "apps/v1/Deployment". Empty: Helm's own, and a gap where a chart asks.
	APIVersions []string
	// ClusterScoped maps kinds, as schema.GroupKind.String writes them, to whether they are cluster-scoped. For other kinds, the built-in kinds and
	// the CRDs of the bundle are used.
	ClusterScoped map[string]bool
	// Helm3 says that the agent is one of Fleet 0.14 or before: hooks are then left alone, and a plain manifest is never one.
	Helm3 bool
	// HelmOp says that the agent downloads the chart itself.
	HelmOp bool
	// Revision of the release that is rendered for; 0 and 1 are an installation, more an upgrade.
	Revision int
	// Now is the time for templates.
	Now time.Time
	// Gaps are gaps that the caller has found. They are the first of the Result's.
	Gaps []string
	// Notes are the caller's notes on the bundle. They are the first of the Result's.
	Notes []string
}

// Result is what the agent would install.
type Result struct {
	// ReleaseNamespace is also the namespace of namespaced objects that state none.
	ReleaseName, ReleaseNamespace string
	Style                         Style
	// Objects are the desired ones in the manifest's order, a duplicate as often as it is there. A document without kind is none.
	Objects []release.Object
	// Hooks are applied in addition to the manifest, and CRDs, those of a chart's crds/, before it. Neither are desired objects; hooks have ownership
	// metadata, CRDs do not.
	Hooks, CRDs []release.Object
	// Unstable are the objects that differ between two renderings. Their fields cannot be compared.
	Unstable []Unstable
	// RecordSize is about how many bytes the release record takes in its Secret, 0 where it is not known or far below the limit of a Secret.
	RecordSize int
	// Gaps are what could not be resolved. With a gap, the agent may render other objects; with gaps and no objects, nothing could be rendered.
	Gaps []string
	// Notes are what the agent ignores silently.
	Notes []string
}

// Unstable names the fields of an object that differ between two renderings of the same input.
type Unstable struct {
	Object object.Ref
	// Pointers are JSON pointers (RFC 6901). The empty one is the whole object: it has another name each time, or is not always there.
	Pointers []string
}

// Render renders the bundle, twice. Errors of type *Error or *ClusterScopedError mean that the agent would refuse to deploy the bundle; they name
// the bundle and the file, and never quote a value.
func Render(ctx context.Context, in Input) (*Result, error) {
	first, err := in.render(ctx, 0)
	if err != nil {
		return nil, err
	}
	if len(first.Objects) == 0 {
		return first, nil
	}
	second, err := in.render(ctx, 1)
	if err != nil {
		return nil, err
	}
	if first.Unstable, err = compareRenderings(first.Objects, second.Objects); err != nil {
		return nil, in.fail("", err.Error())
	}
	return first, nil
}

// render renders once. Random values and times differ between the passes.
func (in Input) render(ctx context.Context, pass int) (*Result, error) {
	b, err := in.open()
	if err != nil {
		return nil, err
	}
	b.pass = pass
	res := b.result
	if b.missingChart() {
		return res, nil
	}
	if err := b.layOut(); err != nil {
		return nil, err
	}
	done, err := b.run(ctx)
	slices.Sort(b.gaps)
	res.Gaps = append(res.Gaps, slices.Compact(b.gaps)...)
	var fault *Error
	switch {
	case errors.As(err, &fault) && len(res.Gaps) > 0:
		// It may have failed because of what is missing here. The agent has that, and might not fail.
		res.Gaps = append(res.Gaps, "so it cannot be rendered: "+fault.detail())
		return res, nil
	case err != nil || !done:
		return res, err
	}
	return res, b.readManifests()
}

// bundle is one bundle on its way through one rendering.
type bundle struct {
	in     Input
	pass   int
	result *Result
	// resources are all of the bundle's files, as stored and, by the same index, decoded.
	resources []v1alpha1.BundleResource
	data      [][]byte
	style     style
	// chart is the archive that Helm is given.
	chart []file
	// gaps are gaps that were found during rendering, unsorted and with duplicates.
	gaps  []string
	files rendered
}

// file is one file of a chart or of the bundle.
type file struct {
	name string
	data []byte
}

func (in Input) open() (*bundle, error) {
	o := &in.Options
	b := &bundle{in: in, resources: in.Resources, result: &Result{
		ReleaseName:      ReleaseName(in.Name, o),
		ReleaseNamespace: ReleaseNamespace(o),
		Gaps:             slices.Clone(in.Gaps),
		Notes:            slices.Clone(in.Notes),
	}}
	var err error
	if b.data, err = decodeAll(in.Resources); err != nil {
		return nil, in.fail("", err.Error())
	}
	if in.ValuesHash != "" && in.Values == nil {
		b.result.Gaps = append(b.result.Gaps, "the Secret with the values was not read")
	}
	b.style = detectStyle(in.Resources, o)
	b.result.Style = b.style.name()
	return b, nil
}

// missingChart reports whether the options name a chart that is not among the contents. The agent would then deploy the other files as manifests;
// that is never intended, so it is a gap.
func (b *bundle) missingChart() bool {
	helm := b.in.Options.Helm
	if b.style.chart != "" || helm == nil && !b.in.HelmOp || !b.in.HelmOp && helm.Chart == "" && helm.Repo == "" {
		return false
	}
	if helm == nil {
		helm = &v1alpha1.HelmOptions{}
	}
	b.result.Gaps = append(b.result.Gaps, chartGap(helm, b.in.HelmOp))
	b.result.Style = StyleHelm
	return true
}

func chartGap(helm *v1alpha1.HelmOptions, helmOp bool) string {
	what := "chart " + withoutUser(helm.Chart)
	if helm.Chart == "" {
		what = "the chart"
	}
	if helm.Repo != "" {
		what += " of " + withoutUser(helm.Repo)
	}
	if helm.Version != "" {
		what += ", version " + helm.Version + ","
	}
	if helmOp {
		return what + " is downloaded by the agent and is not among the contents"
	}
	return what + " is not among the contents"
}
