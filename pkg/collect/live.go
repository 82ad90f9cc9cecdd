// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// LiveOptions select the live objects that are read.
type LiveOptions struct {
	// Whole is true if everything is in scope: kinds are then listed in all namespaces.
	Whole bool
	// Search also finds objects that no release desires in the kinds that no bundle deploys. Fleet never reports those.
	// It needs one metadata list per kind, limited to objects with the hash label.
	Search bool
	// Drop drops the manifests of the objects that are ready, as soon as all objects of their kind were read.
	Drop bool
	// Small lists large kinds one after the other: this takes longer, and needs less memory.
	Small bool

	// only is true if only the objects themselves are read, and not all of their kinds.
	only bool
}

// maxReading is the number of desired objects whose kinds are listed at the same time if memory is more important than
// time. A kind with more of them is listed alone.
const maxReading = 10_000

// Live lists the desired kinds and passes every object to the evaluator.
func (r *Reader) Live(ctx context.Context, e *evaluate.Evaluator, o LiveOptions) (evaluate.Observed, error) {
	r.progress.Start("reading live objects")
	l := lists{reader: r, evaluator: e, options: o,
		reading: semaphore.NewWeighted(maxReading),
		out:     evaluate.Observed{Lists: map[schema.GroupVersionKind]*evaluate.List{}, Searched: o.Search}}
	g, listing := errgroup.WithContext(ctx)
	for gvk, objects := range e.Kinds() {
		g.Go(func() error { return l.desired(listing, gvk, objects) })
	}
	if o.Search {
		l.search(listing, g)
	}
	if err := g.Wait(); err != nil {
		return l.out, err
	}
	return l.out, l.autoscalers(ctx)
}

// LiveOnly reads some live objects, by kind, and passes them to the evaluator.
func (r *Reader) LiveOnly(ctx context.Context, e *evaluate.Evaluator,
	objects map[schema.GroupVersionKind][]*desired.Object) (evaluate.Observed, error) {
	l := lists{reader: r, evaluator: e, options: LiveOptions{Whole: true, only: true},
		out: evaluate.Observed{Lists: map[schema.GroupVersionKind]*evaluate.List{}}}
	for gvk, list := range objects {
		if err := l.desired(ctx, gvk, list); err != nil {
			return l.out, err
		}
	}
	return l.out, nil
}

// lists reads the live objects of a cluster.
type lists struct {
	reader    *Reader
	evaluator *evaluate.Evaluator
	options   LiveOptions
	reading   *semaphore.Weighted
	mu        sync.Mutex // guards out
	out       evaluate.Observed
}

// desired adds the list of a kind of which objects are desired.
func (l *lists) desired(ctx context.Context, gvk schema.GroupVersionKind, objects []*desired.Object) error {
	if l.options.Small {
		size := int64(min(len(objects), maxReading))
		if err := l.reading.Acquire(ctx, size); err != nil {
			return err
		}
		defer l.reading.Release(size)
	}
	list, err := l.kind(ctx, gvk, objects)
	if err == nil && l.options.Drop {
		l.evaluator.DropManifests(list)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out.Lists[gvk] = list
	return err
}

// kind lists one desired kind.
func (l *lists) kind(ctx context.Context, gvk schema.GroupVersionKind, objects []*desired.Object) (*evaluate.List,
	error) {
	out, namespaces := &evaluate.List{Whole: l.options.Whole}, namespacesOf(objects)
	read := gvk
	if _, f, ok := l.reader.Kinds.Lookup(gvk); !ok {
		k, other := l.reader.Kinds.Preferred(gvk.GroupKind())
		if !other || !l.reader.Description.Partial() { // Fleet does not read another version either
			out.Coverage = source.NotCovered(f)
			return out, nil
		}
		read = k.GroupVersionKind
	}
	q := source.Query{Kind: read, Fallback: namespaces}
	if gvk == secretKind {
		q.FieldSelector = "type!=" + release.SecretType
	} else {
		q.Remembered = l.evaluator.Remembered(gvk)
	}
	if !l.options.Whole {
		q.Namespaces = slices.DeleteFunc(slices.Clone(namespaces), func(ns string) bool { return ns == "" })
		out.Whole = len(q.Namespaces) == 0
	}
	only := map[types.NamespacedName]bool{}
	for _, o := range objects {
		if n := (types.NamespacedName{Namespace: o.Namespace, Name: o.Name}); l.options.only && !only[n] {
			only[n] = true
			q.Only = append(q.Only, n)
		}
	}
	var err error
	out.Coverage, err = l.reader.list(ctx, q, func(o source.Object) error {
		if len(only) > 0 {
			m, err := o.ReadMeta()
			if err != nil || !only[types.NamespacedName{Namespace: m.Metadata.Namespace, Name: m.Metadata.Name}] {
				return err
			}
		}
		seen, err := l.evaluator.Observe(o, gvk)
		if err == nil {
			l.reader.Secrets.AddSecret(seen.Secret)
			out.Add(seen)
		}
		return err
	})
	return out, err
}

func namespacesOf(objects []*desired.Object) []string {
	seen := map[string]bool{}
	for _, o := range objects {
		seen[o.Namespace] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// autoscalers lists the autoscalers of all bundles if they may explain a difference.
func (l *lists) autoscalers(ctx context.Context) error {
	namespaces := evaluate.AutoscalersMatter(l.out.Lists)
	k, served := l.reader.Kinds.Preferred(evaluate.AutoscalerKind)
	if len(namespaces) == 0 || !served {
		return nil
	}
	var err error
	l.out.AutoscalersRead, err = l.reader.Source.List(ctx, source.Query{Kind: k.GroupVersionKind, Fallback: namespaces},
		func(o source.Object) error {
			if a := evaluate.ReadAutoscaler(o.Raw); a != nil {
				l.out.Autoscalers = append(l.out.Autoscalers, *a)
			}
			return nil
		})
	return err
}

// transientGroups are API groups whose objects are never deployed: a server computes them, or they exist only for a
// short time.
var transientGroups = map[string]bool{"metrics.k8s.io": true, "custom.metrics.k8s.io": true,
	"external.metrics.k8s.io": true, "events.k8s.io": true}

// transient reports whether objects of a kind are never deployed.
func transient(k source.Kind) bool {
	return transientGroups[k.Group] || k.Group == "" && k.Kind == "Event"
}

// maxHashes is the maximum number of hashes in a selector. For more, the search lists every object with the label.
const maxHashes = 20

// search lists objects with the hash label in the kinds that are not listed completely.
func (l *lists) search(ctx context.Context, g *errgroup.Group) {
	selector, ok := l.searchSelector()
	if !ok {
		return
	}
	listed := map[schema.GroupKind]bool{}
	if l.options.Whole {
		for gvk := range l.evaluator.Kinds() {
			_, _, served := l.reader.Kinds.Lookup(gvk)
			listed[gvk.GroupKind()] = listed[gvk.GroupKind()] || served
		}
	}
	for _, k := range l.reader.Kinds.All() {
		if listed[k.GroupKind()] || k.ReadOnly || transient(k) {
			continue
		}
		g.Go(func() error { return l.searchKind(ctx, k, selector) })
	}
}

func (l *lists) searchKind(ctx context.Context, k source.Kind, selector string) error {
	whole := true
	var found []evaluate.Undesired
	q := source.Query{Kind: k.GroupVersionKind, LabelSelector: selector, MetadataOnly: true}
	cover, err := l.reader.Source.List(ctx, q, func(o source.Object) error {
		l.reader.progress.Object()
		if m, err := o.ReadMeta(); err != nil {
			whole = false
		} else if u := l.evaluator.ObserveUndesired(m); u != nil {
			found = append(found, *u)
		}
		return nil
	})
	for _, f := range cover.Failures() {
		whole = whole && f.Reason == source.NotInSnapshot
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out.Undesired = append(l.out.Undesired, found...)
	if !whole {
		l.out.Unsearched = append(l.out.Unsearched, schema.GroupResource{Group: k.Group, Resource: k.Resource}.String())
	}
	return err
}

// searchSelector returns the label selector of a search; ok is false if nothing needs to be searched.
func (l *lists) searchSelector() (selector string, ok bool) {
	hashes := l.evaluator.Hashes()
	switch {
	case l.options.Whole:
		return fleet.HashLabel, true
	case len(hashes) == 0:
		return "", false
	case len(hashes) > maxHashes:
		return fleet.HashLabel, true
	}
	return fmt.Sprintf("%s in (%s)", fleet.HashLabel, strings.Join(slices.Sorted(maps.Keys(hashes)), ",")), true
}
