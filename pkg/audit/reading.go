// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

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
			states[i], gaps[i], err = c.Reader.Cluster(ctx, f, collect.ClusterOptions{Name: c.Name,
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
				gaps[i] = append(gaps[i], c.Reader.Description.Gaps...)
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
	return collect.Open(ctx, src, r.Reader.Secrets, nil)
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

// Reading is the data that was read, and the desired state that follows from it.
type Reading struct {
	// Reader reads Fleet's own objects. Clusters read the clusters of the Directory, in its order.
	Reader     *collect.Reader
	Clusters   []ReadCluster
	Management *state.Fleet
	// States are those of the clusters, with their release records.
	States    []*state.Cluster
	Directory *directory.Directory
	// Desired is nil before Resolve.
	Desired *desired.State
	Gaps    []source.Gap

	options Options
	// secrets are the Secrets in manifests, as JSON: their values must not be shown.
	secrets [][]byte
	notes   []string
}

// Read reads Fleet's objects and the state of the clusters.
func Read(ctx context.Context, src source.Source, o Options) (*Reading, error) {
	r, err := ReadFleet(ctx, src, o)
	if err != nil {
		return nil, err
	}
	if err := r.readState(ctx); err != nil {
		return nil, err
	}
	r.Gaps = append(r.Gaps, r.stateGaps(r.Directory.Deployments)...)
	return r, nil
}

// ReadFleet reads Fleet's objects.
func ReadFleet(ctx context.Context, src source.Source, o Options) (*Reading, error) {
	return readFleet(ctx, src, o, collect.Before{})
}

func readFleet(ctx context.Context, src source.Source, o Options, before collect.Before) (*Reading, error) {
	r := &Reading{options: o}
	var err error
	if r.Reader, err = collect.Open(ctx, src, &secret.Values{}, o.Progress); err != nil {
		return nil, err
	}
	r.Reader.Before = before
	if before.Secrets != nil {
		r.Reader.Secrets = before.Secrets
	}
	f, gaps, err := r.Reader.Fleet(ctx, o.Scope.Namespace)
	if err != nil {
		return nil, err
	}
	r.Gaps = slices.Concat(r.Reader.Description.Gaps, gaps)
	r.Management = f
	return r, nil
}

// readState reads the agents and the release records of the clusters, and finds the bundle deployments on them.
func (r *Reading) readState(ctx context.Context) error {
	if err := r.readClusters(ctx, r.Management); err != nil {
		return err
	}
	for _, c := range r.States {
		// A BundleDeployment of the management cluster may also quote those of a cluster that is dropped.
		r.secrets = append(r.secrets, c.Secrets()...)
	}
	r.notes = r.asVersion()
	r.dropRepeated()
	r.Directory = directory.Build(directory.Input{Fleet: r.Management, Clusters: r.States,
		StatedScope: r.options.AgentScope})
	r.dropReadGaps()
	r.Gaps = append(r.Gaps, collect.FleetGaps(r.Management, r.within)...)
	for i, c := range r.Directory.Clusters {
		r.Gaps = append(r.Gaps, r.Clusters[i].unidentified(r.Management, c)...)
	}
	return nil
}

// Resolve computes the desired state. It is called once.
func (r *Reading) Resolve(renderings []*desired.Rendering, removals []*desired.Removal) {
	r.resolve(renderings, removals, nil, nil)
}

// resolve is Resolve. The unchanged bundle deployments are taken from an earlier state.
func (r *Reading) resolve(renderings []*desired.Rendering, removals []*desired.Removal, before *desired.State,
	unchanged map[object.DeploymentID]bool) {
	r.Desired = desired.Resolve(desired.Input{
		Directory: r.Directory, Clusters: r.States, Renderings: renderings, Removals: removals,
		Before: before, Unchanged: unchanged,
	})
	r.secrets = append(r.secrets, r.Desired.Secrets()...)
}

// SettleDisputes counts live objects to choose between the scope that a spec declares and the one that releases state.
func (r *Reading) SettleDisputes(ctx context.Context) error {
	all := map[directory.DisputeKey]directory.Carriers{}
	var mu sync.Mutex // guards all
	if err := Each(ctx, r.Clusters, func(ctx context.Context, i int) error {
		carriers, err := r.Clusters[i].Reader.Carriers(ctx, r.Directory, r.States[i])
		mu.Lock()
		defer mu.Unlock()
		maps.Copy(all, carriers)
		return err
	}); err != nil {
		return err
	}
	r.Directory = r.Directory.Settle(all)
	return nil
}

// asVersion replaces the versions of Fleet that were read by the one of the options, and returns a note about that.
func (r *Reading) asVersion() []string {
	v := r.options.AsVersion
	if v == "" {
		return nil
	}
	runs := map[string]bool{}
	if c := r.Management.ControllerVersion; c != "" {
		runs["controller "+c] = true
	}
	r.Management.ControllerVersion = v
	for _, c := range r.States {
		for namespace, w := range c.Workloads {
			runs["agent "+cmp.Or(w.Version, "of an unknown version")] = true
			w.Version = v
			c.Workloads[namespace] = w
		}
	}
	actual := cmp.Or(strings.Join(slices.Sorted(maps.Keys(runs)), ", "), "an unknown version")
	return []string{fmt.Sprintf("evaluated as if Fleet %s ran. What runs is: %s. The status that Fleet reports is "+
		"from the version that runs", v, actual)}
}

// stateGaps returns the gaps for the release records of all clusters that could not be read. For a part of the bundle
// deployments, it returns those that one of them may need; nil means everything.
func (r *Reading) stateGaps(scope []*directory.Deployment) []source.Gap {
	var out []source.Gap
	all := len(scope) == 0 || r.options.Scope.Whole() && r.options.Files == nil
	releases, unread := map[string]bool{}, all
	for _, d := range scope {
		releases[d.Release.Release()] = true
		unread = unread || d.Problem != ""
	}
	for i, c := range r.Directory.Clusters {
		var gaps []source.Gap
		if unread && !r.options.StatusOnly {
			gaps = recordGaps(r.Directory, c)
		}
		for _, u := range c.OverBound {
			if all || releases[u.Release()] {
				gaps = append(gaps, unreadableRecord(u, u.OverBound, "its objects are not known"))
			}
		}
		for _, u := range c.Unreadable {
			if u.OverBound == "" && unread {
				gaps = append(gaps, unreadableRecord(u, u.Damaged, "what it desires in its namespace is not known"))
			}
		}
		out = append(out, r.Clusters[i].Named(gaps)...)
	}
	return out
}

func unreadableRecord(r *state.Record, detail, effect string) source.Gap {
	return source.Gap{What: "release record " + r.Namespace + "/" + r.SecretName(),
		Reason: string(directory.RecordUnreadable), Detail: detail, Effect: effect}
}

// within returns the namespaces of one of Fleet's kinds that are in scope; nil if that may be all of them.
func (r *Reading) within(kind string) []string {
	if r.options.Files != nil && kind == state.BundleDeployment {
		out := []string{}
		for _, c := range r.Directory.Clusters {
			out = append(out, c.Watched()...)
		}
		return out
	}
	return r.Management.InWorkspace(kind, r.options.Scope.Namespace)
}

// recordGaps returns one gap for all release records that could not be read, instead of one for each bundle deployment.
func recordGaps(desired *directory.Directory, c *directory.Cluster) []source.Gap {
	records := c.State.Coverage.Records
	switch {
	case evaluate.NoRecordCaptured(desired):
		return []source.Gap{{What: "release records", Reason: string(source.NotInSnapshot),
			Detail: "the snapshot has none (Secrets of type " + release.SecretType + ")",
			Effect: "no object can be evaluated; only the status that Fleet reports is shown"}}
	case len(records.Failures()) > 0 && !c.State.Captured:
		return source.CoverageGaps("listing release records (Secrets)", records,
			"the bundle deployments that need these records have no result")
	}
	return nil
}

// errMore means that more changed than single bundle deployments.
var errMore = errors.New("more changed than single bundle deployments")

// readWhole reads those records of releases whole of which only the brief form is known.
func (r *Reading) readWhole(ctx context.Context, releases map[string]bool) error {
	for name, rec := range r.States[0].Records {
		if !rec.Brief || !releases[name.Release()] {
			continue
		}
		whole, err := r.Reader.Record(ctx, name)
		switch {
		case err != nil:
			return err
		case whole == nil || whole.Version != rec.Version:
			return errMore // it changed in the meantime
		}
		r.States[0].Complete(whole)
	}
	return nil
}
