// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Start reads and evaluates everything, and keeps what later changes need. Options.Clusters must not be set.
func Start(ctx context.Context, src source.Source, o Options) (*Standing, error) {
	if o.Memory == nil {
		return start(ctx, src, o, true)
	}
	o.Memory.evaluated.Begin()
	s, err := start(ctx, src, o, true)
	if err == nil {
		o.Memory.evaluated.End()
	}
	return s, err
}

// Remembered is evaluate.Evaluator.Remembered, for the desired objects.
func (s *Standing) Remembered(kind schema.GroupVersionKind) func(namespace, name, version string) bool {
	return s.clusters[0].current.Remembered(kind)
}

// Audit returns the present result with its findings, as of now. hold selects the findings that are certain.
func (s *Standing) Audit(ctx context.Context, now time.Time, hold func([]check.Finding) []check.Finding) (*Audit,
	error) {
	s.drop()
	s.reading.Description.TakenAt = now
	for i := range s.clusters {
		s.reading.Clusters[i].Description.TakenAt = now
		if s.changed {
			var err error
			if s.clusters[i].evaluated, err = s.reading.confirmed(ctx, i, s.clusters[i].current); err != nil {
				return nil, err
			}
		}
	}
	s.changed = false
	return s.finish(ctx, hold)
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
				return false, nil
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
	s.reading.Secrets.AddSecret(secret)
	return err == nil && !s.needsAutoscalers(x), nil
}

// restore restores the manifests of the objects with a name, and drops others. It returns false if a record does not
// have them any more.
func (s *Standing) restore(ctx context.Context, key object.Key) (bool, error) {
	on := s.reading.Desired.On(s.reading.Desired.Clusters[0].ID)
	for _, o := range on.Of(key) {
		d := on.Deployment(o.Deployment)
		if o.Raw != nil || d.Problem != "" {
			continue
		}
		rec, err := s.reading.Record(ctx, d.Release)
		if err != nil {
			return false, err
		}
		if rec == nil || !d.Restore(rec, on.State.Namespaced) {
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
	_, served := s.reading.Kinds.Preferred(evaluate.AutoscalerKind)
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
