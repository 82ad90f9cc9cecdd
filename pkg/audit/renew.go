// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// maxRenewals is how often an evaluation is renewed before everything is evaluated again: the values that must not be
// shown are only added to.
const maxRenewals = 1000

// errMore means that more changed than single bundle deployments.
var errMore = errors.New("more changed than single bundle deployments")

// Renews reports whether Renew reads again what a query selects: Fleet's objects and release records.
func (s *Standing) Renews(q source.Query) bool {
	records := q.Kind.Kind == "Secret" && q.Kind.Group == "" && q.FieldSelector == "type="+release.SecretType
	return records || q.Kind.Group == v1alpha1.GroupVersion.Group
}

// Renew reads Fleet's objects and the release records again, and evaluates the bundle deployments again of which they
// changed. It returns nil if more changed: everything must be evaluated again then. s must not be used any more.
func (s *Standing) Renew(ctx context.Context) (*Standing, error) {
	r := s.reading
	renewable := len(s.clusters) == 1 && r.options.Memory != nil && r.options.Server == nil
	if !renewable || s.renewals == maxRenewals || len(s.clusters[0].evaluated.Gaps) > 0 {
		return nil, nil
	}
	s.drop()
	out, err := start(ctx, r.Source, r.options, true, s)
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

// read is what the Standing read; nothing if it is nil.
func (s *Standing) read() collect.Before {
	if s == nil {
		return collect.Before{}
	}
	return collect.Before{Fleet: s.reading.Management, Records: s.records, Secrets: s.reading.Secrets}
}

// desired is the desired state; nil without a Standing.
func (s *Standing) desired() *desired.DesiredState {
	if s == nil {
		return nil
	}
	return s.reading.Desired
}

// unchanged returns the bundle deployments whose objects, and all that decides about them, are as in an earlier
// Standing. It reads the release records of the others whole. The error is errMore if more changed.
func (r *Reading) unchanged(ctx context.Context, before *Standing) (map[object.DeploymentID]bool, error) {
	if before == nil {
		return nil, nil
	}
	was, is := before.reading.Directory, r.Directory
	sameIDs := slices.EqualFunc(was.Deployments, is.Deployments, func(a, b *directory.Deployment) bool {
		return a.ID() == b.ID()
	})
	if !sameIDs || len(is.Clusters) != 1 || !is.Clusters[0].Same(was.Clusters[0]) {
		return nil, errMore
	}
	changed := r.States[0].Changed(before.records)
	out := map[object.DeploymentID]bool{}
	for i, d := range is.Deployments {
		old := was.Deployments[i]
		switch {
		case d.AsOwner() != old.AsOwner():
			return nil, errMore // the objects of others may be those of this set
		case d.SameButStatus(old) && !changed[d.Release.Release()]:
			out[d.ID()] = true
		default:
			changed[d.Release.Release()] = true
		}
	}
	for _, rec := range is.Clusters[0].Leftovers {
		changed[rec.Release()] = true // what their removal deletes is in the manifests
	}
	return out, r.readWhole(ctx, changed)
}

// readWhole reads those records of releases whole of which only the brief form is known.
func (r *Reading) readWhole(ctx context.Context, releases map[string]bool) error {
	for name, rec := range r.States[0].Records {
		if !rec.Brief || !releases[name.Release()] {
			continue
		}
		whole, err := r.Record(ctx, name)
		switch {
		case err != nil:
			return err
		case whole == nil || whole.Version != rec.Version:
			return errMore // it changed in the meantime
		}
		r.States[0].Complete(whole)
	}
	return nil
}

// resume evaluates the bundle deployments that changed since an earlier evaluation.
func (s *Standing) resume(ctx context.Context, c ReadCluster, e *evaluate.Evaluator) (*evaluate.Evaluation, error) {
	before := s.clusters[0].current
	changed := before.Changed(e)
	objects := map[schema.GroupVersionKind][]*desired.Object{}
	var keys []object.Key
	for id := range changed {
		for _, o := range slices.Concat(s.reading.Desired.Deployment(id).Desired, e.Desired(id)) {
			gvk := o.GroupVersionKind()
			objects[gvk], keys = append(objects[gvk], o), append(keys, o.Key())
		}
	}
	for gvk := range e.Kinds() {
		if len(before.Kinds()[gvk]) == 0 {
			return nil, errMore // objects of the kind were not read
		}
	}
	for gvk := range before.Kinds() {
		if len(e.Kinds()[gvk]) == 0 {
			return nil, errMore // other objects of the kind were read than are needed now
		}
	}
	observed, err := c.LiveOnly(ctx, e, objects)
	if err != nil {
		return nil, err
	}
	for _, l := range observed.Lists {
		if !l.Coverage.Whole() {
			return nil, errMore
		}
	}
	return e.Resume(before, changed, keys, observed), nil
}
