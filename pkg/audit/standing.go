// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

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

// read is what the Standing read; nothing if it is nil.
func (s *Standing) read() collect.Before {
	if s == nil {
		return collect.Before{}
	}
	return collect.Before{Fleet: s.reading.Management, Records: s.records, Secrets: s.reading.Reader.Secrets}
}

// desired is the desired state; nil without a Standing.
func (s *Standing) desired() *desired.State {
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
	for _, x := range before.reading.Desired.Removals {
		changed[x.Record.Release()] = true // what is deleted is in its manifest
	}
	return out, r.readWhole(ctx, changed)
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
	observed, err := c.Reader.LiveOnly(ctx, e, objects)
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

// Remembered is evaluate.Evaluator.Remembered, for the desired objects.
func (s *Standing) Remembered(kind schema.GroupVersionKind) func(namespace, name, version string) bool {
	return s.clusters[0].current.Remembered(kind)
}

// Follows reports whether a change of an object that a query selects can be evaluated alone, with Change.
func (s *Standing) Follows(q source.Query) bool {
	if len(s.clusters) == 0 {
		return false
	}
	x := s.clusters[0].current
	_, desired := x.Kinds()[q.Kind]
	switch {
	case q.Kind.GroupKind() == evaluate.AutoscalerKind:
		return !q.MetadataOnly
	case desired:
		return !q.MetadataOnly && selectsKind(q)
	}
	return q.MetadataOnly && strings.HasPrefix(q.LabelSelector, fleet.HashLabel)
}

// selectsKind reports whether a query selects all objects of a kind; of Secrets, those that are no release records.
func selectsKind(q source.Query) bool {
	notRecords := q.Kind.Kind == "Secret" && strings.HasPrefix(q.FieldSelector, "type!=")
	return q.LabelSelector == "" && (q.FieldSelector == "" || notRecords)
}

// Change evaluates one object again; live is nil if it does not exist. It returns false if everything must be read
// again. Changes of the objects of one bundle deployment should follow each other: its release record is read for them.
func (s *Standing) Change(ctx context.Context, kind schema.GroupVersionKind, key object.Key, live *source.Object,
	now time.Time) (bool, error) {
	x := s.clusters[0].current
	s.changed = true
	if _, desired := x.Kinds()[kind]; !desired && kind.GroupKind() != evaluate.AutoscalerKind {
		var m *object.Meta
		if live != nil {
			var err error
			if m, err = live.ReadMeta(); err != nil {
				return false, err
			}
		}
		x.ChangeUndesired(key, m)
		return true, nil
	}
	ok, err := s.restore(ctx, key)
	if err != nil || !ok {
		return false, err
	}
	secret, err := x.Change(kind, key, live, now)
	s.reading.Reader.Secrets.AddSecret(secret)
	return err == nil && !s.needsAutoscalers(x), nil
}

// restore restores the manifests of the objects with a name, and drops others. It returns false if a record does not
// have them any more.
func (s *Standing) restore(ctx context.Context, key object.Key) (bool, error) {
	cluster := s.reading.Desired.On(s.reading.Desired.Clusters[0].ID)
	for _, o := range cluster.Of(key) {
		d := cluster.Deployment(o.Deployment)
		if o.Raw != nil || d.Problem != "" {
			continue
		}
		rec, err := s.reading.Reader.Record(ctx, d.Release)
		if err != nil {
			return false, err
		}
		if rec == nil || !d.Restore(rec, cluster.State.Namespaced) {
			return false, nil
		}
		if len(s.restored) >= maxRestored {
			s.drop()
		}
		s.restored = append(s.restored, d)
	}
	return true, nil
}

// maxRestored is the number of bundle deployments whose manifests are in memory at the same time.
const maxRestored = 2

// drop drops the manifests that were restored.
func (s *Standing) drop() {
	for _, d := range s.restored {
		d.DropManifests()
	}
	s.restored = nil
}

// Owner names the bundle deployment of an object, to bring changes into an order; empty if none desires it.
func (s *Standing) Owner(key object.Key) string {
	for _, o := range s.reading.Desired.On(s.reading.Desired.Clusters[0].ID).Of(key) {
		return o.Deployment.String()
	}
	return ""
}

func (s *Standing) needsAutoscalers(x *evaluate.Evaluation) bool {
	_, served := s.reading.Reader.Kinds.Preferred(evaluate.AutoscalerKind)
	return served && x.NeedsAutoscalers()
}

// Due returns the objects that must be evaluated again although no event reports a change of them, and the next time at
// which there can be more; zero if there is none.
func (s *Standing) Due(now time.Time) (due []*desired.Object, next time.Time) {
	if len(s.clusters) == 0 {
		return nil, time.Time{}
	}
	return s.clusters[0].current.Due(now)
}
