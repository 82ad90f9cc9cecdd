// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// apiVersions returns what a cluster serves, in the form of .Capabilities.APIVersions in charts.
func apiVersions(kinds *source.Kinds) []string {
	var out []string
	seen := map[string]bool{}
	for _, k := range kinds.Every() {
		gv := k.GroupVersion().String()
		if !seen[gv] {
			seen[gv] = true
			out = append(out, gv)
		}
		out = append(out, gv+"/"+k.Kind)
	}
	return out
}

// clusterScoped returns for each kind that a cluster serves whether it is cluster-scoped.
func clusterScoped(kinds *source.Kinds) map[string]bool {
	out := map[string]bool{}
	for _, k := range kinds.All() {
		out[k.GroupKind().String()] = !k.Namespaced
	}
	return out
}

// bundleContents are the files of a bundle, its options and values, from the management cluster's own objects.
type bundleContents struct {
	management *Reader
	deployment *directory.Deployment
	input      render.Input
	// damage is what is wrong with the Content; empty if nothing is, or if it was not read.
	damage string
}

// read reads the contents. staged selects the files of a newer deployment, which can be read if it has the same
// options.
func (c *bundleContents) read(ctx context.Context, staged bool) error {
	bd, in := c.deployment.BD, &c.input
	spec := &bd.Spec
	*in = render.Input{Options: spec.Options, ValuesHash: spec.ValuesHash, Commit: bd.Labels[fleet.CommitLabel],
		HelmOp: len(spec.HelmChartOptions) > 0}
	id, options, _ := strings.Cut(spec.DeploymentID, ":")
	newer, newerOptions, isStaged := strings.Cut(spec.StagedDeploymentID, ":")
	staged = staged && isStaged
	if staged && options == newerOptions {
		id = newer
	}
	switch {
	case staged && options != newerOptions:
		in.Gaps = append(in.Gaps, "a newer deployment is staged, with other options")
	case in.HelmOp:
	case spec.OCIContents:
		in.Gaps = append(in.Gaps, "its contents are in an OCI registry")
	case id == "":
		in.Gaps = append(in.Gaps, "its BundleDeployment names no contents")
	default:
		if err := c.resources(ctx, id); err != nil {
			return err
		}
	}
	return c.values(ctx)
}

// resources reads the files from the Content.
func (c *bundleContents) resources(ctx context.Context, id string) error {
	in := &c.input
	var content v1alpha1.Content
	f, err := c.management.get(ctx, v1alpha1.Kind("Content"), "", id, &content)
	if err != nil {
		return err
	}
	before, known := c.management.Description.Unmasked.Content(id)
	switch {
	case known && (f == nil || *f == source.NotCaptured):
		in.Gaps, c.damage = append(in.Gaps, cmp.Or(before.Damaged, before.Limit)), before.Damaged
		return nil
	case f != nil:
		return c.bundleResources(ctx, id, *f)
	}
	if in.Resources, err = render.DecodeContent(&content); err != nil {
		in.Gaps = append(in.Gaps, err.Error())
		if !render.TooLarge(err) {
			c.damage = err.Error()
		}
	}
	return nil
}

// bundleResources reads the files from the Bundle if the Content could not be read and the Bundle still has the files
// that were deployed.
func (c *bundleContents) bundleResources(ctx context.Context, id string, f source.Failure) error {
	in := &c.input
	namespace, name, _ := strings.Cut(c.deployment.Bundle, "/")
	var b v1alpha1.BundleContents
	bad, err := c.management.get(ctx, v1alpha1.Kind("Bundle"), namespace, name, &b)
	if err != nil {
		return err
	}
	have, err := render.ManifestID(b.Spec.Resources)
	if before, known := c.management.Description.Unmasked.Bundle(namespace, name); known {
		have = before.Content
	}
	readable := bad == nil && err == nil
	if readable && have == id && len(b.Spec.Resources) > 0 {
		in.Resources = b.Spec.Resources
		return nil
	}
	if f == source.NotCaptured {
		in.Gaps = append(in.Gaps, "its files are not in the snapshot: snapshot --with-bundles captures them")
		return nil
	}
	in.Gaps = append(in.Gaps, fmt.Sprintf("its contents, %s, could not be read: %s", id, f.Reason))
	return nil
}

// values reads the Secret in which newer versions of Fleet keep a deployment's values. The agent accepts only values
// with the valuesHash (docs/fleet-behavior.md, 6.2 and 6.3).
func (c *bundleContents) values(ctx context.Context) error {
	in, d := &c.input, c.deployment
	if in.ValuesHash == "" {
		return nil
	}
	var s struct {
		Data map[string][]byte `json:"data"`
	}
	f, err := c.management.get(ctx, secretKind, d.Namespace, d.Name, &s)
	if f != nil && *f == source.NotCaptured {
		withMasked(in)
		return err
	}
	if f != nil || err != nil {
		return err // render reports the missing values
	}
	for _, v := range s.Data {
		c.management.Secrets.AddText(v)
	}
	if values.DeploymentHash(s.Data[values.KeyValues], s.Data[values.KeyStaged]) != in.ValuesHash {
		if c.management.Description.Unmasked != nil {
			withMasked(in)
			return nil
		}
		in.Gaps = append(in.Gaps, "the Secret with the values does not have the hash in its valuesHash")
		in.ValuesHash = ""
		return nil
	}
	in.Values = append([]byte{}, s.Data[values.KeyValues]...) // not nil, because it was read
	return nil
}

// withMasked makes a bundle one that cannot be rendered: with masked values, a chart would render other objects.
func withMasked(in *render.Input) {
	in.Resources, in.ValuesHash, in.Gaps = nil, "", append(in.Gaps, "its Helm values are not in the snapshot")
}

// ContentNames finds the Contents that BundleDeployments need and that do not exist, and those that are being deleted.
// It lists only the metadata of Contents, because each may have 1 MiB. No Content is missing if not all could be read.
func (r *Reader) ContentNames(ctx context.Context, f *state.Fleet) (state.Contents, error) {
	var out state.Contents
	needed := f.ContentIDs()
	if len(needed) == 0 {
		return out, nil
	}
	found := map[string]bool{}
	var err error
	q := source.Query{Kind: v1alpha1.Kind(state.Content), MetadataOnly: true}
	out.Coverage, err = r.list(ctx, q, func(o source.Object) error {
		var m struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		if err := object.Into(o.Raw, &m); err != nil {
			return err
		}
		found[m.Metadata.Name] = true
		if when := m.Metadata.DeletionTimestamp; when != nil {
			out.Deleting = append(out.Deleting, state.Deleting{Kind: state.Content, Name: m.Metadata.Name,
				Since: when.Time, Finalizers: m.Metadata.Finalizers})
		}
		return nil
	})
	if _, all := out.Coverage.Of(""); !all {
		return out, err
	}
	out.Missing = map[string]bool{}
	for id := range needed {
		if !found[id] {
			out.Missing[id] = true
		}
	}
	return out, err
}

// Controllers reads the Deployments that explain why Fleet does not act. It reads nothing if no object needs that.
func (r *Reader) Controllers(ctx context.Context, f *state.Fleet) error {
	for name := range f.WantedControllers() {
		q := source.Query{Kind: deploymentKind, FieldSelector: "metadata.name=" + name}
		cover, err := r.list(ctx, q, func(o source.Object) error { return f.AddController(o.Raw) })
		if err != nil {
			return err
		}
		if cover.Whole() {
			f.ControllersRead(name)
		}
	}
	return nil
}

// Versions reads only what shows the versions of Fleet's controller and of the agents of this cluster.
func (r *Reader) Versions(ctx context.Context) (*state.Fleet, *state.Cluster, []source.Gap, error) {
	f, gaps, err := r.fleet(ctx, "", nil)
	if err != nil {
		return nil, nil, nil, err
	}
	c, more, err := r.Cluster(ctx, f, ClusterOptions{NoRecords: true})
	return f, c, slices.Concat(gaps, more), err
}
