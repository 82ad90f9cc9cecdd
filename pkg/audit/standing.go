// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/packed"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Standing is an audit of one cluster that is kept current: when one of its objects changes, only this object is
// evaluated again. Anything else that changes needs a new Start. It is not safe for concurrent use.
type Standing struct {
	reading  *Reading
	scope    []*resolve.BundleDeployment
	found    []*evaluate.Found
	rest     *rest
	clusters []standingCluster
	changed  bool // since the last result
}

// standingCluster is the evaluation of one cluster. Only a Standing of Start has its current state, and the manifests of
// the desired objects.
type standingCluster struct {
	evaluated evaluate.Evaluated
	current   *evaluate.Evaluation
	manifests map[*resolve.Object]packed.Object
}

// Start reads and evaluates everything, and keeps what later changes need. Options.Pack must be set; Options.Clusters
// must not.
func Start(ctx context.Context, src source.Source, o Options) (*Standing, error) {
	return start(ctx, src, o)
}

// Audit returns the present result with its findings, as of now.
func (s *Standing) Audit(ctx context.Context, now time.Time) (*Audit, error) {
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
	return s.finish(ctx)
}

// packManifests compresses the manifests of the desired objects on a cluster.
func (r *Reading) packManifests(cluster int) map[*resolve.Object]packed.Object {
	out := map[*resolve.Object]packed.Object{}
	for _, d := range r.Desired.Deployments {
		if d.On != r.Desired.Clusters[cluster] {
			continue
		}
		for _, o := range d.Claimed() {
			out[o] = r.options.Pack.Pack(object.Item{Raw: o.Raw})
		}
	}
	return out
}

// Follows reports whether a change of an object that a query selects can be evaluated alone, with Change.
func (s *Standing) Follows(q source.Query) bool {
	if len(s.clusters) == 0 {
		return false
	}
	x := s.clusters[0].current
	_, desired := x.Kinds()[q.Kind]
	selected := q.LabelSelector + strings.TrimPrefix(q.FieldSelector, "type!=")
	switch {
	case q.Kind.GroupKind() == evaluate.AutoscalerKind:
		return !q.MetadataOnly
	case desired:
		return !q.MetadataOnly && (selected == "" || q.Kind.Kind == "Secret" && q.LabelSelector == "" &&
			strings.HasPrefix(q.FieldSelector, "type!="))
	}
	return q.MetadataOnly && strings.HasPrefix(q.LabelSelector, fleet.HashLabel)
}

// Change evaluates one object again; live is nil if it does not exist. It returns false if everything must be read
// again.
func (s *Standing) Change(kind schema.GroupVersionKind, key object.Key, live *source.Object, now time.Time) bool {
	c := &s.clusters[0]
	x := c.current
	s.changed = true
	if _, desired := x.Kinds()[kind]; !desired && kind.GroupKind() != evaluate.AutoscalerKind {
		return s.changeUndesired(x, key, live)
	}
	restored, err := s.restore(c, key)
	if err == nil {
		err = x.Change(kind, key, live, now)
	}
	for _, o := range restored {
		o.Raw = nil
	}
	return err == nil && !s.needsAutoscalers(x)
}

func (s *Standing) changeUndesired(x *evaluate.Evaluation, key object.Key, live *source.Object) bool {
	if live == nil {
		x.ChangeUndesired(key, nil)
		return true
	}
	m, err := live.ReadMeta()
	if err == nil {
		x.ChangeUndesired(key, m)
	}
	return err == nil
}

// restore restores the manifests of the desired objects with a name, and returns those that were not there.
func (s *Standing) restore(c *standingCluster, key object.Key) ([]*resolve.Object, error) {
	var out []*resolve.Object
	for _, o := range s.reading.Desired.On(s.reading.Desired.Clusters[0]).Of(key) {
		if o.Raw != nil {
			continue
		}
		manifest, _, err := s.reading.options.Pack.Unpack(c.manifests[o], nil)
		if err != nil {
			return out, err
		}
		o.Raw = manifest.Raw
		out = append(out, o)
	}
	return out, nil
}

func (s *Standing) needsAutoscalers(x *evaluate.Evaluation) bool {
	_, served := s.reading.Kinds.Preferred(evaluate.AutoscalerKind)
	return served && x.NeedsAutoscalers()
}

// Due returns the objects that must be evaluated again although no event reports a change of them, and the next time at
// which there can be more; zero if there is none.
func (s *Standing) Due(now time.Time) (due []*resolve.Object, next time.Time) {
	if len(s.clusters) == 0 {
		return nil, time.Time{}
	}
	return s.clusters[0].current.Due(now)
}
