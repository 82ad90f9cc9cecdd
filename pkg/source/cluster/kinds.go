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

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Kinds asks discovery, once, for every kind that can be listed. An API group that does not answer leaves its kinds unknown, no more.
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

func (c *Cluster) discover(ctx context.Context) (*source.Kinds, error) {
	release, err := c.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	groups, lists, err := c.discovery.ServerGroupsAndResourcesWithContext(ctx)
	kinds := &source.Kinds{}
	kinds.MissingMeans(source.Failure{Reason: source.KindNotServed, Detail: "the API server does not serve this kind in this version"})
	var failed *discovery.ErrGroupDiscoveryFailed
	switch {
	case ended(ctx):
		return nil, context.Cause(ctx)
	case errors.As(err, &failed):
		for gv, e := range failed.Groups {
			kinds.Break(gv, source.Failure{Reason: source.ReadFailed, Detail: e.Error()})
		}
	case apierrors.IsForbidden(err): // discovery drops the server's words for it
		return nil, fmt.Errorf("asking %s for its kinds: that is forbidden to this user (the role system:discovery grants it)", c.server)
	case err != nil:
		return nil, fmt.Errorf("asking %s for its kinds: %w", c.server, err)
	}
	addKinds(kinds, groups, lists)
	return kinds, nil
}

// addKinds adds the kinds of lists, which come in no order, in the order of the groups' versions, a group's preferred one first.
func addKinds(kinds *source.Kinds, groups []*metav1.APIGroup, lists []*metav1.APIResourceList) {
	byVersion := make(map[string]*metav1.APIResourceList, len(lists))
	for _, l := range lists {
		byVersion[l.GroupVersion] = l
	}
	for _, g := range groups {
		versions := append([]metav1.GroupVersionForDiscovery{g.PreferredVersion}, g.Versions...)
		for _, v := range versions {
			l := byVersion[v.GroupVersion]
			gv, err := schema.ParseGroupVersion(v.GroupVersion)
			if l == nil || err != nil {
				continue // it did not answer; or it has a name that no API server has been seen to serve
			}
			for _, r := range l.APIResources {
				if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") {
					continue
				}
				kinds.Add(source.Kind{GroupVersionKind: gv.WithKind(r.Kind), Resource: r.Name, ShortNames: r.ShortNames, Namespaced: r.Namespaced})
			}
		}
	}
}
