// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Kinds reads from discovery every kind that can be listed. It requests discovery until it succeeds once. If an API
// group does not answer, only the kinds of that group are unknown.
func (c *Cluster) Kinds(ctx context.Context) (*source.Kinds, error) {
	c.kindsMu.Lock()
	defer c.kindsMu.Unlock()
	if c.kinds == nil {
		kinds, err := c.discover(ctx)
		if err != nil {
			return nil, err
		}
		c.kinds = kinds
	}
	return c.kinds, nil
}

// ForgetKinds makes the next Kinds request discovery again.
func (c *Cluster) ForgetKinds() {
	c.kindsMu.Lock()
	defer c.kindsMu.Unlock()
	c.kinds = nil
}

func (c *Cluster) discover(ctx context.Context) (*source.Kinds, error) {
	if err := c.slots.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer c.slots.Release(1)
	groups, lists, err := c.discovery.ServerGroupsAndResourcesWithContext(ctx)
	kinds := &source.Kinds{}
	kinds.MissingMeans(source.Failure{Reason: source.KindNotServed,
		Detail: "the API server does not serve this kind in this version"})
	failed, partial := errors.AsType[*discovery.ErrGroupDiscoveryFailed](err)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case partial:
		for gv, e := range failed.Groups {
			kinds.Break(gv, source.Failure{Reason: source.ReadFailed, Detail: shortened(e).Error()})
		}
	case apierrors.IsForbidden(err): // discovery omits the server's message
		return nil, fmt.Errorf("asking %s for its kinds: forbidden to this user (the role system:discovery grants it)",
			c.server)
	case err != nil:
		return nil, fmt.Errorf("asking %s for its kinds: %w", c.server, err)
	}
	addKinds(kinds, groups, lists)
	return kinds, nil
}

// addKinds adds the kinds of the lists, which are in no order. The preferred version of each group comes first.
func addKinds(kinds *source.Kinds, groups []*metav1.APIGroup, lists []*metav1.APIResourceList) {
	byVersion := make(map[string]*metav1.APIResourceList, len(lists))
	for _, l := range lists {
		byVersion[l.GroupVersion] = l
	}
	for _, g := range groups {
		for _, v := range append([]metav1.GroupVersionForDiscovery{g.PreferredVersion}, g.Versions...) {
			l := byVersion[v.GroupVersion]
			gv, err := schema.ParseGroupVersion(v.GroupVersion)
			if l == nil || err != nil || !validPath(gv) {
				continue // it did not answer, or its name is not valid
			}
			for _, r := range l.APIResources {
				if !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "list") {
					kinds.Add(source.Kind{GroupVersionKind: gv.WithKind(r.Kind), Resource: r.Name,
						ShortNames: r.ShortNames, Namespaced: r.Namespaced,
						ReadOnly: !slices.Contains(r.Verbs, "create")})
				}
			}
		}
	}
}

// validPath reports whether a group version can be part of a path without changing it.
func validPath(gv schema.GroupVersion) bool {
	return len(rest.IsValidPathSegmentName(gv.Group))+len(rest.IsValidPathSegmentName(gv.Version)) == 0
}
