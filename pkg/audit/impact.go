// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/impact"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Impact reports what is removed on each cluster if objects of Fleet are deleted. The kind of a name is one of evaluate.TargetKinds. A name without a
// namespace may match several objects; the error is a *evaluate.NotFoundError if it matches none.
func Impact(ctx context.Context, src source.Source, o Options, names []Named) (*report.Impact, error) {
	o.AllManifests = true
	r, err := read(ctx, src, o)
	if err != nil {
		return nil, err
	}
	if err := r.found(); err != nil {
		return nil, err
	}
	targets, err := r.deletions(names)
	if err != nil {
		return nil, err
	}
	affects := keys(targets)
	r.input.Uninstalls = func(d *resolve.BundleDeployment) bool { return affects[deploymentKey(d)] }
	r.resolve()
	r.input = resolve.Input{} // release the objects of every revision
	if targets, err = r.deletions(names); err != nil {
		return nil, err
	}
	affected, err := r.affected(ctx, targets)
	if err != nil {
		return nil, err
	}
	reported, err := r.reported(ctx, targets)
	if err != nil {
		return nil, err
	}
	out := &report.Impact{Tool: report.Tool{Version: o.Version}, TakenAt: report.Time(r.Description.TakenAt),
		Source: report.NewSource(r.Description, r.desired), Gaps: report.Gaps(r.gaps), Notes: r.Description.Notes}
	out.Source.Clusters = report.ClusterSources(r.moreClusters())
	targeting := r.desired.Targeting()
	for _, t := range targets {
		out.Deletions = append(out.Deletions, impact.Evaluate(impact.Input{Desired: r.desired, Target: t, Targeting: targeting, Affected: affected, Reported: reported}))
	}
	out.Complete()
	return out, nil
}

// deletions finds the objects that are deleted.
func (r *reading) deletions(names []Named) ([]*impact.Target, error) {
	var out []*impact.Target
	for _, n := range names {
		kind := fleetKind(n.Kind)
		found := impact.Find(r.desired, kind, n.Namespace, n.Name)
		if len(found) == 0 {
			if unread, all := r.desired.Coverage[kind].Of(n.Namespace); !all && unread.Reason != source.NotInSnapshot && unread.Reason != source.KindNotServed {
				return nil, fmt.Errorf("finding %s: %s: %s", n, unread.Reason, unread.Detail)
			}
			return nil, orUnread(evaluate.NotFound(r.desired, evaluate.Target{Kind: strings.ToLower(kind), Name: n.Name}, n.Namespace), r.Description)
		}
		out = append(out, found...)
	}
	return out, nil
}

// fleetKind returns the kind of Fleet for any name of it that is accepted.
func fleetKind(word string) string {
	word = strings.ToLower(word)
	for _, k := range state.Kinds {
		name := strings.ToLower(k.Name)
		if word == name || slices.Contains(evaluate.TargetKinds()[name], word) {
			return k.Name
		}
	}
	return ""
}

// deploymentKey identifies a bundle deployment. Releases alone on several clusters may have the same name.
func deploymentKey(d *resolve.BundleDeployment) string {
	if d.BD != nil {
		return d.Key()
	}
	return d.Key() + "\x00" + d.Release.Release() + "\x00" + d.Cluster
}

func keys(targets []*impact.Target) map[string]bool {
	out := map[string]bool{}
	for _, t := range targets {
		for _, d := range t.Deployments {
			out[deploymentKey(d)] = true
		}
	}
	return out
}

// affected reads the live objects of each cluster that the deletions affect.
func (r *reading) affected(ctx context.Context, targets []*impact.Target) (map[*resolve.Cluster]*state.Affected, error) {
	uninstalls, others := map[*resolve.Cluster][]*resolve.Uninstall{}, map[*resolve.Cluster][]object.Ref{}
	for _, t := range targets {
		if ns := impact.DeletedNamespace(r.desired, t); ns != "" {
			local := r.desired.Clusters[0]
			others[local] = append(others[local], object.Ref{APIVersion: "v1", Kind: "Namespace", Name: ns})
		}
		for _, d := range t.Deployments {
			for _, x := range d.Uninstalls {
				uninstalls[d.On], others[d.On] = append(uninstalls[d.On], x), append(others[d.On], impact.Copies(d, x)...)
			}
		}
	}
	out := map[*resolve.Cluster]*state.Affected{}
	var mu sync.Mutex // guards out and gaps
	err := each(ctx, r.clusters, func(ctx context.Context, i int) error {
		on := r.desired.Clusters[i]
		if len(uninstalls[on])+len(others[on]) == 0 {
			return nil
		}
		a, gaps, err := r.clusters[i].Affected(ctx, uninstalls[on], others[on])
		mu.Lock()
		defer mu.Unlock()
		out[on], r.gaps = a, append(r.gaps, r.clusters[i].named(gaps)...)
		return err
	})
	return out, err
}

// reported reads what the statuses of bundle deployments list whose releases are not known.
func (r *reading) reported(ctx context.Context, targets []*impact.Target) (map[string]*state.Reported, error) {
	wanted, namespaces := map[string]bool{}, map[string]bool{}
	for _, t := range targets {
		for _, d := range t.Deployments {
			unknown := len(d.Uninstalls) == 0 || slices.ContainsFunc(d.Uninstalls, func(x *resolve.Uninstall) bool { return x.Problem != "" })
			if d.BD != nil && unknown {
				wanted[d.Key()], namespaces[d.Namespace] = true, true
			}
		}
	}
	return r.Reported(ctx, wanted, slices.Sorted(maps.Keys(namespaces)))
}

// moreClusters returns the clusters that were read in addition to the source.
func (r *reading) moreClusters() []evaluate.ClusterSource {
	var out []evaluate.ClusterSource
	for i, c := range r.desired.Clusters {
		if i > 0 {
			out = append(out, evaluate.ClusterSource{Name: r.clusters[i].Name, Source: r.clusters[i].Description, On: c})
		}
	}
	return out
}
