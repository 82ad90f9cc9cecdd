// SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// AgentsOptions of a report.
type AgentsOptions struct {
	// Namespace is that of the Clusters; empty for all.
	Namespace string
	// Selector selects Clusters by their labels; nil selects all.
	Selector labels.Selector
	// Version is the version of the program, which is only shown.
	Version string
	// Progress receives the progress; nil if it is not needed.
	Progress func(collect.Progress)
}

// Agents reports the agents of the Clusters in a namespace with some names, NAME or NAMESPACE/NAME; empty means all.
// It returns ErrNoFleet if there is none. For each name that is not found, there is a *evaluate.NotFoundError, beside
// the report of the other ones, which is nil without any.
func Agents(ctx context.Context, src source.Source, o AgentsOptions, names []string) (*report.Agents, error) {
	r, err := collect.Open(ctx, src, &secret.Values{}, o.Progress)
	if err != nil {
		return nil, err
	}
	f, c, unread, err := r.Agents(ctx, o.Namespace)
	if err != nil {
		return nil, err
	}
	desired := directory.Build(directory.Input{Fleet: f, Clusters: []*state.Cluster{c}})
	cover := f.Coverage[state.ClusterKind]
	failure, all := cover.Of("")
	if !all && len(f.Clusters) > 0 && failure.Reason != source.NotInSnapshot {
		unread = append(unread, source.CoverageGaps("listing Cluster objects", cover, "there may be more Clusters")...)
	}
	out := &report.Agents{Head: report.NewHead(report.KindAgents, o.Version, r.Description, desired),
		Gaps: report.Gaps(slices.Concat(r.Description.Gaps, unread)), Notes: r.Description.Notes}
	switch {
	case len(f.Clusters) > 0:
	case len(r.Description.Gaps) > 0:
		return nil, collect.NothingRead(collect.PlaceText(r.Description), r.Description.Gaps[0])
	case all && len(names) == 0 && o.Namespace == "": // Fleet is installed, and manages no cluster
		out.Complete()
		return out, nil
	case !all && failure.Reason != source.KindNotServed && failure.Reason != source.NotInSnapshot:
		return nil, fmt.Errorf("%w: listing Clusters: %s: %s", collect.ErrNothingRead, failure.Reason, failure.Detail)
	default:
		return nil, fmt.Errorf("%w: there are no Clusters; they are on the management cluster", collect.ErrNoFleet)
	}
	found := map[string]bool{}
	for _, a := range evaluate.Agents(desired, r.Description) {
		name, key := a.Cluster.Name, a.Cluster.Namespace+"/"+a.Cluster.Name
		named := len(names) == 0 || slices.Contains(names, name) || slices.Contains(names, key)
		if !named || o.Namespace != "" && o.Namespace != a.Cluster.Namespace {
			continue
		}
		found[name], found[key] = true, true
		if o.Selector == nil || o.Selector.Matches(labels.Set(a.Cluster.Labels)) {
			out.Add(a)
		}
	}
	var missing []error
	for _, name := range names {
		if !found[name] {
			target := evaluate.Target{Kind: evaluate.TargetCluster, Name: name}
			missing = append(missing, collect.OrUnread(evaluate.NotFound(desired, target, o.Namespace), r.Description))
		}
	}
	switch {
	case len(out.Agents) > 0:
	case len(missing) > 0:
		return nil, evaluate.Join(missing)
	case o.Selector != nil:
		return nil, collect.OrUnread(fmt.Errorf("no Cluster has the labels %q", o.Selector), r.Description)
	default:
		return nil, collect.OrUnread(fmt.Errorf("namespace %s has no Clusters", o.Namespace), r.Description)
	}
	out.Complete()
	return out, evaluate.Join(missing)
}
