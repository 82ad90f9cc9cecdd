// SPDX-License-Identifier: Apache-2.0

// Package query answers the questions of single verbs: why an object is not ready, who owns it, what a deletion
// removes, which clusters a bundle targets, and what a controller does to its agents. Each answer is a document of
// pkg/report.
package query

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Impact reports what is removed on each cluster if objects of Fleet are deleted. The kind of a name is a word for
// evaluate.TargetKind. A name without a namespace may match several objects. For each name that is not found or could
// not be read, there is an error, such as a *evaluate.NotFoundError, beside the report of the other ones, which is nil
// without any.
func Impact(ctx context.Context, src source.Source, o audit.Options, names []source.Named) (*report.Impact, error) {
	r, err := audit.Read(ctx, src, o)
	if err != nil {
		return nil, err
	}
	if err := r.Found(); err != nil {
		return nil, err
	}
	r.Resolve(nil, nil)
	targets, missing := deletions(r, names)
	if len(targets) == 0 {
		return nil, missing
	}
	affects := map[object.DeploymentID]bool{}
	for _, t := range targets {
		for _, d := range t.Deployments {
			affects[d.ID()] = true
		}
	}
	uninstalls := r.Desired.Uninstalls(r.States, func(d *desired.BundleDeployment) bool { return affects[d.ID()] })
	r.States = nil // release the objects of every revision
	affected, err := affected(ctx, r, targets, uninstalls)
	if err != nil {
		return nil, err
	}
	reported, err := reported(ctx, r, targets, uninstalls)
	if err != nil {
		return nil, err
	}
	out := &report.Impact{Head: report.NewHead(report.KindImpact, o.Version, r.Reader.Description, r.Directory),
		Gaps: report.Gaps(r.Gaps), Notes: r.Reader.Description.Notes}
	out.Source.Clusters = report.ClusterSources(moreClusters(r), r.Desired.Directory)
	targeting := r.Desired.Targeting()
	for _, t := range targets {
		deletion := EvaluateImpact(ImpactInput{Desired: r.Desired, Target: t, Uninstalls: uninstalls,
			Targeting: targeting, Affected: affected, Reported: reported})
		deletion.Unread = unreadOf(r, t)
		out.Deletions = append(out.Deletions, deletion)
	}
	out.Complete()
	return out, missing
}

// deletions finds the objects that are deleted. The error has one error for each name that is not found.
func deletions(r *audit.Reading, names []source.Named) ([]*Deleted, error) {
	var out []*Deleted
	var missing []error
	for _, n := range names {
		kind, _ := evaluate.TargetKind(n.Kind)
		found := FindDeleted(r.Desired, kind, n.Namespace, n.Name)
		if out = append(out, found...); len(found) == 0 {
			missing = append(missing, noDeletion(r, n, kind))
		}
	}
	return out, evaluate.Join(missing)
}

// noDeletion is the error that no object of a kind of Fleet has a name.
func noDeletion(r *audit.Reading, n source.Named, kind string) error {
	absent := []source.Reason{source.NotInSnapshot, source.KindNotServed}
	if unread, all := r.Desired.Coverage[kind].Of(n.Namespace); !all && !slices.Contains(absent, unread.Reason) {
		return fmt.Errorf("%s could not be read: %s: %s", n, unread.Reason, unread.Detail)
	}
	target := evaluate.Target{Kind: strings.ToLower(kind), Name: n.Name}
	return collect.OrUnread(evaluate.NotFound(r.Directory, target, n.Namespace), r.Reader.Description)
}

// unreadOf says which objects of Fleet could not be read that may be deleted with a target; empty if there are none.
func unreadOf(r *audit.Reading, t *Deleted) string {
	kinds := []string{state.BundleDeployment}
	within := func(kind string) []string { return r.Desired.InWorkspace(kind, t.Namespace) }
	switch t.Kind {
	case state.BundleDeployment:
		return ""
	case state.ClusterKind:
		if ns := DeletedNamespace(r.Desired, t); ns != "" {
			within = func(string) []string { return []string{ns} }
		}
	case state.GitRepo, state.HelmOp:
		kinds = append(kinds, state.Bundle)
	}
	unread := collect.FleetGaps(r.Desired.Fleet, within, kinds...)
	if len(unread) == 0 {
		return ""
	}
	return unread[0].What + ": " + unread[0].Why()
}

// affected reads the live objects of each cluster that the deletions affect.
func affected(ctx context.Context, r *audit.Reading, targets []*Deleted,
	planned map[object.DeploymentID][]*desired.Uninstall) (map[object.ClusterID]*state.Affected, error) {
	uninstalls, others := map[object.ClusterID][]*desired.Uninstall{}, map[object.ClusterID][]object.Ref{}
	for _, t := range targets {
		if ns := DeletedNamespace(r.Desired, t); ns != "" {
			local := r.Desired.Clusters[0].ID
			others[local] = append(others[local], object.Ref{APIVersion: "v1", Kind: "Namespace", Name: ns})
		}
		for _, d := range t.Deployments {
			for _, x := range planned[d.ID()] {
				cluster := d.ClusterID
				uninstalls[cluster] = append(uninstalls[cluster], x)
				others[cluster] = append(others[cluster], Copies(d, x)...)
			}
		}
	}
	out := map[object.ClusterID]*state.Affected{}
	var mu sync.Mutex // guards out and gaps
	err := audit.Each(ctx, r.Clusters, func(ctx context.Context, i int) error {
		cluster := r.Desired.Clusters[i].ID
		if len(uninstalls[cluster])+len(others[cluster]) == 0 {
			return nil
		}
		a, unread, err := r.Clusters[i].Reader.Affected(ctx, uninstalls[cluster], others[cluster])
		mu.Lock()
		defer mu.Unlock()
		out[cluster], r.Gaps = a, append(r.Gaps, r.Clusters[i].Named(unread)...)
		return err
	})
	return out, err
}

// reported reads what the statuses of bundle deployments list whose releases are not known.
func reported(ctx context.Context, r *audit.Reading, targets []*Deleted,
	uninstalls map[object.DeploymentID][]*desired.Uninstall) (map[string]*state.Reported, error) {
	unknown := func(x *desired.Uninstall) bool { return x.Problem != "" }
	wanted, namespaces := map[string]bool{}, map[string]bool{}
	for _, t := range targets {
		for _, d := range t.Deployments {
			planned := uninstalls[d.ID()]
			if d.BD != nil && (len(planned) == 0 || slices.ContainsFunc(planned, unknown)) {
				wanted[d.Key()], namespaces[d.Namespace] = true, true
			}
		}
	}
	return r.Reader.Reported(ctx, wanted, slices.Sorted(maps.Keys(namespaces)))
}

// moreClusters returns the clusters that were read in addition to the source.
func moreClusters(r *audit.Reading) []evaluate.ClusterSource {
	var out []evaluate.ClusterSource
	for i, c := range r.Desired.Clusters {
		if i > 0 {
			out = append(out, evaluate.ClusterSource{Name: r.Clusters[i].Name, Source: r.Clusters[i].Reader.Description,
				ClusterID: c.ID})
		}
	}
	return out
}

// Owners reports the owners of objects. A name may match several objects, in several namespaces or API groups. For
// each name that is not found or could not be read, there is an error that names it, beside the report of the other
// ones, which is nil without any.
func Owners(ctx context.Context, src source.Source, o audit.Options, names []source.Named) (*report.Ownership, error) {
	r := owners{commands: o.Commands}
	var err error
	r.Reading, err = audit.Read(ctx, src, o)
	if err != nil {
		return nil, err
	}
	if err := r.Found(); err != nil && !errors.Is(err, collect.ErrNoFleet) { // an object may have another owner
		return nil, err
	}
	if err := r.SettleDisputes(ctx); err != nil {
		return nil, err
	}
	r.Resolve(nil, nil)
	out := &report.Ownership{Head: report.NewHead(report.KindOwnership, o.Version, r.Reader.Description, r.Directory),
		Gaps: report.Gaps(r.Gaps)}
	var missing []error
	for _, n := range names {
		found, err := r.named(ctx, n)
		if err != nil {
			missing = append(missing, err)
		}
		out.Objects = append(out.Objects, found...)
	}
	if len(out.Objects) == 0 {
		return nil, evaluate.Join(missing)
	}
	out.Complete()
	return out, evaluate.Join(missing)
}

// owners finds the owners of objects.
type owners struct {
	*audit.Reading
	commands remedy.Commands
}

// named finds the objects that a name matches, on every cluster.
func (r *owners) named(ctx context.Context, n source.Named) ([]report.OwnedObject, error) {
	var out []report.OwnedObject
	var unread []source.Failure
	served := false
	for i, c := range r.Desired.Clusters {
		for _, k := range r.Clusters[i].Reader.Kinds.All() {
			if !k.Called(n.Kind) {
				continue
			}
			served = true
			q := source.Query{Kind: k.GroupVersionKind, FieldSelector: "metadata.name=" + n.Name, MetadataOnly: true}
			if n.Namespace != "" && k.Namespaced {
				q.Namespaces = []string{n.Namespace}
			}
			cover, err := r.Clusters[i].Reader.Source.List(ctx, q, func(o source.Object) error {
				m, err := o.ReadMeta()
				if err != nil {
					return fmt.Errorf("decoding the metadata of %s: it is not valid", n)
				}
				out = append(out, r.ownedObject(r.Desired.On(c.ID), m, o))
				return nil
			})
			if err != nil {
				return nil, err
			}
			unread = slices.AppendSeq(unread, maps.Values(cover.Failures()))
		}
	}
	slices.SortStableFunc(out, func(a, b report.OwnedObject) int { return a.Compare(b.Ref) })
	switch {
	case len(out) > 0:
		return out, nil
	case !served:
		return nil, collect.OrUnread(r.unknownKind(n), r.Reader.Description)
	case len(unread) > 0:
		return nil, fmt.Errorf("%s could not be read: %s: %s", n, unread[0].Reason, unread[0].Detail)
	}
	return nil, collect.OrUnread(r.unknownName(n), r.Reader.Description)
}

func (r *owners) ownedObject(c desired.OnCluster, m *object.Meta, o source.Object) report.OwnedObject {
	out := report.OwnedObject{Ref: m.Ref(), UID: m.Metadata.UID, Controller: m.Controller()}
	have := ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations)
	owned := subject{OnCluster: c, OwnedObject: &out, all: r.Desired.Deployments, have: have,
		deleting: m.Metadata.DeletionTimestamp != "", commands: r.commands, annotations: m.Metadata.Annotations}
	for _, w := range c.Of(out.Key()) {
		d := c.Deployment(w.Deployment)
		class, _ := ownership.Classify(have, d.Ownership)
		if owned.confirms(d) {
			owned.desired = append(owned.desired, w)
		} else {
			class = evaluate.Unconfirmed
		}
		out.DesiredBy = append(out.DesiredBy, report.Claimant{BundleDeployment: d.Key(),
			Reason: string(class)})
	}
	if have.Hash != "" {
		owned.owner = c.OwnerOf(have)
	}
	if owned.owner != nil && owned.confirms(owned.owner) {
		out.Owner = ownerOf(owned.owner)
	}
	if len(owned.desired) == 0 {
		out.Unknown = evaluate.DesireUnknown(r.Desired, c.Cluster, func(records string) bool {
			return c.MayConcern(records, out.Namespace)
		})
	}
	owned.answer()
	out.Metadata = owned.entries(m)
	owned.addWriters(out.Metadata, o)
	return out
}

func ownerOf(d *desired.BundleDeployment) *report.BundleOwner {
	out := &report.BundleOwner{BundleDeployment: d.Key(), Bundle: d.Bundle, GitRepo: d.GitRepo, HelmOp: d.HelmOp,
		Cluster: d.Cluster,
		SetID:   d.Ownership.SetID, Commit: d.Commit}
	if d.Release.Name != "" {
		out.Release = d.Release.String()
	}
	return out
}

// unknownKind returns the error that no cluster serves the kind of a name.
func (r *owners) unknownKind(n source.Named) error {
	e := &source.NotFoundError{What: n.String(), Word: n.Kind, After: strings.TrimPrefix(n.String(), n.Kind),
		Kind: true, Snapshot: r.Reader.Description.Origin == source.OriginSnapshot}
	for _, c := range r.Clusters {
		for _, k := range c.Reader.Kinds.All() {
			e.Known = append(e.Known, strings.ToLower(k.Kind))
		}
	}
	return e
}

// unknownName returns the error that no object has a name. The known names are those of desired objects, which are in
// memory.
func (r *owners) unknownName(n source.Named) error {
	var desired []object.Ref
	var desiredBy []string
	for _, d := range r.Desired.Deployments {
		for _, o := range d.Desired {
			desired = append(desired, o.Ref)
			if n.Is(o.Ref, r.Reader.Kinds) {
				desiredBy = append(desiredBy, d.Key())
			}
		}
	}
	e := source.NotFound(n, desired, r.Reader.Kinds)
	e.DesiredBy = slices.Compact(desiredBy)
	return e
}
