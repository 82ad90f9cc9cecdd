// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Cluster is a cluster that is read in addition to the source.
type Cluster struct {
	// Name is the name that the user gives it, or "namespace/name" of its Cluster object.
	Name string
	// Open opens its source. If it returns an error, the cluster is not read, which is a gap.
	Open func(context.Context) (source.Source, error)
	// Commands are the commands that findings on this cluster suggest.
	Commands remedy.Commands
}

// ReadingCluster is the What of a gap for a cluster that is not read.
const ReadingCluster = "reading the cluster"

// maxClusters is the number of clusters that are read concurrently.
const maxClusters = 8

// ReadCluster is a cluster while it is read. The first one is the source itself, which has no name.
type ReadCluster struct {
	*collect.Reader
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

// ReadClusters reads the agents and release records of all clusters. A cluster that cannot be read is a gap, except the
// source itself.
func (r *Reading) readClusters(ctx context.Context, f *state.Fleet) error {
	all := []Cluster{{Commands: r.options.Commands}}
	if r.options.Clusters != nil {
		more, gaps := r.options.Clusters(f)
		all, r.Gaps = append(all, more...), append(r.Gaps, gaps...)
	}
	readers, states, gaps := make([]ReadCluster, len(all)), make([]*state.Cluster, len(all)),
		make([][]source.Gap, len(all))
	readers[0].Reader = r.Reader
	if err := Each(ctx, readers, func(ctx context.Context, i int) (err error) {
		c := &readers[i]
		c.Name, c.Commands = all[i].Name, all[i].Commands
		if i > 0 {
			c.Reader, err = r.open(ctx, all[i])
		}
		if err == nil {
			states[i], gaps[i], err = c.Cluster(ctx, f, collect.ClusterOptions{Name: c.Name,
				NoRecords: r.options.StatusOnly, OtherReleases: r.options.Predict})
		}
		if err == nil || i == 0 || ctx.Err() != nil {
			return err
		}
		states[i] = nil
		gaps[i] = []source.Gap{source.NewGap(ReadingCluster, source.Failure{Reason: source.ReadFailed,
			Detail: err.Error()}, "its bundle deployments have no result")}
		return nil
	}); err != nil {
		return err
	}
	for i, c := range readers {
		if states[i] != nil {
			r.Clusters, r.States = append(r.Clusters, c), append(r.States, states[i])
			if i > 0 {
				gaps[i] = append(gaps[i], c.Description.Gaps...)
			}
		}
		r.Gaps = append(r.Gaps, c.Named(gaps[i])...)
	}
	return nil
}

// open opens the source of a cluster. The readers of all clusters hide the same secrets.
func (r *Reading) open(ctx context.Context, c Cluster) (*collect.Reader, error) {
	src, err := c.Open(ctx)
	if err != nil {
		return nil, err
	}
	return collect.Open(ctx, src, r.Secrets, nil)
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
	server, _ := c.Source.(collect.Server)
	return server
}

// dropRepeated drops a cluster that is the same as an earlier one. Its objects would be reported twice, and the
// releases of one of the two as leftovers.
func (r *Reading) dropRepeated() {
	if len(r.States) < 2 {
		return
	}
	first := map[string]string{} // the name of the cluster, by the namespace of its BundleDeployments
	var clusters []ReadCluster
	var states []*state.Cluster
	for i, c := range r.States {
		name, same, repeated := r.Clusters[i].Name, "", ""
		for _, ns := range slices.Concat(directory.Watched(r.Management, c), c.AgentWatches()) {
			earlier, known := first[ns]
			if !known {
				first[ns] = name
			} else if earlier != name && repeated == "" {
				same, repeated = earlier, ns
			}
		}
		if repeated == "" {
			clusters, states = append(clusters, r.Clusters[i]), append(states, c)
			continue
		}
		r.Gaps = append(r.Gaps, source.Gap{Cluster: name, What: ReadingCluster, Reason: "Repeated",
			Detail: "its agent deploys the BundleDeployments of namespace " + repeated + ", as that of " +
				described(same),
			Effect: "it is not read; if it is a copy of another cluster, read each of them alone"})
	}
	r.Clusters, r.States = clusters, states
}

// dropReadGaps drops the gaps of Clusters that could not be read in one way and were read in another. The management
// cluster may be one of its own Clusters.
func (r *Reading) dropReadGaps() {
	read := map[string]bool{}
	for _, c := range r.Directory.Clusters {
		for _, key := range c.FleetClusters() {
			read[key] = true
		}
	}
	r.Gaps = slices.DeleteFunc(r.Gaps, func(g source.Gap) bool { return g.What == ReadingCluster && read[g.Cluster] })
}

func described(cluster string) string {
	if cluster == "" {
		return "the cluster with Fleet's objects"
	}
	return "cluster " + cluster
}

// unidentified returns a gap if it is not known which of Fleet's clusters a cluster is, or if it is another one than
// its name says.
func (c ReadCluster) unidentified(f *state.Fleet, on *directory.Cluster) []source.Gap {
	if c.Name == "" || len(f.Clusters) == 0 {
		return nil
	}
	gap := source.Gap{Cluster: c.Name, What: "identifying the cluster", Reason: "NotIdentified",
		Detail: "no agent on it shows for which of Fleet's Clusters it deploys",
		Effect: "its bundles are known by their releases alone"}
	found := on.FleetClusters()
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

// missing returns the findings about missing objects by the cluster that is read.
func missing(deployments []*evaluate.BundleDeployment, findings []check.Finding) map[object.ClusterID][]*check.Finding {
	type key struct{ bundleDeployment, cluster string }
	clusters := map[key]object.ClusterID{}
	for _, d := range deployments {
		clusters[key{d.Key(), d.Cluster}] = d.ID().Cluster
	}
	out := map[object.ClusterID][]*check.Finding{}
	for i := range findings {
		if f := &findings[i]; f.Code == codes.Missing {
			id := clusters[key{f.BundleDeployment, f.Cluster}]
			out[id] = append(out[id], f)
		}
	}
	return out
}

// vanished adds to findings about missing objects of a cluster when they vanished, if an auditor there wrote that down.
// It lists the ConfigMaps of the journal once, and only if there is such a finding. A journal that cannot be read is no
// gap: without an auditor there is none, and no result depends on it.
func vanished(ctx context.Context, src source.Source, about []*check.Finding) error {
	if len(about) == 0 {
		return nil
	}
	namespace, _, err := journal.Namespace(ctx, src)
	if err != nil {
		return err
	}
	book, err := journal.Read(ctx, src, namespace)
	if err != nil {
		return err
	}
	for _, f := range about {
		f.Evidence = append(slices.Clone(f.Evidence), deletions(book, f)...)
	}
	return nil
}

// deletions returns what a journal says of the newest deletion of an object, as a sentence.
func deletions(book *journal.Book, f *check.Finding) []string {
	for i := range book.Entries {
		e := &book.Entries[i]
		if e.Event != journal.Deleted || e.BundleDeployment != f.BundleDeployment || !e.Has(f.Object.Key()) {
			continue
		}
		from, to := e.From.UTC().Format(time.RFC3339), e.To.UTC().Format(time.RFC3339)
		when := "at " + to
		if from != to {
			when = "between " + from + " and " + to
		}
		return []string{"it was deleted " + when + ", according to the journal of the auditor in namespace " +
			book.Namespace}
	}
	return nil
}

// confirmReleases asks whether the releases of bundle deployments have changed whose objects are missing, modified or
// not desired. Helm stores the record of a new revision before it changes objects. If the newest revision is still the
// one of the desired objects, no upgrade explains the result. Neither does a revision that Fleet's agent did not make:
// that one is over. A snapshot without a manifest may lack records.
func (c ReadCluster) confirmReleases(ctx context.Context, on *directory.Cluster, x *evaluate.Evaluation) error {
	if c.Description.Partial() {
		return nil
	}
	newest := on.State.Latest
	rollouts := map[object.DeploymentID]evaluate.Rollout{}
	asked := map[object.DeploymentID][]settle.Question{}
	var all []settle.Question
	for _, d := range x.PossiblyChanged() {
		rec := newest[d.Release.Release()]
		switch {
		case rec == nil:
			rollouts[d.ID()] = evaluate.Rollout{Changed: true}
			continue
		case rec.Revision > d.Release.Revision && !d.ByHand(rec):
			rollouts[d.ID()] = evaluate.Rollout{Next: d.Next}
		}
		status := rec.Status
		if rec.Damaged != "" {
			status = ""
		}
		asked[d.ID()] = settle.Newest(on.ID, rec.Name, status)
		all = append(all, asked[d.ID()]...)
	}
	if c.Description.Origin == source.OriginCluster {
		answers, err := settle.Ask(ctx, c.Source, all)
		if err != nil {
			return err
		}
		for id, questions := range asked {
			if !answers.Hold(questions) {
				rollouts[id] = evaluate.Rollout{Changed: true}
			}
		}
	}
	x.Upgraded(rollouts)
	return nil
}
