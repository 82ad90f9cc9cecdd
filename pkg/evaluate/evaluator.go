// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Options of an evaluation.
type Options struct {
	// Now is the time when the live objects were read; zero if it is not known.
	Now time.Time
	// Predict also records the data that adopting or deploying objects needs.
	Predict bool
	// Masked is true if values are masked in live objects and in releases.
	Masked bool
}

// Evaluator evaluates the live objects of one cluster. It is immutable and safe for concurrent use.
type Evaluator struct {
	options Options
	cluster resolve.OnCluster
	scope   []*resolve.BundleDeployment
	// rules are the comparePatches of each bundle deployment in scope.
	rules map[object.DeploymentID][]compare.Rule
	// kinds are the desired objects in scope by kind.
	kinds map[schema.GroupVersionKind][]*resolve.Object
}

// New returns the Evaluator of a cluster for those of its bundle deployments that are in scope.
func New(cluster resolve.OnCluster, scope []*resolve.BundleDeployment, o Options) *Evaluator {
	e := &Evaluator{options: o, cluster: cluster, rules: map[object.DeploymentID][]compare.Rule{},
		kinds: map[schema.GroupVersionKind][]*resolve.Object{}}
	for _, d := range scope {
		if d.On == nil || d.On.ID != cluster.ID {
			continue
		}
		e.scope = append(e.scope, d)
		e.rules[d.ID()] = nil
		if diff := d.Options().Diff; diff != nil {
			e.rules[d.ID()] = diff.ComparePatches
		}
		for _, o := range d.Desired {
			gvk := o.GroupVersionKind()
			e.kinds[gvk] = append(e.kinds[gvk], o)
		}
	}
	return e
}

// Kinds are the desired objects in scope by kind.
func (e *Evaluator) Kinds() map[schema.GroupVersionKind][]*resolve.Object { return e.kinds }

// Hashes are the set hashes of the bundle deployments in scope.
func (e *Evaluator) Hashes() map[string]bool {
	out := map[string]bool{}
	for _, d := range e.scope {
		if d.Ownership.Hash != "" {
			out[d.Ownership.Hash] = true
		}
	}
	return out
}

// Observation is the evaluation of one live object.
type Observation struct {
	// Objects are the desired objects with the identity of the live object, each with its state.
	Objects []Object
	// Undesired is set if the object has a hash and no release desires it.
	Undesired *Undesired
	// Autoscaler is set if the object is an autoscaler.
	Autoscaler *Autoscaler
	// Secret is the content of the object if it is a desired Secret: its values must not be shown.
	Secret object.Content
}

// Observe evaluates one live object that was listed for the desired objects of a kind. A snapshot may have captured it
// in another version. The error means that its name could not be read.
func (e *Evaluator) Observe(live source.Object, gvk schema.GroupVersionKind) (Observation, error) {
	m, err := live.ReadMeta()
	if err != nil {
		return Observation{}, err
	}
	var out Observation
	if live.Kind.GroupKind() == AutoscalerKind {
		out.Autoscaler = ReadAutoscaler(live.Raw)
	}
	desired := e.cluster.Of(m.Ref().Key())
	if len(desired) == 0 {
		out.Undesired = undesired(e.cluster.ID, m)
		return out, nil
	}
	l := liveObject{Evaluator: e, source: live, meta: m}
	for _, o := range desired {
		// The desired objects of a bundle deployment with a problem are not known; its record may still claim the
		// object.
		rules, inScope := e.rules[o.Deployment.ID()]
		if !inScope || o.Deployment.Problem != "" || o.GroupVersionKind() != gvk {
			continue
		}
		if o.IsSecret() && l.decode() == nil {
			out.Secret = l.content
		}
		c := cell{liveObject: &l, desired: o, rules: stable(rules, o)}
		out.Objects = append(out.Objects, c.observe())
	}
	return out, nil
}

// ObserveUndesired returns the live object with the metadata m if it has a hash and no release desires it; otherwise
// nil.
func (e *Evaluator) ObserveUndesired(m *object.Meta) *Undesired {
	if len(e.cluster.Of(m.Ref().Key())) > 0 {
		return nil
	}
	return undesired(e.cluster.ID, m)
}

func undesired(c object.ClusterID, m *object.Meta) *Undesired {
	metadata := ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations)
	if metadata.Hash == "" {
		return nil
	}
	out := &Undesired{Ref: m.Ref(), Cluster: c, Metadata: metadata,
		NoPrune: m.Metadata.Labels[fleet.PruneLabel] == "false"}
	for _, owner := range m.Metadata.OwnerReferences {
		out.Controlled = true
		if owner.Controller || out.Controller == "" {
			out.Controller = strings.ToLower(owner.Kind) + " " + owner.Name
		}
	}
	return out
}

// List is the evaluation of the live objects of one kind.
type List struct {
	Objects     []Object
	Undesired   []Undesired
	Autoscalers []Autoscaler
	// Coverage reports which objects of the kind were read.
	Coverage source.Coverage
	// Whole is true if the objects of all namespaces were listed.
	Whole bool
}

// Add adds an observation.
func (l *List) Add(o Observation) {
	l.Objects = append(l.Objects, o.Objects...)
	if o.Undesired != nil {
		l.Undesired = append(l.Undesired, *o.Undesired)
	}
	if o.Autoscaler != nil {
		l.Autoscalers = append(l.Autoscalers, *o.Autoscaler)
	}
}

// Observed is the evaluation of all live objects of a cluster.
type Observed struct {
	// Lists are the lists by desired kind.
	Lists map[schema.GroupVersionKind]*List
	// Undesired are the objects that the search in other kinds found; nil if no other kind was searched. Unsearched are
	// the kinds ("pods", "jobs.batch") that could not be searched.
	Undesired  []Undesired
	Unsearched []string
	Searched   bool
	// Autoscalers are the autoscalers that were listed because a number of replicas differs. AutoscalersRead is the
	// coverage of that list; zero if they were not listed.
	Autoscalers     []Autoscaler
	AutoscalersRead source.Coverage
}

// undesired returns all objects that no release desires, sorted and without duplicates. An object appears twice if its
// kind is listed in two versions, or for its desired objects and by label.
func (o *Observed) undesired() []Undesired {
	all := slices.Clone(o.Undesired)
	for _, l := range o.Lists {
		all = append(all, l.Undesired...)
	}
	slices.SortFunc(all, func(a, b Undesired) int { return a.Compare(b.Ref) })
	return slices.CompactFunc(all, func(a, b Undesired) bool { return a.Key() == b.Key() })
}
