// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

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

// Observation is the evaluation of one live object.
type Observation struct {
	// Objects are the desired objects with the identity of the live object, each with its state.
	Objects []Object
	// Undesired is set if the object has a hash and it is not certain that a release desires it.
	Undesired *Undesired
	// Autoscaler is set if the object is an autoscaler.
	Autoscaler *Autoscaler
	// Secret is the content of the object if it is a desired Secret: its values must not be shown.
	Secret object.Content
}

// AutoscalersMatter returns the sorted namespaces of the objects whose number of replicas differs. The caller lists the
// autoscalers of these namespaces. It returns nil if all autoscalers were read already.
func AutoscalersMatter(lists map[schema.GroupVersionKind]*List) []string {
	var out []string
	for gvk, l := range lists {
		if gvk.GroupKind() == AutoscalerKind && l.Coverage.Whole() && l.Whole {
			return nil
		}
		for i := range l.Objects {
			if l.Objects[i].replicasDiffer() {
				out = append(out, l.Objects[i].Namespace)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// autoscalersListed reports whether the autoscalers were listed, or could not be.
func (o Observed) autoscalersListed() bool {
	for gvk, l := range o.Lists {
		if gvk.GroupKind() == AutoscalerKind && l.Whole {
			return true
		}
	}
	return o.AutoscalersRead.Whole() || len(o.AutoscalersRead.Failures()) > 0
}
