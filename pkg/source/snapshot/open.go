// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot/files"
)

// Limit is the only limit of one Open for all paths together, in bytes after decompression.
// docs/snapshots.md has its details.
type Limit int64

// Open reads a captured cluster from paths: folders, files, archives, and "-" for stdin. All paths together are one
// snapshot, which is held in memory. Data that cannot be read is a gap of the snapshot's Description and not an error.
//
// Open returns an error if the context ends, a path does not exist or is a device, the paths have two clusters, or
// nothing can be read.
func Open(ctx context.Context, paths []string, stdin io.Reader) (*Snapshot, error) {
	return Limit(files.DefaultLimit).Open(ctx, paths, stdin)
}

// Open reads a captured cluster within this limit.
func (l Limit) Open(ctx context.Context, paths []string, stdin io.Reader) (*Snapshot, error) {
	r := &reader{
		heads: newHeadReader(), catalog: newCatalog(), store: store{byKey: map[object.Key]int{}},
		kinds: map[schema.GroupVersionKind]struct{}{}, singles: map[schema.GroupKind]bool{},
		renderings: map[string]*source.Rendering{},
	}
	r.reading = files.New(ctx, int64(l), stdin, r.document)
	if err := r.reading.Read(ctx, paths); err != nil {
		return nil, fmt.Errorf("opening snapshot: %w", err)
	}
	if len(r.store.entries)+len(r.lists)+len(r.manifests) == 0 {
		return nil, fmt.Errorf("opening snapshot: nothing in %s can be read%s; %s",
			strings.Join(paths, ", "), r.hint(), files.Remedy)
	}
	return r.snapshot(paths), nil
}

// hint is the first reason why nothing can be read.
func (r *reader) hint() string {
	if gaps := r.reading.Report.Gaps(); len(gaps) > 0 {
		return fmt.Sprintf(" (%s: %s)", gaps[0].What, gaps[0].Reason)
	}
	if notes := r.reading.Report.Notes(); len(notes) > 0 {
		return " (" + notes[0] + ")"
	}
	return ""
}

// snapshot returns the Snapshot of the paths that were read.
func (r *reader) snapshot(paths []string) *Snapshot {
	r.catalog.addDefinitions(r.defined)
	report := &r.reading.Report
	all := captured{objects: r.store.byKind(), lists: r.lists, definitions: r.defined}
	all.extents = extents(r.lists, report.Incomplete(), r.catalog.named)
	s := &Snapshot{
		objects: all.objects, kinds: r.catalog.captured(all), coverage: map[schema.GroupKind]source.Coverage{},
		description: source.Description{
			Origin: source.OriginSnapshot, Paths: slices.Clone(paths), KubernetesVersion: r.kubelet,
			ClusterUID: r.cluster, TakenAt: r.newest, Earliest: true,
			Notes: report.Notes(), Gaps: append(report.Gaps(), r.unknown...),
		},
	}
	for _, k := range s.kinds.All() {
		s.coverage[k.GroupKind()] = all.extents[k.GroupKind()].coverage()
	}
	s.markPartial()
	r.describe(&s.description)
	if len(r.manifests) == 1 {
		s.use(r.manifests[0])
		if s.description.Unmasked != nil {
			s.description.Unmasked.Renderings = r.renderings
		}
		return s
	}
	r.describeSingles(&s.description, all.extents)
	return s
}

// describe adds gaps and notes about all documents.
func (r *reader) describe(d *source.Description) {
	if len(r.manifests) > 1 {
		d.Gaps = append(d.Gaps, source.Gap{
			What: "the manifests of the snapshots", Effect: effectNoManifest,
			Reason: fmt.Sprintf("%d snapshots were given as one", len(r.manifests)),
		})
	}
	if !r.selected.Empty() {
		d.Gaps = append(d.Gaps, source.Gap{
			What:   "files with a selector in their names " + r.selected.String(),
			Reason: "objects that do not match a selector were not captured",
			Effect: "their Lists do not prove that an object is missing; capture without a selector",
		})
	}
	if !r.store.repeated.Empty() {
		const text = "objects that were found more than once, of which the newest resourceVersion was kept "
		d.Notes = append(d.Notes, text+r.store.repeated.String())
	}
}

// describeSingles adds a note if single objects are all that was captured of a kind.
func (r *reader) describeSingles(d *source.Description, extents map[schema.GroupKind]extent) {
	for gk := range r.singles {
		if _, listed := extents[gk]; !listed {
			d.Notes = append(d.Notes, "single objects do not prove that other objects are missing: those are Unknown; "+
				"capture Lists (kubectl get KIND -A -o json), or take a snapshot with kubectl fleetdoctor snapshot")
			return
		}
	}
}
