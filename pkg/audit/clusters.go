// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// ReadingCluster is the What of a gap for a cluster that is not read.
const ReadingCluster = "reading the cluster"

// maxClusters is the number of clusters that are read concurrently.
const maxClusters = 8

// ReadCluster is a cluster while it is read. The first one is the source itself, which has no name.
type ReadCluster struct {
	Reader   *collect.Reader
	Name     string
	Commands remedy.Commands
}

// Each calls do with the index of each cluster, for up to maxClusters clusters concurrently.
func Each(ctx context.Context, clusters []ReadCluster, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxClusters)
	for i := range clusters {
		g.Go(func() error { return do(ctx, i) })
	}
	return g.Wait()
}

// Named adds the name of the cluster to gaps.
func (c ReadCluster) Named(gaps []source.Gap) []source.Gap {
	for i := range gaps {
		gaps[i].Cluster = c.Name
	}
	return gaps
}

// server returns the server that makes dry runs, nil without one.
func (c ReadCluster) server(o Options) collect.Server {
	if c.Name == "" {
		return o.Server
	}
	server, _ := c.Reader.Source.(collect.Server)
	return server
}

// unidentified returns a gap if it is not known which of Fleet's clusters a cluster is, or if it is another one than
// its name says.
func (c ReadCluster) unidentified(f *state.Fleet, cluster *directory.Cluster) []source.Gap {
	if c.Name == "" || len(f.Clusters) == 0 {
		return nil
	}
	gap := source.Gap{Cluster: c.Name, What: "identifying the cluster", Reason: "NotIdentified",
		Detail: "no agent on it shows for which of Fleet's Clusters it deploys",
		Effect: "its bundles are known by their releases alone"}
	found := cluster.FleetClusters()
	if len(found) == 0 {
		return []source.Gap{gap}
	}
	named := func(key string) bool { return key == c.Name || strings.HasSuffix(key, "/"+c.Name) }
	exists := slices.ContainsFunc(f.Clusters, func(o *v1alpha1.Cluster) bool {
		return named(o.Namespace + "/" + o.Name)
	})
	if !exists || slices.ContainsFunc(found, named) {
		return nil
	}
	gap.Reason, gap.Detail = "AnotherCluster", fmt.Sprintf("its agent deploys for %s", strings.Join(found, ", "))
	gap.Effect = "its objects are evaluated for the Cluster of its agent"
	return []source.Gap{gap}
}
