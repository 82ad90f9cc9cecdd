// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

// render replaces the desired objects of bundle deployments by those of their rendered bundles, if the options request it.
func (r *reading) render(ctx context.Context) error {
	scope, err := r.scope()
	if err != nil {
		return err
	}
	var bundles []collect.Bundle
	for _, d := range scope {
		switch r.options.Desired {
		case DesiredFiles:
			bundles = append(bundles, r.bundleOfFiles(d))
		case DesiredAuto, DesiredBundle:
			if d.BD != nil && d.Agent != "" && (r.options.Desired == DesiredBundle || d.Problem == resolve.NoReleaseRecord) {
				bundles = append(bundles, r.bundle(d))
			}
		}
	}
	if r.options.Predict {
		bundles = append(bundles, r.competitors(scope)...)
	}
	if len(bundles) == 0 {
		return nil
	}
	renderer := cmp.Or[collect.Renderer](r.options.Renderer, collect.InProcess{})
	if r.input.Renderings, err = r.Render(ctx, renderer, bundles); err != nil {
		return err
	}
	r.resolve()
	return r.renderingGaps()
}

// renderingGaps adds the gaps of the bundles that were rendered. The gap of a bundle out of scope matters only if none
// of its objects is known, or if it desires an object of a bundle in scope.
func (r *reading) renderingGaps() error {
	scope, err := r.scope()
	if err != nil {
		return err
	}
	inScope := func(o *resolve.Object) bool { return slices.Contains(scope, o.Deployment) }
	for _, d := range r.desired.Deployments {
		shared := func(o *resolve.Object) bool { return slices.ContainsFunc(d.On.Claims.Of(o.Key()), inScope) }
		x := &d.Rendering
		if x.CompetitorOnly && len(x.Objects) > 0 && !slices.ContainsFunc(d.Desired, shared) {
			continue
		}
		r.gaps = append(r.gaps, x.Gaps...)
	}
	return nil
}

// competitors returns the bundle deployments out of scope that are not installed yet. They must be rendered, because an object that one of them
// desires is contested, whatever the scope is.
func (r *reading) competitors(scope []*resolve.BundleDeployment) []collect.Bundle {
	var out []collect.Bundle
	for _, d := range r.desired.Deployments {
		if d.BD != nil && d.Problem == resolve.NoReleaseRecord && !slices.Contains(scope, d) {
			b := r.bundle(d)
			b.CompetitorOnly = true
			out = append(out, b)
		}
	}
	return out
}

// bundle returns a bundle of the management cluster to render.
func (r *reading) bundle(d *resolve.BundleDeployment) collect.Bundle {
	i := slices.Index(r.desired.Clusters, d.On)
	return collect.Bundle{Deployment: d, Cluster: i, Target: r.clusters[i].Reader}
}

// evaluate reads the live objects and evaluates them. It also waits for the background.
func (r *reading) evaluate(ctx context.Context, b *background) (*evaluate.Result, error) {
	o := r.options
	scope, err := r.scope()
	if err != nil {
		return nil, err
	}
	var clusters []evaluate.Evaluated
	if !o.StatusOnly {
		clusters = make([]evaluate.Evaluated, len(r.clusters))
		if err := each(ctx, r.clusters, func(ctx context.Context, i int) (err error) {
			clusters[i], err = r.evaluateCluster(ctx, i, scope)
			return err
		}); err != nil {
			return nil, err
		}
	}
	if err := b.wait(); err != nil {
		return nil, err
	}
	r.gaps = append(r.gaps, r.stateGaps(scope)...)
	if err := r.controllers(ctx); err != nil {
		return nil, err
	}
	out := &evaluate.Result{Desired: r.desired, Scope: o.Scope, Whole: o.Scope.Whole() && o.Files == nil, StatusOnly: o.StatusOnly,
		FromRelease: o.Desired == "" || o.Desired == DesiredRelease, Source: r.Described(), Gaps: r.gaps, Notes: slices.Concat(r.Description.Notes, r.notes)}
	for i, c := range r.desired.Clusters {
		out.Notes = append(out.Notes, c.Notes...)
		if i > 0 {
			out.Clusters = append(out.Clusters, evaluate.ClusterSource{Name: r.clusters[i].Name, Source: r.clusters[i].Description, On: c})
		}
	}
	if o.StatusOnly {
		out.Notes = append(out.Notes, "only the status that Fleet reports was checked (--status-only): no object was evaluated")
	}
	out.Complete(scope, clusters)
	return out, nil
}

// evaluateCluster reads the live objects of a cluster and evaluates them.
func (r *reading) evaluateCluster(ctx context.Context, i int, scope []*resolve.BundleDeployment) (evaluate.Evaluated, error) {
	o, c := r.options, r.clusters[i]
	e := evaluate.New(r.desired.Clusters[i], scope, evaluate.Options{Now: c.Description.TakenAt, Predict: o.Predict,
		Masked: c.Description.Unmasked != nil})
	observed, err := c.Live(ctx, e, collect.LiveOptions{Whole: o.Scope.Whole(), Search: len(r.desired.Deployments) > 0})
	if err != nil {
		return evaluate.Evaluated{}, err
	}
	out := e.Evaluate(observed)
	if server := c.server(o); server != nil && o.ServerCheck != collect.CheckNever {
		questions := evaluate.Questions(out.Deployments, o.ServerCheck == collect.CheckAlways)
		if observed.Answers, err = c.Ask(ctx, e, server, o.ServerCheck, questions); err != nil {
			return evaluate.Evaluated{}, err
		}
		out = e.Evaluate(observed)
	}
	out.Gaps = c.named(out.Gaps)
	err = c.confirmReleases(ctx, r.desired.Clusters[i], &out)
	return out, err
}
