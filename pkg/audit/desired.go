// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
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
	// missing are the texts with values that are provably not on the cluster.
	missing []render.ValuesRef
	// rival says that it is not audited: only who wants what it wants is asked.
	rival  bool
	result *render.Result
	err    error // of type *render.Error or *render.ClusterScopedError: what the agent would refuse
}

const (
	// atOnce bounds how many bundles are rendered at the same time: each may unpack to 64 MiB.
	atOnce = 2
	// inBatch is how many bundles are rendered before the inventory takes over what they came to.
	inBatch = 8
	// maxRendered bounds, in bytes, what all bundles of an audit may be rendered to.
	maxRendered = 512 << 20
)

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
		x := &rendering{deployment: d, input: *r.Files}
		d.Given = &x.input.Options
		todo = []*rendering{x}
	case DesiredAuto, DesiredBundle:
		for _, d := range scoped {
			if d.BD != nil && d.Agent != "" && (r.Desired == DesiredBundle || d.Problem == inventory.NoReleaseRecord) {
				todo = append(todo, &rendering{deployment: d})
			}
		}
	}
	if r.Foresee {
		todo = append(todo, r.rivals(scoped)...)
	}
	if len(todo) == 0 {
		return scoped, nil
	}
	r.counter.start("rendering bundles")
	for batch := range slices.Chunk(todo, inBatch) {
		g, rendering := errgroup.WithContext(ctx)
		g.SetLimit(atOnce)
		for _, x := range batch {
			g.Go(func() error { return r.render(rendering, x) })
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		for _, x := range batch {
			r.within(x)
			r.rendered(x)
			x.result, x.input.Resources, x.input.Values, x.input.ValuesFrom = nil, nil, nil, nil // done with: memory must not grow with them
		}
	}
	r.hideStated()
	return scoped, nil
}

// within takes what a bundle came to into account, and leaves it out where that is over a bound. What is over a bound is a gap: Fleet's agent
// may well deploy it.
func (r *run) within(x *rendering) {
	left := func(what string) {
		x.result, x.err = &render.Result{Gaps: []string{what}}, nil
		if d := x.deployment; d.Problem != "" {
			d.Detail = "what its bundle states is not known: " + what
		}
	}
	var limit *render.LimitError
	switch {
	case errors.As(x.err, &limit):
		left("it could not be rendered: " + limit.Detail())
		return
	case x.err != nil:
		return
	}
	size := 0
	for _, o := range x.result.Objects {
		size += len(o.Raw)
	}
	if r.rendering+size > maxRendered {
		left("it is left out: with it, the rendered bundles come to more than 512 MiB")
		return
	}
	r.rendering += size
}

// rivals are the deployments out of scope that are not installed yet. What they want nothing but their contents says, and an object that one
// of them wants is contested, however narrow the scope is.
func (r *run) rivals(scoped []*inventory.Deployment) []*rendering {
	var out []*rendering
	for _, d := range r.inv.Deployments {
		if d.BD != nil && d.Problem == inventory.NoReleaseRecord && !slices.Contains(scoped, d) {
			out = append(out, &rendering{deployment: d, rival: true})
		}
	}
	return out
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
		scope := r.inv.NewBundleScope()
		if scope.Evidence == "" {
			r.inv.Notes = append(r.inv.Notes, fmt.Sprintf("the set id of bundle %s is made without a scope: which agent would deploy it is not known", r.Files.Name))
		}
		d := &inventory.Deployment{Name: r.Files.Name, Problem: inventory.NoReleaseRecord, Detail: "nothing is installed yet", Scope: scope,
			Ownership: ownership.Desired(fleet.SetID(r.Files.Name, scope.Scope), "", "")}
		r.inv.Add(d)
		return d, nil
	}
	return nil, fmt.Errorf("finding bundle %s: %d deployments on this cluster have that name", r.Files.Name, len(found))
}

// rendered takes over what a bundle came to, and says what is missing from it.
func (r *run) rendered(x *rendering) {
	d := x.deployment
	what := "rendering bundle " + d.Name
	instead := "it has no result"
	if x.err != nil && d.From == inventory.FromRelease {
		instead = "its release record is taken in its place"
	}
	if x.rival {
		instead = "who else wants its objects is not known"
	}
	if x.err != nil {
		d.Refused = strings.TrimPrefix(x.err.Error(), what+": ")
		effect := "Fleet's agent would refuse it as well; " + instead
		if refused := (*render.ClusterScopedError)(nil); errors.As(x.err, &refused) {
			effect, d.Scoped = "every deploy of it fails; "+instead, refused.Objects
		}
		if x.rival {
			effect = instead
		}
		r.gap(what, source.Failure{Reason: "RenderFailed", Detail: d.Refused}, effect)
		if d.Problem != "" {
			d.Detail = "its bundle cannot be rendered: " + d.Refused
		}
		return
	}
	effect := "its objects are those that can be made without it"
	if len(x.result.Objects) == 0 || x.rival {
		effect = instead
	}
	for _, g := range x.result.Gaps {
		r.gap(what, source.Failure{Reason: "NotResolved", Detail: g}, effect)
	}
	d.Lacking = x.result.Gaps
	for _, ref := range x.missing {
		d.ValuesMissing = append(d.ValuesMissing, ref.String())
	}
	for _, n := range x.result.Notes {
		if x.rival {
			break // of what is not audited nothing is said
		}
		r.inv.Notes = append(r.inv.Notes, "bundle "+d.Name+": "+n)
	}
	if len(x.result.Objects) == 0 && len(x.result.Gaps) > 0 {
		x.noResult()
		return
	}
	from := inventory.FromBundle
	if d.Given != nil {
		from = inventory.FromFiles
	}
	for _, o := range x.result.Hooks {
		if isSecret(o.Ref) {
			r.inv.Secrets = append(r.inv.Secrets, o.Raw)
		}
	}
	unstable := map[object.Ref][]string{}
	for _, u := range x.result.Unstable {
		unstable[u.Object] = append(unstable[u.Object], u.Pointers...)
	}
	r.inv.Render(d, inventory.Rendering{From: from, ReleaseName: x.result.ReleaseName, ReleaseNamespace: x.result.ReleaseNamespace,
		Objects: x.result.Objects, Unstable: unstable, RecordSize: x.result.RecordSize})
}

// noResult takes the release record of a bundle that could not be rendered out of its place: what is asked for is what the bundle states. That
// the record claims its objects stays known.
func (x *rendering) noResult() {
	if d := x.deployment; !x.rival && d.Problem == "" {
		d.Problem, d.Detail = inventory.RecordsFailed, "what its bundle states is not known: "+x.result.Gaps[0]
		d.From, d.Desired = "", nil
	}
}

// render reads what a deployment's bundle is made of, and renders it.
func (r *run) render(ctx context.Context, x *rendering) error {
	d := x.deployment
	if d.Given == nil {
		in, err := r.contents(ctx, d)
		if err != nil {
			return err
		}
		x.input = in
	}
	in := &x.input
	if err := r.valuesFrom(ctx, x); err != nil {
		return err
	}
	in.Name, in.SetID, in.KubeVersion, in.Now, in.Revision = d.Name, d.Ownership.SetID, r.desc.KubernetesVersion, r.now, revision(d)
	version, known := fleet.ParseVersion(r.inv.Versions[r.inv.AgentOf(d)])
	in.Helm3 = known && version.Minor < 15
	in.ClusterScoped = clusterScoped(r.kinds)
	if r.desc.Origin == source.OriginCluster {
		in.APIVersions = apiVersions(r.kinds)
	}
	x.result, x.err = r.Renderer.Render(ctx, *in)
	return fatal(ctx, x.err)
}

// fatal returns the errors of a rendering that are no finding about the bundle.
func fatal(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil, errors.As(err, new(*render.Error)), errors.As(err, new(*render.ClusterScopedError)), errors.As(err, new(*render.LimitError)):
		return nil
	}
	return err
}

// inProcess is the Renderer of an audit that was given none.
type inProcess struct{}

func (inProcess) Render(ctx context.Context, in render.Input) (*render.Result, error) {
	return render.Render(ctx, in)
}

// revision is that of the release which a deployment's bundle is rendered for: the one that is there where it is of these contents, else the
// next one.
func revision(d *inventory.Deployment) int {
	if d.BD != nil && d.Given == nil && d.BD.Spec.DeploymentID == d.BD.Status.AppliedDeploymentID {
		return d.Release.Revision
	}
	return d.Release.Revision + 1
}
