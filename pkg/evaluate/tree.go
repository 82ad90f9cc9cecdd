// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Aggregate is one of Fleet's objects above the bundle deployments, with the totals of its bundle deployments.
type Aggregate struct {
	Kind   string
	Object v1alpha1.Object
	// BundleDeployments are those of its bundle deployments that are in scope; a ClusterGroup has those of its
	// clusters.
	BundleDeployments []*BundleDeployment
	// Clusters are the members of a ClusterGroup.
	Clusters []*Aggregate
	// All counts its bundle deployments, in scope or not.
	All    int
	Actual Actual
	// Statuses are the totals of the statuses of all its bundle deployments, in scope or not. They are partial if it is
	// not Listed.
	Statuses Statuses
	// Complete is true if all its bundle deployments are in scope and could be read. Partial totals cannot be compared
	// with Fleet's.
	Complete bool
	// Unread is true if the objects of one of them could not be read.
	Unread bool
	// Listed is true if all BundleDeployments that may be part of it were read.
	Listed bool
	// InScope is true if the scope includes the object itself, or all its bundle deployments.
	InScope bool
}

// Actual has the actual totals of the bundle deployments of an Aggregate.
type Actual struct {
	BundleDeployments, ReadyBundleDeployments int
	Counts                                    Counts
}

// Statuses has the totals of the statuses of BundleDeployments, in Fleet's own terms.
type Statuses struct {
	BundleDeployments, ReadyBundleDeployments int
	Counts                                    v1alpha1.ResourceCounts
	// CountsUnknown is true if one of them has no counts, as before Fleet 0.12.
	CountsUnknown bool
	// AsOf is when the oldest of them was written (RFC 3339), if that is recorded.
	AsOf string
}

func (s *Statuses) add(bd *v1alpha1.BundleDeployment) {
	s.BundleDeployments++
	if fleet.ReportedState(bd) == fleet.Ready {
		s.ReadyBundleDeployments++
	}
	counts, known := fleet.ReportedCounts(&bd.Status)
	s.Counts = s.Counts.Plus(counts)
	installed := bd.Status.AppliedDeploymentID != "" || bd.Status.Release != ""
	s.CountsUnknown = s.CountsUnknown || installed && !known
	s.AsOf = older(s.AsOf, bd.Reported().AsOf)
}

// plus returns the total of two.
func (s Statuses) plus(o Statuses) Statuses {
	s.BundleDeployments += o.BundleDeployments
	s.ReadyBundleDeployments += o.ReadyBundleDeployments
	s.Counts, s.CountsUnknown = s.Counts.Plus(o.Counts), s.CountsUnknown || o.CountsUnknown
	s.AsOf = older(s.AsOf, o.AsOf)
	return s
}

// older returns the earlier of two times in RFC 3339 and UTC, which sort as text. A time may be empty.
func older(x, y string) string {
	if x == "" || y != "" && y < x {
		return y
	}
	return x
}

// Key is "namespace/name".
func (a *Aggregate) Key() string { return a.Object.GetNamespace() + "/" + a.Object.GetName() }

// Tree has every Aggregate by kind, in the order in which they were read.
type Tree map[string][]*Aggregate

// newTree computes the totals of the bundle deployments in scope. includes reports whether an object itself is in
// scope. The totals are sums, so those above one bundle deployment could be replaced alone. They are all computed,
// because that takes about 15 ms for 10,000 bundle deployments (BenchmarkTree).
func newTree(wanted *desired.State, scope []*BundleDeployment, includes func(string, metav1.Object) bool) Tree {
	out, index := Tree{}, map[[2]string]*Aggregate{}
	for _, k := range state.Kinds {
		if k.Name == state.BundleDeployment {
			continue
		}
		for _, o := range k.List(wanted.Fleet) {
			a := &Aggregate{Kind: k.Name, Object: o, InScope: includes(k.Name, o)}
			a.Listed = wanted.Read(state.BundleDeployment, "")
			if c, ok := o.(*v1alpha1.Cluster); ok {
				a.Listed = wanted.Read(state.BundleDeployment, c.Status.Namespace)
			}
			out[k.Name], index[[2]string{k.Name, a.Key()}] = append(out[k.Name], a), a
		}
	}
	above := func(d *desired.BundleDeployment, f func(*Aggregate)) {
		for kind, key := range d.Parents() {
			if a := index[[2]string{kind, key}]; a != nil {
				f(a)
			}
		}
	}
	for _, d := range wanted.Deployments {
		above(d, func(a *Aggregate) {
			a.All++
			if d.BD != nil {
				a.Statuses.add(d.BD)
			}
		})
	}
	for _, d := range scope {
		above(d.BundleDeployment, func(a *Aggregate) { a.add(d) })
	}
	for kind, all := range out {
		for _, a := range all {
			if kind != state.ClusterGroup {
				a.close()
			}
		}
	}
	for _, a := range out[state.ClusterGroup] {
		a.addMembers(out[state.ClusterKind], wanted.Read(state.ClusterKind, a.Object.GetNamespace()))
	}
	return out
}

// close sets what depends on all bundle deployments.
func (a *Aggregate) close() {
	whole := a.Listed && a.All == len(a.BundleDeployments)
	a.InScope = a.InScope || whole && a.All > 0
	a.Complete = a.InScope && whole && !a.Unread
}

func (a *Aggregate) add(d *BundleDeployment) {
	a.BundleDeployments = append(a.BundleDeployments, d)
	a.Actual.BundleDeployments++
	if d.State == Ready {
		a.Actual.ReadyBundleDeployments++
	}
	a.Actual.Counts = a.Actual.Counts.Plus(d.Counts)
	// A bundle deployment that is not installed has no objects to read.
	a.Unread = a.Unread || d.Problem != "" && d.Problem != directory.NoReleaseRecord
}

// addMembers adds the totals of the clusters of a ClusterGroup: those of its namespace that its selector selects. read
// is true if all Clusters in the namespace were read.
func (a *Aggregate) addMembers(clusters []*Aggregate, read bool) {
	group, ok := a.Object.(*v1alpha1.ClusterGroup)
	a.Listed = false
	if !ok || group.Spec.Selector == nil {
		return // a group without a selector has no member, but the capture may omit the spec
	}
	selector, err := metav1.LabelSelectorAsSelector(group.Spec.Selector)
	if err != nil {
		return
	}
	a.Listed, a.Complete = read, read
	inScope := true
	for _, c := range clusters {
		if c.Object.GetNamespace() != group.Namespace || !selector.Matches(labels.Set(c.Object.GetLabels())) {
			continue
		}
		a.Clusters = append(a.Clusters, c)
		for _, d := range c.BundleDeployments {
			a.add(d)
		}
		a.All, a.Statuses = a.All+c.All, a.Statuses.plus(c.Statuses)
		a.Listed, a.Complete = a.Listed && c.Listed, a.Complete && c.Complete
		inScope = inScope && c.InScope
	}
	a.InScope = a.InScope || inScope && len(a.Clusters) > 0
	a.Complete = a.Complete && a.InScope
}

// NotFoundError reports that a target does not exist.
type NotFoundError struct {
	Target    Target
	Namespace string
	// Unread is the kind of the target if not every object of it was read; empty otherwise.
	Unread string
	// Known are the names of the targets of this kind that exist, sorted. They have a namespace if the name of the
	// target has one. If its name exists in other namespaces, Elsewhere are the targets there, sorted.
	Known, Elsewhere []string
}

// Error implements error.
func (e *NotFoundError) Error() string {
	text := e.Target.String() + " not found"
	if e.Namespace != "" {
		text += " in namespace " + e.Namespace
	}
	if e.Unread != "" {
		text += fmt.Sprintf(": no bundle deployment is part of it, and not every %s was read", e.Unread)
	}
	return text
}

// Errors are the errors about several names, one for each.
type Errors []error

// Error implements error. The messages are lines.
func (e Errors) Error() string { return errors.Join(e...).Error() }

// Unwrap returns the errors.
func (e Errors) Unwrap() []error { return e }

// Join returns the errors about names as one error, nil without any.
func Join(each []error) error {
	switch len(each) {
	case 0:
		return nil
	case 1:
		return each[0]
	}
	return Errors(each)
}

// NotFound returns the error that a target does not exist in a namespace, or in any if it is empty.
func NotFound(desired *directory.Directory, t Target, namespace string) *NotFoundError {
	e := &NotFoundError{Target: t, Namespace: namespace}
	stated, bare, named := strings.Cut(t.Name, "/")
	if !named {
		stated, bare = namespace, t.Name
	}
	known, elsewhere := map[string]bool{}, map[string]bool{}
	add := func(ns, name string) {
		another := func(than string) bool { return than != "" && ns != "" && ns != than }
		if another(stated) && name == bare {
			elsewhere[t.Kind+"/"+ns+"/"+name] = true
		}
		switch {
		case name == "" || another(namespace):
		case named && ns != "":
			known[ns+"/"+name] = true
		default:
			known[name] = true
		}
	}
	for _, k := range state.Subjects {
		if !t.is(k.Name) || desired.Fleet == nil {
			continue
		}
		for _, o := range k.List(desired.Fleet) {
			add(o.GetNamespace(), o.GetName())
		}
		if k.Name != state.BundleDeployment && !desired.Read(k.Name, stated) {
			e.Unread = k.Name
		}
	}
	for _, d := range desired.Deployments { // on a downstream cluster, only releases are known
		if t.is(state.BundleDeployment) {
			add(d.Namespace, d.Name)
		}
		for kind, key := range d.Parents() {
			if ns, name, ok := strings.Cut(key, "/"); t.is(kind) && ok {
				add(ns, name)
			}
		}
	}
	e.Known, e.Elsewhere = slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(elsewhere))
	return e
}

// Change evaluates one object again that was read at a time; nil if it does not exist. All objects of its kind are
// read. The manifests of those that desire it must be there. It returns the content of a desired Secret: its values
// must not be shown. The error means that the name of the object could not be read.
func (x *Evaluation) Change(kind schema.GroupVersionKind, key object.Key, live *source.Object,
	now time.Time) (secret object.Content, err error) {
	x.Evaluator = x.At(now)
	var seen Observation
	if live != nil {
		if seen, err = x.Observe(*live, kind); err != nil {
			return nil, err
		}
	}
	for _, o := range seen.Objects {
		x.Replace(o)
	}
	if live == nil {
		x.remove(kind, key)
		x.forget(kind, key)
	}
	if _, before := x.undesired[key]; before || seen.Undesired != nil {
		x.ReplaceUndesired(key, seen.Undesired)
	}
	if kind.GroupKind() == AutoscalerKind {
		x.ReplaceAutoscaler(key.Namespace, key.Name, seen.Autoscaler)
	}
	return seen.Secret, nil
}

// ChangeUndesired evaluates the metadata of an object again that no bundle deployment desires; nil if the object does
// not exist.
func (x *Evaluation) ChangeUndesired(key object.Key, m *object.Meta) {
	if m == nil {
		x.ReplaceUndesired(key, nil)
		return
	}
	x.ReplaceUndesired(key, x.ObserveUndesired(m))
}

// remove makes the desired objects of a name absent.
func (x *Evaluation) remove(kind schema.GroupVersionKind, key object.Key) {
	for _, o := range x.cluster.Of(key) {
		if x.evaluates(o, kind) {
			x.Replace(Absent(o, &List{Coverage: source.Covered()}))
		}
	}
}

// Due returns the desired objects whose observation may have changed without an event until now, and the next time at
// which one can change; zero if none can.
func (x *Evaluation) Due(now time.Time) (due []*desired.Object, next time.Time) {
	for _, d := range x.scope {
		for i := range x.cells[d.ID()] {
			o := &x.cells[d.ID()][i]
			switch {
			case o.LookAgain.IsZero():
			case !o.LookAgain.After(now):
				due = append(due, d.Desired[o.index])
			case next.IsZero() || o.LookAgain.Before(next):
				next = o.LookAgain
			}
		}
	}
	return due, next
}

// NeedsAutoscalers reports whether an autoscaler may explain a difference, and autoscalers were not listed.
func (x *Evaluation) NeedsAutoscalers() bool {
	if x.autoscalersListed {
		return false
	}
	for _, cells := range x.cells {
		for i := range cells {
			if cells[i].replicasDiffer() {
				return true
			}
		}
	}
	return false
}
