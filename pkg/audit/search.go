// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// neverMarked are API groups whose objects nobody deploys: they are answers of a server, or come and go by the second.
var neverMarked = map[string]bool{"metrics.k8s.io": true, "custom.metrics.k8s.io": true, "external.metrics.k8s.io": true, "events.k8s.io": true}

// mostHashes is the number of sets up to which a search names them; beyond, it takes every marked object.
const mostHashes = 20

// search looks for marked objects in the kinds that were not listed whole: what is left over there, Fleet never sees. It takes one list of
// metadata a kind, narrowed down to the hash label.
func (l *live) search(ctx context.Context, g *errgroup.Group, wanted map[schema.GroupVersionKind][]*check.Object) {
	selector, ok := l.searchSelector()
	if !ok {
		return
	}
	listed := map[schema.GroupKind]bool{}
	if l.Scope.Whole() {
		for gvk := range wanted {
			_, _, served := l.kinds.Lookup(gvk)
			listed[gvk.GroupKind()] = listed[gvk.GroupKind()] || served
		}
	}
	for _, k := range l.kinds.All() {
		if listed[k.GroupKind()] || neverMarked[k.Group] || k.Group == "" && k.Kind == "Event" {
			continue
		}
		g.Go(func() error { return l.searchKind(ctx, k, selector) })
	}
}

func (l *live) searchKind(ctx context.Context, k source.Kind, selector string) error {
	whole := true
	cover, err := l.src.List(ctx, source.Query{Kind: k.GroupVersionKind, LabelSelector: selector, MetadataOnly: true}, func(o source.Object) error {
		l.counter.object()
		m, err := o.ReadMeta()
		whole = whole && err == nil
		if err == nil {
			if ref := m.Ref(); len(l.inv.Wants[ref.Key()]) == 0 {
				l.mark(m, ref)
			}
		}
		return nil
	})
	for _, f := range cover.Failures() {
		whole = whole && f.Reason == source.NotInSnapshot
	}
	if !whole {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.unsearched = append(l.unsearched, k.Resource+dot(k.Group))
	}
	return err
}

// searchSelector selects the marked objects that matter; ok is false where none can.
func (l *live) searchSelector() (selector string, ok bool) {
	if l.Scope.Whole() {
		return fleet.HashLabel, len(l.inv.Deployments) > 0
	}
	hashes := map[string]bool{}
	for _, d := range l.deployments {
		if d.Ownership.Hash != "" {
			hashes[d.Ownership.Hash] = true
		}
	}
	switch {
	case len(hashes) == 0:
		return "", false
	case len(hashes) > mostHashes:
		return fleet.HashLabel, true
	}
	return fleet.HashLabel + " in (" + strings.Join(sortedKeys(hashes), ",") + ")", true
}

// unsearchedGap says once in which kinds leftovers were not looked for.
func (l *live) unsearchedGap() {
	if len(l.unsearched) == 0 {
		return
	}
	slices.Sort(l.unsearched)
	const most = 5
	names := strings.Join(l.unsearched[:min(most, len(l.unsearched))], ", ")
	if n := len(l.unsearched) - most; n > 0 {
		names += fmt.Sprintf(" and %d more", n)
	}
	l.gaps = append(l.gaps, report.Gap{What: "searching for marked objects in " + names, Reason: "not readable",
		Effect: "orphaned and abandoned objects of these kinds are not found"})
}

func dot(group string) string {
	if group == "" {
		return ""
	}
	return "." + group
}
