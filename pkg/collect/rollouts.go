// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"crypto/sha256"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Rollouts reads again which revisions the releases of bundle deployments have. It reads the metadata of the records,
// which have the status as a label, and the newest record where its revision is not the one of the desired objects. A
// release without such a revision that did not change has no entry.
func (r *Reader) Rollouts(ctx context.Context, c *directory.Cluster,
	deployments []*resolve.BundleDeployment) (map[object.DeploymentID]evaluate.Rollout, error) {
	newest, cover, err := r.newestRevisions(ctx, deployments)
	if err != nil {
		return nil, err
	}
	out := map[object.DeploymentID]evaluate.Rollout{}
	var mu sync.Mutex // guards out
	add := func(d *resolve.BundleDeployment, x evaluate.Rollout) {
		mu.Lock()
		defer mu.Unlock()
		out[d.ID()] = x
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxRequests)
	for _, d := range deployments {
		now, exists := newest[d.Release.Release()]
		first := c.State.Latest[d.Release.Release()]
		_, read := cover.Of(d.Release.Namespace)
		switch {
		case !read, !exists, first == nil, now.differs(first):
			add(d, evaluate.Rollout{Changed: true})
		case now.Revision > d.Release.Revision:
			g.Go(func() error {
				next, err := r.manifestsOf(ctx, c, now.Name)
				add(d, evaluate.Rollout{Next: next})
				return err
			})
		}
	}
	return out, g.Wait()
}

// revision is a revision of a release, with the status in the label of its record.
type revision struct {
	release.Name
	status string
}

// differs reports whether a revision is not the one that was read first, or has another status.
func (r revision) differs(first *state.Record) bool {
	if r.Revision != first.Revision {
		return true
	}
	known := r.status != "" && first.Damaged == ""
	return known && r.status != first.Status
}

// newestRevisions lists the newest revisions of releases by "namespace/name".
func (r *Reader) newestRevisions(ctx context.Context, deployments []*resolve.BundleDeployment) (map[string]revision,
	source.Coverage, error) {
	var namespaces []string
	for _, d := range deployments {
		namespaces = append(namespaces, d.Release.Namespace)
	}
	namespaces = distinct(namespaces)
	q := source.Query{Kind: secretKind, FieldSelector: "type=" + release.SecretType, Namespaces: namespaces,
		MetadataOnly: true}
	if len(namespaces) > manyNamespaces {
		q.Namespaces, q.Fallback = nil, namespaces
	}
	out := map[string]revision{}
	cover, err := r.list(ctx, q, func(o source.Object) error {
		m, err := o.ReadMeta()
		if err != nil {
			return err
		}
		name, err := release.ParseSecretName(m.Metadata.Namespace, m.Metadata.Name)
		if err == nil && name.Revision > out[name.Release()].Revision {
			out[name.Release()] = revision{name, m.Metadata.Labels["status"]}
		}
		return nil // the first read reports a Secret with another name
	})
	return out, cover, err
}

// manifestsOf reads a record and returns the hashes of its manifests; nil if they could not be read.
func (r *Reader) manifestsOf(ctx context.Context, c *directory.Cluster,
	name release.Name) (map[object.Key][sha256.Size]byte, error) {
	var s struct {
		Data struct {
			Release []byte `json:"release"`
		} `json:"data"`
	}
	if f, err := r.get(ctx, secretKind, name.Namespace, name.SecretName(), &s); f != nil || err != nil {
		return nil, err
	}
	var work state.Work
	rec := work.ReadRecord(name, s.Data.Release, release.UnpackedSize(s.Data.Release), true)
	if whole := rec != nil && rec.Damaged == "" && rec.ManifestError == nil; !whole {
		return nil, nil
	}
	out := map[object.Key][sha256.Size]byte{}
	for _, o := range rec.Objects {
		switch {
		case !c.State.Namespaced(o.GroupVersionKind()):
			o.Namespace = ""
		case o.Namespace == "":
			o.Namespace = name.Namespace
		}
		out[o.Key()] = sha256.Sum256(o.Raw)
	}
	return out, nil
}
