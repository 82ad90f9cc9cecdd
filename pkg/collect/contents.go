// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
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

// contents reads the files of a bundle, its options and values, from the management cluster's own objects. staged
// selects the files of a newer deployment, which can be read if it has the same options.
// damage is what is wrong with the Content; empty if nothing is, or if it was not read.
func (r *Reader) contents(ctx context.Context, d *directory.Deployment, staged bool) (in render.Input, damage string,
	err error) {
	spec := &d.BD.Spec
	in = render.Input{Options: spec.Options, ValuesHash: spec.ValuesHash, Commit: d.BD.Labels[fleet.CommitLabel],
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
		var c v1alpha1.Content
		f, err := r.get(ctx, v1alpha1.Kind("Content"), "", id, &c)
		if err != nil {
			return in, "", err
		}
		if before, known := r.Description.Unmasked.Content(id); known && (f == nil || *f == source.NotCaptured) {
			in.Gaps, damage = append(in.Gaps, cmp.Or(before.Damaged, before.Limit)), before.Damaged
			break
		}
		if f == nil {
			if in.Resources, err = render.DecodeContent(&c); err != nil {
				in.Gaps = append(in.Gaps, err.Error())
				if !render.TooLarge(err) {
					damage = err.Error()
				}
			}
			break
		}
		if err := r.bundleResources(ctx, d, id, &in, *f); err != nil {
			return in, "", err
		}
	}
	err = r.values(ctx, d, &in)
	return in, damage, err
}

// bundleResources reads the files from the Bundle if the Content could not be read and the Bundle still has the files
// that were deployed.
func (r *Reader) bundleResources(ctx context.Context, d *directory.Deployment, id string, in *render.Input,
	f source.Failure) error {
	namespace, name, _ := strings.Cut(d.Bundle, "/")
	var b v1alpha1.BundleContents
	bad, err := r.get(ctx, v1alpha1.Kind("Bundle"), namespace, name, &b)
	if err != nil {
		return err
	}
	have, err := render.ManifestID(b.Spec.Resources)
	if before, known := r.Description.Unmasked.Bundle(namespace, name); known {
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
func (r *Reader) values(ctx context.Context, d *directory.Deployment, in *render.Input) error {
	if in.ValuesHash == "" {
		return nil
	}
	var s struct {
		Data map[string][]byte `json:"data"`
	}
	f, err := r.get(ctx, secretKind, d.Namespace, d.Name, &s)
	if f != nil && *f == source.NotCaptured {
		withMasked(in)
		return err
	}
	if f != nil || err != nil {
		return err // render reports the missing values
	}
	for _, v := range s.Data {
		r.Secrets.AddText(v)
	}
	if values.DeploymentHash(s.Data[values.KeyValues], s.Data[values.KeyStaged]) != in.ValuesHash {
		if r.Description.Unmasked != nil {
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

// data reads one key of a ConfigMap or Secret. If it is not found or could not be read, the failure is the reason. Data
// of a Secret must not be shown.
func (r *Reader) data(ctx context.Context, ref render.ValuesRef) ([]byte, *source.Failure, error) {
	var o struct {
		Data map[string]string `json:"data"` // in base64 for a Secret
	}
	f, err := r.get(ctx, corev1.SchemeGroupVersion.WithKind(ref.Kind), ref.Namespace, ref.Name, &o)
	text, found := o.Data[ref.Key]
	switch {
	case f != nil || err != nil:
		return nil, f, err
	case !found:
		return nil, &source.Failure{Reason: notFound}, nil
	case ref.Kind != secretKind.Kind:
		return []byte(text), nil, nil
	}
	v, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		v, f = nil, &undecodable
	} else {
		r.Secrets.AddText(v)
	}
	return v, f, nil
}
