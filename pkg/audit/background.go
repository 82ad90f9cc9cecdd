// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/gaps"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// background reads what only checks need, while the clusters are read. Nothing that was read is visible before wait.
type background struct {
	cancel  context.CancelFunc
	group   *errgroup.Group
	results []*func()
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
func (b *background) start(read func() (add func(), err error)) {
	var result func()
	b.results = append(b.results, &result)
	b.group.Go(func() (err error) {
		result, err = read()
		return err
	})
}

// wait waits for all reads and adds what was read, in the order in which the reads were started.
func (b *background) wait() error {
	if err := b.group.Wait(); err != nil {
		return err
	}
	for _, add := range b.results {
		(*add)()
	}
	return nil
}

// stop ends all reads.
func (b *background) stop() {
	b.cancel()
	_ = b.group.Wait() // its error is that of a read that is not needed any more
}

// management reads the data of the management cluster on which the desired state does not depend.
func (r *Reading) management(ctx context.Context, b *background) {
	f := r.Management
	b.start(func() (func(), error) {
		agents, gaps, err := r.AgentConfig(ctx, f)
		return func() { f.Agents, r.Gaps = agents, append(r.Gaps, gaps...) }, err
	})
	b.start(func() (func(), error) {
		labels, cover, err := r.NamespaceLabels(ctx, f)
		return func() {
			f.NamespaceLabels, f.Coverage[state.Namespace] = labels, cover
			r.Gaps = append(r.Gaps, gaps.OfMappings(f, r.within)...)
		}, err
	})
	b.start(func() (func(), error) { return r.values(ctx, f) })
	b.start(func() (func(), error) { return r.contents(ctx, f) })
	b.start(func() (func(), error) { return r.clusterNamespaces(ctx, f) })
}

// contents reads the names of contents. Predictions do not need them.
func (r *Reading) contents(ctx context.Context, f *state.Fleet) (add func(), err error) {
	if r.options.Predict {
		return func() {}, nil
	}
	contents, err := r.ContentNames(ctx, f)
	return func() {
		f.Contents = contents
		if f, all := contents.Coverage.Of(""); !all && f.Reason != source.KindNotServed && f != (source.Failure{}) {
			r.Gaps = append(r.Gaps, source.NewGap("listing Content objects", f,
				"missing contents (FD601) are not found"))
		}
	}, err
}

// namespaces reads the metadata of the Namespaces for which deployments state some. Predictions do not need them.
func (r *Reading) namespaces(ctx context.Context, b *background) {
	for i, c := range r.Directory.Clusters {
		stated := c.StatedNamespaces()
		if r.options.Predict || len(stated) == 0 {
			continue
		}
		b.start(func() (func(), error) {
			found, f, err := r.Clusters[i].Namespaces(ctx, stated)
			return func() {
				if found == nil {
					gap := source.NewGap("listing Namespaces", f,
						"missing labels and annotations of namespaces (FD110) are not found")
					r.Gaps = append(r.Gaps, r.Clusters[i].Named([]source.Gap{gap})...)
				}
				c.State.Namespaces = found
			}, err
		})
	}
}

// controllers reads the controllers that must remove finalizers. Predictions do not need them.
func (r *Reading) controllers(ctx context.Context) error {
	if r.options.Predict {
		return nil
	}
	return r.Controllers(ctx, r.Management)
}

// hide adds the values of the Secrets in manifests to those that must not be shown. It must follow resolve, and they
// are complete after wait.
func (r *Reading) hide(b *background) {
	secrets := r.secrets
	r.secrets = nil
	b.start(func() (func(), error) {
		r.Secrets.AddRaw(secrets)
		return func() {}, nil
	})
}
