// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// background reads what only checks need, while the clusters are read.
type background struct {
	cancel  context.CancelFunc
	group   *errgroup.Group
	results []*func(*rest)
}

// rest is what only checks need.
type rest struct {
	// fleet has all that was read of the management cluster.
	fleet state.Fleet
	// namespaces are the Namespaces for which deployments state labels or annotations, by name.
	namespaces map[object.ClusterID]map[string]state.NamespaceMeta
	gaps       []source.Gap
}

// newBackground returns a background and the context of its reads.
func newBackground(ctx context.Context) (*background, context.Context) {
	b := &background{}
	ctx, b.cancel = context.WithCancel(ctx)
	b.group, ctx = errgroup.WithContext(ctx)
	return b, ctx
}

// start calls read in a goroutine. The function that read returns adds what was read; wait calls it. start and wait are
// called by one goroutine.
func (b *background) start(read func() (add func(*rest), err error)) {
	var result func(*rest)
	b.results = append(b.results, &result)
	b.group.Go(func() (err error) {
		result, err = read()
		return err
	})
}

// wait waits for all reads and returns what was read, in addition to f, in the order in which the reads were started.
func (b *background) wait(f *state.Fleet) (*rest, error) {
	if err := b.group.Wait(); err != nil {
		return nil, err
	}
	out := &rest{fleet: *f, namespaces: map[object.ClusterID]map[string]state.NamespaceMeta{}}
	out.fleet.Coverage = maps.Clone(f.Coverage)
	for _, add := range b.results {
		(*add)(out)
	}
	return out, nil
}

// stop ends all reads.
func (b *background) stop() {
	b.cancel()
	_ = b.group.Wait() // its error is that of a read that is not needed any more
}

// management reads the data of the management cluster on which the desired state does not depend.
func (r *Reading) management(ctx context.Context, b *background) {
	f := r.Management
	b.start(func() (func(*rest), error) {
		agents, gaps, err := r.Reader.AgentConfig(ctx, f)
		return func(x *rest) { x.fleet.Agents, x.gaps = agents, append(x.gaps, gaps...) }, err
	})
	b.start(func() (func(*rest), error) {
		labels, cover, err := r.Reader.NamespaceLabels(ctx, f)
		return func(x *rest) {
			x.fleet.NamespaceLabels, x.fleet.Coverage[state.Namespace] = labels, cover
			x.gaps = append(x.gaps, collect.MappingGaps(&x.fleet, r.within)...)
		}, err
	})
	o := r.options // find changes the scope while the reads run
	if o.statuses() {
		b.start(func() (func(*rest), error) {
			values, gaps, err := r.Reader.Values(ctx, f, o.Scope.Namespace)
			return func(x *rest) { x.fleet.Values, x.gaps = values, append(x.gaps, gaps...) }, err
		})
	}
	b.start(func() (func(*rest), error) { return r.contents(ctx, f) })
	if o.statuses() && o.Scope.Whole() {
		b.start(func() (func(*rest), error) { // only such an audit reports those of clusters that are gone
			found, gaps, err := r.Reader.ClusterNamespaces(ctx, f)
			return func(x *rest) { x.fleet.ClusterNamespacesFound, x.gaps = found, append(x.gaps, gaps...) }, err
		})
	}
}

// contents reads the names of contents. Predictions do not need them.
func (r *Reading) contents(ctx context.Context, f *state.Fleet) (add func(*rest), err error) {
	if r.options.predictsOnly() {
		return func(*rest) {}, nil
	}
	contents, err := r.Reader.ContentNames(ctx, f)
	return func(x *rest) {
		x.fleet.Contents = contents
		why, all := contents.Coverage.Of("")
		needed := why.Reason != source.KindNotServed && why != (source.Failure{})
		if !all && needed {
			x.gaps = append(x.gaps, source.NewGap("listing Content objects", why,
				"missing contents (FD601) are not found"))
		}
	}, err
}

// namespaces reads the metadata of the Namespaces for which deployments state some. Predictions do not need them.
func (r *Reading) namespaces(ctx context.Context, b *background) {
	for i, c := range r.Directory.Clusters {
		stated := c.StatedNamespaces()
		if r.options.predictsOnly() || len(stated) == 0 {
			continue
		}
		b.start(func() (func(*rest), error) {
			found, f, err := r.Clusters[i].Reader.Namespaces(ctx, stated)
			return func(x *rest) {
				x.namespaces[c.ID] = found
				if found == nil {
					gap := source.NewGap("listing Namespaces", f,
						"missing labels and annotations of namespaces (FD110) are not found")
					x.gaps = append(x.gaps, r.Clusters[i].Named([]source.Gap{gap})...)
				}
			}, err
		})
	}
}

// hide adds the values of the Secrets in manifests to those that must not be shown. It must follow resolve, and they
// are complete after wait.
func (r *Reading) hide(b *background) {
	secrets := r.secrets
	r.secrets = nil
	b.start(func() (func(*rest), error) {
		r.Reader.Secrets.AddRaw(secrets)
		return func(*rest) {}, nil
	})
}

// copies reads the copies of downstreamResources that bundle deployments should have.
func (r *Reading) copies(ctx context.Context, deployments []*evaluate.BundleDeployment) ([]evaluate.Copy, []source.Gap,
	error) {
	if !r.options.statuses() {
		return nil, nil, nil
	}
	out := evaluate.Copies(deployments)
	unread, err := r.Reader.Copies(ctx, out, func(c *evaluate.Copy) *collect.Reader {
		return r.Clusters[r.Directory.IndexOf(&c.Deployment.Deployment)].Reader
	})
	return out, unread, err
}

// removals finds the releases that garbage collection uninstalls. Predictions do not need them.
func (r *Reading) removals(ctx context.Context) ([]*desired.Removal, error) {
	if r.options.Predict {
		return nil, nil
	}
	found := desired.Removals(r.Directory, r.States)
	for _, x := range found {
		if rec := r.States[0].Records[x.Record.Name]; rec != nil && rec.Brief {
			return nil, errMore // what is deleted is in its manifest
		}
	}
	return found, Each(ctx, r.Clusters, func(ctx context.Context, i int) error {
		elsewhere := func(x *desired.Removal) bool { return x.ClusterID != r.Directory.Clusters[i].ID }
		return r.Clusters[i].Reader.CountCustomResources(ctx, slices.DeleteFunc(slices.Clone(found), elsewhere))
	})
}
