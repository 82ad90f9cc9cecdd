// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// start reads and evaluates everything. If keep is true, the evaluation can be changed later. What is the same as in an
// earlier Standing is taken from it; nil stands for none.
func start(ctx context.Context, src source.Source, o Options, keep bool, before *Standing) (*Standing, error) {
	r, err := readFleet(ctx, src, o, before.read())
	if err != nil {
		return nil, err
	}
	b, ofBackground := newBackground(ctx)
	defer b.stop()
	r.management(ofBackground, b)
	if err := r.readState(ctx); err != nil {
		return nil, err
	}
	if err := r.Found(); err != nil {
		return nil, err
	}
	if err := r.statedScope(); err != nil {
		return nil, err
	}
	r.namespaces(ofBackground, b)
	if err := r.SettleDisputes(ctx); err != nil {
		return nil, err
	}
	same, err := r.unchanged(ctx, before)
	if err != nil {
		return nil, err
	}
	scope, renderings, err := r.render(ctx)
	if err != nil {
		return nil, err
	}
	removals, err := r.removals(ctx)
	if err != nil {
		return nil, err
	}
	r.resolve(renderings, removals, before.desired(), same)
	found, scope, err := r.find(scope)
	if err != nil {
		return nil, err
	}
	out := &Standing{reading: r, scope: r.Desired.Select(scope), found: found, keep: keep}
	if keep {
		out.records = r.States[0].InBrief()
	}
	r.States, r.Reader.Before = nil, collect.Before{} // release the objects of every revision
	r.hide(b)
	if err := out.evaluate(ctx, b, before); err != nil {
		return nil, err
	}
	return out, nil
}

// maxRenewals is how often an evaluation is renewed before everything is evaluated again: the values that must not be
// shown are only added to.
const maxRenewals = 1000

// renewed are the Secrets that Renew reads again.
var renewed = []string{"type=" + release.SecretType, "type=" + values.BundleType, "type=" + values.DeploymentType}

// Renews reports whether Renew reads again what a query selects: Fleet's objects, release records and values Secrets,
// and who did something.
func (s *Standing) Renews(q source.Query) bool {
	secrets := q.Kind.Kind == "Secret" && q.Kind.Group == "" && slices.Contains(renewed, q.FieldSelector)
	return secrets || q.Kind.Group == v1alpha1.GroupVersion.Group || journal.Selects(q)
}

// Renew reads these again, and evaluates the bundle deployments again of which they changed. It returns nil if more
// changed: everything must be evaluated again then. s must not be used any more.
func (s *Standing) Renew(ctx context.Context) (*Standing, error) {
	r := s.reading
	renewable := len(s.clusters) == 1 && r.options.Memory != nil && r.options.Server == nil
	if !renewable || s.renewals == maxRenewals || len(s.clusters[0].evaluated.Gaps) > 0 {
		return nil, nil
	}
	s.drop()
	out, err := start(ctx, r.Reader.Source, r.options, true, s)
	if errors.Is(err, errMore) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if out.needsAutoscalers(out.clusters[0].current) {
		return nil, nil
	}
	out.renewals = s.renewals + 1
	return out, nil
}

// Start reads and evaluates everything, and keeps what later changes need. Options.Clusters must not be set.
func Start(ctx context.Context, src source.Source, o Options) (*Standing, error) {
	if o.Memory == nil {
		return start(ctx, src, o, true, nil)
	}
	o.Memory.evaluated.Begin()
	s, err := start(ctx, src, o, true, nil)
	if err == nil {
		o.Memory.evaluated.End()
	}
	return s, err
}
