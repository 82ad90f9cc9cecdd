// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// confirmReleases asks whether the releases of bundle deployments have changed whose objects are missing, modified or
// not desired. Helm stores the record of a new revision before it changes objects. If the newest revision is still the
// one of the desired objects, no upgrade explains the result. Neither does a revision that Fleet's agent did not make:
// that one is over. A snapshot without a manifest may lack records.
func (c ReadCluster) confirmReleases(ctx context.Context, cluster *directory.Cluster, x *evaluate.Evaluation) error {
	if c.Reader.Description.Partial() {
		return nil
	}
	newest := cluster.State.Latest
	rollouts := map[object.DeploymentID]evaluate.Rollout{}
	asked := map[object.DeploymentID][]settle.Question{}
	var all []settle.Question
	for _, d := range x.PossiblyChanged() {
		rec := newest[d.Release.Release()]
		switch {
		case rec == nil:
			rollouts[d.ID()] = evaluate.Rollout{Changed: true}
			continue
		case rec.Revision > d.Release.Revision && !d.ByHand(rec):
			rollouts[d.ID()] = evaluate.Rollout{Next: d.Next}
		}
		status := rec.Status
		if rec.Damaged != "" {
			status = ""
		}
		asked[d.ID()] = settle.Newest(cluster.ID, rec.Name, status)
		all = append(all, asked[d.ID()]...)
	}
	if c.Reader.Description.Origin == source.OriginCluster {
		answers, err := settle.Ask(ctx, c.Reader.Source, all)
		if err != nil {
			return err
		}
		for id, questions := range asked {
			if !answers.Hold(questions) {
				rollouts[id] = evaluate.Rollout{Changed: true}
			}
		}
	}
	x.Upgraded(rollouts)
	return nil
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
	return r.Reader.Controllers(ctx, &rest.fleet)
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
		FromRelease: o.Desired == "" || o.Desired == DesiredRelease, Source: r.Reader.Described(),
		Gaps: slices.Clip(r.Gaps), Notes: slices.Concat(r.Reader.Description.Notes, r.notes, r.Desired.Notes)}
	for i, c := range r.Desired.Clusters {
		out.Notes = append(out.Notes, c.Notes...)
		if i > 0 {
			source := evaluate.ClusterSource{Name: r.Clusters[i].Name, Source: r.Clusters[i].Reader.Description,
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
		if err := c.Reader.Accounts(ctx, scope); err != nil {
			return standingCluster{}, err
		}
	}
	e := evaluate.New(r.Desired.On(r.Desired.Clusters[i].ID), scope, evaluate.Options{Now: c.Reader.Description.TakenAt,
		Predict: o.Predict, Masked: c.Reader.Description.Unmasked != nil, Memory: o.Memory.objects()})
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
		answers, err := c.Reader.Ask(ctx, e, server, o.ServerCheck, questions)
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
func (r *Reading) live(ctx context.Context, c ReadCluster, e *evaluate.Evaluator,
	before *Standing) (*evaluate.Evaluation, error) {
	if before != nil {
		return before.resume(ctx, c, e)
	}
	o := r.options
	drop := !o.Predict && !o.KeepManifests && o.ServerCheck != collect.CheckAlways
	observed, err := c.Reader.Live(ctx, e, collect.LiveOptions{Whole: o.Scope.Whole(),
		Search: len(r.Desired.Deployments) > 0, Drop: drop, Small: o.Memory != nil})
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
