// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Desired says where desired objects are taken from.
type Desired string

// The choices. Release is what Fleet's agent compares with; Bundle is what it would install now; Auto is the release where there is one, and
// else the bundle; Files are those of Options.Files alone.
const (
	DesiredRelease Desired = "release"
	DesiredAuto    Desired = "auto"
	DesiredBundle  Desired = "bundle"
	DesiredFiles   Desired = "files"
)

// rendering is a deployment with what its contents come to.
type rendering struct {
	deployment *inventory.Deployment
	input      render.Input
	result     *render.Result
	err        error // of type *render.Error or *render.ClusterScopedError: what the agent would refuse
}

// atOnce bounds how many bundles are rendered at the same time: each may unpack to 64 MiB.
const atOnce = 2

// desired replaces what the deployments in scope desire, where that is asked for, and returns those that are to be audited.
func (r *run) desired(ctx context.Context, scoped []*inventory.Deployment) ([]*inventory.Deployment, error) {
	var todo []*rendering
	switch r.Desired {
	case DesiredFiles:
		d, err := r.ofFiles()
		if err != nil {
			return nil, err
		}
		scoped = []*inventory.Deployment{d}
		todo = []*rendering{{deployment: d, input: *r.Files}}
	case DesiredAuto, DesiredBundle:
		for _, d := range scoped {
			if d.BD != nil && d.Problem != inventory.ClusterNotRead && (r.Desired == DesiredBundle || d.Problem == inventory.NoReleaseRecord) {
				todo = append(todo, &rendering{deployment: d})
			}
		}
	}
	if len(todo) == 0 {
		return scoped, nil
	}
	r.counter.start("rendering bundles")
	g, rendering := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, x := range todo {
		g.Go(func() error { return r.render(rendering, x) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, x := range todo {
		r.rendered(x)
	}
	r.hideStated()
	return scoped, nil
}

// ofFiles finds the deployment that a bundle in a directory is for, or makes one of a bundle that is not on this cluster yet.
func (r *run) ofFiles() (*inventory.Deployment, error) {
	var found []*inventory.Deployment
	for _, d := range r.inv.Deployments {
		if d.Name == r.Files.Name && d.Problem != inventory.ClusterNotRead {
			found = append(found, d)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		scope, known := r.inv.Scope()
		if !known {
			r.inv.Notes = append(r.inv.Notes, fmt.Sprintf("the set id of bundle %s is made without a scope: which agent would deploy it is not known", r.Files.Name))
		}
		d := &inventory.Deployment{Name: r.Files.Name, Problem: inventory.NoReleaseRecord, Want: ownership.Wanted(fleet.SetID(r.Files.Name, scope), "", "")}
		r.inv.Add(d)
		return d, nil
	}
	return nil, fmt.Errorf("finding bundle %s: %d deployments on this cluster have that name", r.Files.Name, len(found))
}

// rendered takes over what a bundle came to, and says what is missing from it.
func (r *run) rendered(x *rendering) {
	d := x.deployment
	what := "rendering bundle " + d.Name
	var refused *render.ClusterScopedError
	if x.err != nil {
		d.Refused = x.err.Error()
		effect := "Fleet's agent would refuse it as well; it gets no verdict"
		if errors.As(x.err, &refused) {
			effect = "every deploy of it fails; it gets no verdict"
		}
		r.gap(what, source.Failure{Reason: "RenderFailed", Detail: x.err.Error()}, effect)
		return
	}
	effect := "its objects are those that can be made without it"
	if len(x.result.Objects) == 0 {
		effect = "it gets no verdict"
	}
	for _, g := range x.result.Gaps {
		r.gap(what, source.Failure{Reason: "NotResolved", Detail: g}, effect)
	}
	for _, n := range x.result.Notes {
		r.inv.Notes = append(r.inv.Notes, "bundle "+d.Name+": "+n)
	}
	if len(x.result.Objects) == 0 && len(x.result.Gaps) > 0 {
		return
	}
	from := inventory.FromBundle
	if r.Desired == DesiredFiles {
		from = inventory.FromFiles
	}
	unstable := map[object.Ref][]string{}
	for _, u := range x.result.Unstable {
		unstable[u.Object] = u.Pointers
	}
	r.inv.Render(d, inventory.Rendering{From: from, ReleaseName: x.result.ReleaseName, ReleaseNamespace: x.result.ReleaseNamespace,
		Objects: x.result.Objects, Unstable: unstable})
}

// render reads what a deployment's bundle is made of, and renders it.
func (r *run) render(ctx context.Context, x *rendering) error {
	d := x.deployment
	if r.Desired != DesiredFiles {
		in, err := r.contents(ctx, d)
		if err != nil {
			return err
		}
		x.input = in
	}
	in := &x.input
	in.Name, in.SetID, in.KubeVersion, in.Now, in.Revision = d.Name, d.Want.SetID, r.desc.KubernetesVersion, r.now, d.Release.Revision
	in.Helm3 = olderThan(r.inv.Versions[r.inv.AgentOf(d)], 15)
	in.ClusterScoped = func(gk schema.GroupKind) (bool, bool) {
		k, ok := r.kinds.Preferred(gk)
		return !k.Namespaced, ok
	}
	if r.desc.Origin == source.OriginCluster {
		in.APIVersions = apiVersions(r.kinds)
	}
	x.result, x.err = render.Render(ctx, *in)
	return ctx.Err()
}

// apiVersions lists what a cluster serves as charts ask for it.
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

// contents reads the files of a bundle, its options and values, from the management cluster's own objects.
func (r *run) contents(ctx context.Context, d *inventory.Deployment) (render.Input, error) {
	spec := &d.BD.Spec
	in := render.Input{Options: spec.Options, ValuesHash: spec.ValuesHash, Commit: d.BD.Labels[fleet.CommitLabel], HelmOp: len(spec.HelmChartOptions) > 0}
	id, _, _ := strings.Cut(spec.DeploymentID, ":")
	switch {
	case in.HelmOp:
	case spec.OCIContents:
		in.Gaps = append(in.Gaps, "its contents are in an OCI registry")
	case id == "":
		in.Gaps = append(in.Gaps, "its BundleDeployment names no contents")
	default:
		var c v1alpha1.Content
		f, err := r.one(ctx, v1alpha1.Kind("Content"), "", id, &c)
		if err != nil {
			return in, err
		}
		if f == nil {
			if in.Resources, err = render.DecodeContent(&c); err != nil {
				in.Gaps = append(in.Gaps, err.Error())
			}
			break
		}
		if err := r.bundleResources(ctx, d, id, &in, *f); err != nil {
			return in, err
		}
	}
	err := r.values(ctx, d, &in)
	return in, err
}

// bundleResources takes the files from the Bundle where the Content cannot be read, if they are still the ones that were deployed.
func (r *run) bundleResources(ctx context.Context, d *inventory.Deployment, id string, in *render.Input, f source.Failure) error {
	namespace, name, _ := strings.Cut(d.Bundle, "/")
	var b v1alpha1.BundleContents
	bad, err := r.one(ctx, v1alpha1.Kind("Bundle"), namespace, name, &b)
	if err != nil {
		return err
	}
	if have, _, err := render.ManifestID(b.Spec.Resources); bad == nil && err == nil && have == id {
		in.Resources = b.Spec.Resources
		return nil
	}
	in.Gaps = append(in.Gaps, fmt.Sprintf("its contents, %s, could not be read: %s", id, f.Reason))
	return nil
}

// values reads the Secret in which newer Fleets keep a deployment's values, and what its valuesFrom name on this cluster.
func (r *run) values(ctx context.Context, d *inventory.Deployment, in *render.Input) error {
	if in.ValuesHash != "" {
		data, err := r.data(ctx, "Secret", d.Namespace, d.Name, "values")
		if err != nil {
			return err
		}
		in.Values = data
	}
	in.ValuesFrom = map[render.ValuesRef][]byte{}
	for _, ref := range render.ValuesRefs(&in.Options) {
		data, err := r.data(ctx, ref.Kind, ref.Namespace, ref.Name, ref.Key)
		if err != nil {
			return err
		}
		if data != nil {
			in.ValuesFrom[ref] = data
		}
	}
	return nil
}

// data reads one key of a ConfigMap or Secret; nil where it is not there, or may not be read. A Secret's is never to be shown.
func (r *run) data(ctx context.Context, kind, namespace, name, key string) ([]byte, error) {
	if kind == "ConfigMap" {
		var c struct {
			Data map[string]string `json:"data"`
		}
		f, err := r.one(ctx, secretKind.GroupVersion().WithKind(kind), namespace, name, &c)
		if v, ok := c.Data[key]; f == nil && err == nil && ok {
			return []byte(v), nil
		}
		return nil, err
	}
	var s struct {
		Data map[string][]byte `json:"data"`
	}
	f, err := r.one(ctx, secretKind, namespace, name, &s)
	if f != nil || err != nil {
		return nil, err
	}
	if v, ok := s.Data[key]; ok {
		r.hiding.Lock()
		r.secrets.AddPlain(string(v))
		r.hiding.Unlock()
		return v, nil
	}
	return nil, nil
}

// one reads one object by its name into v. Where it is not there, or may not be read, the failure says why.
func (r *run) one(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string, v any) (*source.Failure, error) {
	q := source.Query{Kind: gvk, FieldSelector: "metadata.name=" + name}
	if namespace != "" {
		q.Namespaces = []string{namespace}
	}
	var bad *source.Failure
	found := false
	cover, err := r.src.List(ctx, q, func(o source.Object) error {
		found = true
		if object.Into(o.Raw, v) != nil {
			bad = &source.Failure{Reason: source.ReadFailed, Detail: "it could not be decoded"}
		}
		return nil
	})
	if err != nil || found {
		return bad, err
	}
	if f, covered := cover.Of(namespace); !covered {
		return &f, nil
	}
	return &source.Failure{Reason: "NotFound"}, nil
}

// fleetMinor is in the tag of an image: "v0.14.3", or "v105.0.0-up0.12.0" as Rancher tags it.
var fleetMinor = regexp.MustCompile(`(?:^v?|up)0\.(\d+)\.`)

// olderThan says whether an image's tag is of a Fleet before 0.minor. Of one that says nothing it is not.
func olderThan(tag string, minor int) bool {
	m := fleetMinor.FindStringSubmatch(tag)
	if m == nil {
		return false
	}
	n, err := strconv.Atoi(m[1])
	return err == nil && n < minor
}
