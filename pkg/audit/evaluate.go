// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// render returns the bundle deployments that are audited, and those of their bundles that the options request,
// rendered.
func (r *Reading) render(ctx context.Context) ([]object.DeploymentID, []*desired.Rendering, error) {
	bundles, err := r.bundles()
	if err != nil {
		return nil, nil, err
	}
	scope := make([]object.DeploymentID, len(bundles))
	for i, b := range bundles {
		scope[i] = b.Deployment.ID()
	}
	bundles = slices.DeleteFunc(bundles, func(b collect.Bundle) bool { return b.Target == nil })
	if r.options.Predict {
		bundles = append(bundles, r.competitors(scope)...)
	}
	if len(bundles) == 0 {
		return scope, nil, nil
	}
	renderer := cmp.Or[collect.Renderer](r.options.Renderer, collect.InProcess{})
	renderings, err := r.Render(ctx, renderer, bundles)
	return scope, renderings, err
}

// bundles returns the bundles in scope. One that is not rendered has no Target.
func (r *Reading) bundles() ([]collect.Bundle, error) {
	if r.options.Desired == DesiredFiles {
		return r.bundlesOfFiles()
	}
	scope, err := r.scope()
	var out []collect.Bundle
	for _, d := range scope {
		b := collect.Bundle{Deployment: d}
		if r.renders(d) {
			b = r.bundle(d)
		}
		out = append(out, b)
	}
	return out, err
}

// renders reports whether the options request the objects of the bundle of a deployment.
func (r *Reading) renders(d *directory.Deployment) bool {
	if d.BD == nil || d.Agent == "" {
		return false
	}
	switch r.options.Desired {
	case DesiredBundle:
		return true
	case DesiredAuto:
		return d.Problem == directory.NoReleaseRecord
	}
	return false
}

// renderingGaps returns the gaps of the bundles that were rendered. The gap of a bundle out of scope matters only if it
// desires an object of a bundle in scope, or if it may desire one, because none of its objects is known.
func renderingGaps(wanted *desired.DesiredState, scope []*desired.BundleDeployment) []source.Gap {
	var out []source.Gap
	inScope := func(o *desired.Object) bool { return slices.Contains(scope, wanted.Deployment(o.Deployment)) }
	for _, d := range wanted.Deployments {
		shared := func(o *desired.Object) bool {
			return slices.ContainsFunc(wanted.On(d.ClusterID).Of(o.Key()),
				inScope)
		}
		x := &d.Rendering
		inQuestion := len(scope) == 0 || slices.Contains(scope, d)
		mayShare := x.CompetitorOnly && len(x.Objects) == 0 || slices.ContainsFunc(d.Desired, shared)
		if inQuestion || mayShare {
			out = append(out, x.Gaps...)
		}
	}
	return out
}

// competitors returns the bundle deployments out of scope that are not installed yet. They must be rendered, because an
// object that one of them desires is contested, whatever the scope is. One that names no contents desires nothing yet.
func (r *Reading) competitors(scope []object.DeploymentID) []collect.Bundle {
	var out []collect.Bundle
	for _, d := range r.Directory.Deployments {
		if d.BD == nil || d.BD.Spec.DeploymentID == "" {
			continue
		}
		if d.Problem == directory.NoReleaseRecord && !slices.Contains(scope, d.ID()) {
			b := r.bundle(d)
			b.CompetitorOnly = true
			out = append(out, b)
		}
	}
	return out
}

// bundle returns a bundle to render.
func (r *Reading) bundle(d *directory.Deployment) collect.Bundle {
	i := r.Directory.IndexOf(d)
	return collect.Bundle{Deployment: d, Target: r.Clusters[i].Reader, Latest: r.Directory.Clusters[i].State.Latest,
		Staged: r.options.Staged}
}

// Standing is an audit of one cluster that is kept current: when one of its objects changes, only this object is
// evaluated again. Anything else that changes needs a new Start. It is not safe for concurrent use.
type Standing struct {
	reading *Reading
	scope   []*desired.BundleDeployment
	found   []*evaluate.Found
	rest    *rest
	// records are all release records in brief, if the evaluations are kept.
	records map[release.Name]*state.Record
	// renewals counts how often it was renewed since everything was evaluated.
	renewals int
	clusters []standingCluster
	// keep is true if the evaluations are kept, changed if they have changed since the last result.
	keep, changed bool
	// restored are the bundle deployments whose manifests were read again.
	restored []*desired.BundleDeployment
}

// standingCluster is the evaluation of one cluster. current is nil if it is not kept.
type standingCluster struct {
	evaluated evaluate.Evaluated
	current   *evaluate.Evaluation
}

// evaluate reads the live objects and evaluates them. It also waits for the background.
func (s *Standing) evaluate(ctx context.Context, b *background, before *Standing) error {
	r, o := s.reading, s.reading.options
	r.Gaps = append(r.Gaps, renderingGaps(r.Desired, s.scope)...)
	if !o.StatusOnly {
		s.clusters = make([]standingCluster, len(r.Clusters))
		if err := Each(ctx, r.Clusters, func(ctx context.Context, i int) (err error) {
			s.clusters[i], err = r.evaluateCluster(ctx, i, s.scope, before)
			if !s.keep {
				s.clusters[i].current = nil
			}
			return err
		}); err != nil {
			return err
		}
	}
	rest, err := b.wait(r.Management)
	if err != nil {
		return err
	}
	s.rest = rest
	r.Gaps = slices.Concat(r.Gaps, rest.gaps, r.stateGaps(placed(s.scope)))
	return r.Controllers(ctx, &rest.fleet)
}

// result returns the present result.
func (s *Standing) result(ctx context.Context) (*evaluate.Result, error) {
	r, o := s.reading, s.reading.options
	clusters := make([]evaluate.Evaluated, len(s.clusters))
	for i, c := range s.clusters {
		clusters[i] = c.evaluated
	}
	deployments := evaluate.InOrder(s.scope, clusters)
	copies, unread, err := r.copies(ctx, deployments)
	if err != nil {
		return nil, err
	}
	desired := r.Desired.WithFleet(&s.rest.fleet).WithEvidence(evaluate.EvidenceOf(deployments))
	out := evaluate.Result{Desired: desired, Namespaces: s.rest.namespaces,
		Deployments: deployments, Copies: copies, Scope: o.Scope,
		Whole: o.Scope.Whole() && o.Files == nil, StatusOnly: o.StatusOnly,
		FromRelease: o.Desired == "" || o.Desired == DesiredRelease, Source: r.Described(),
		Gaps: slices.Clip(r.Gaps), Notes: slices.Concat(r.Description.Notes, r.notes, r.Desired.Notes)}
	for i, c := range r.Desired.Clusters {
		out.Notes = append(out.Notes, c.Notes...)
		if i > 0 {
			source := evaluate.ClusterSource{Name: r.Clusters[i].Name, Source: r.Clusters[i].Description,
				ClusterID: c.ID}
			out.Clusters = append(out.Clusters, source)
		}
	}
	if o.StatusOnly {
		out.Notes = append(out.Notes,
			"only the status that Fleet reports was checked (--status-only): no object was evaluated")
	}
	for _, c := range clusters {
		out.Undesired, out.Gaps = append(out.Undesired, c.Undesired...), append(out.Gaps, c.Gaps...)
	}
	out.Gaps = append(out.Gaps, unread...)
	if !slices.ContainsFunc(deployments, func(d *evaluate.BundleDeployment) bool { return d.State != evaluate.Ready }) {
		out.Notes = append(out.Notes, notPolled(&out)...)
	}
	return evaluate.NewResult(out), nil
}

// notPolled says of the GitRepos that somebody asked for that Fleet does not poll them.
func notPolled(r *evaluate.Result) []string {
	var out []string
	for _, g := range r.Desired.GitRepos {
		if !r.Whole && g.Spec.DisablePolling && r.Includes(state.GitRepo, g) {
			out = append(out, "GitRepo "+g.Namespace+"/"+g.Name+" has spec.disablePolling: Fleet does not look for "+
				"new commits. A webhook that announces one, or a change of the spec, makes it read the repository")
		}
	}
	return out
}

// placed returns the bundle deployments without their desired objects.
func placed(scope []*desired.BundleDeployment) []*directory.Deployment {
	var out []*directory.Deployment
	for _, d := range scope {
		out = append(out, &d.Deployment)
	}
	return out
}

// evaluateCluster reads the live objects of a cluster and evaluates them.
func (r *Reading) evaluateCluster(ctx context.Context, i int, scope []*desired.BundleDeployment,
	before *Standing) (standingCluster, error) {
	o, c := r.options, r.Clusters[i]
	if o.Predict {
		if err := c.Accounts(ctx, scope); err != nil {
			return standingCluster{}, err
		}
	}
	e := evaluate.New(r.Desired.On(r.Desired.Clusters[i].ID), scope, evaluate.Options{Now: c.Description.TakenAt,
		Predict: o.Predict, Masked: c.Description.Unmasked != nil, Memory: o.Memory.objects()})
	drop := !o.Predict && !o.KeepManifests
	x, err := r.live(ctx, c, e, before)
	if err != nil {
		return standingCluster{}, err
	}
	if server := c.server(o); server != nil && o.ServerCheck != collect.CheckNever {
		questions := evaluate.Questions(x.Deployments(), o.ServerCheck == collect.CheckAlways)
		if o.Predict {
			questions = evaluate.Trials(x.Deployments())
		}
		answers, err := c.Ask(ctx, e, server, o.ServerCheck, questions)
		if err != nil {
			return standingCluster{}, err
		}
		x.Answered(answers)
	}
	out := standingCluster{current: x}
	if out.evaluated, err = r.confirmed(ctx, i, x); err != nil {
		return standingCluster{}, err
	}
	if drop {
		r.Desired.DropManifests(r.Desired.Clusters[i].ID)
	}
	return out, nil
}

// live reads the live objects of a cluster and evaluates them. With an earlier evaluation, it reads those of the bundle
// deployments that changed.
func (r *Reading) live(ctx context.Context, c ReadCluster, e *evaluate.Evaluator, before *Standing) (*evaluate.Evaluation,
	error) {
	if before != nil {
		return before.resume(ctx, c, e)
	}
	o := r.options
	drop := !o.Predict && !o.KeepManifests && o.ServerCheck != collect.CheckAlways
	observed, err := c.Live(ctx, e, collect.LiveOptions{Whole: o.Scope.Whole(), Search: len(r.Desired.Deployments) > 0,
		Drop: drop, Small: o.Memory != nil})
	if err != nil {
		return nil, err
	}
	return e.Evaluate(observed), nil
}

// confirmed returns the evaluation of a cluster, without what a change of its releases explains.
func (r *Reading) confirmed(ctx context.Context, i int, x *evaluate.Evaluation) (evaluate.Evaluated, error) {
	c := r.Clusters[i]
	if err := c.confirmReleases(ctx, r.Desired.Clusters[i], x); err != nil {
		return evaluate.Evaluated{}, err
	}
	out := x.Evaluated()
	out.Gaps = c.Named(slices.Clone(out.Gaps))
	return out, nil
}
