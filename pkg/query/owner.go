// SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

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
	if err := r.Found(); err != nil && !errors.Is(err, collect.ErrNoFleet) { // an object may have an owner without Fleet
		return nil, err
	}
	if err := r.SettleDisputes(ctx); err != nil {
		return nil, err
	}
	r.Resolve(nil, nil)
	out := &report.Ownership{Head: report.NewHead(report.KindOwnership, o.Version, r.Description, r.Directory),
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
		for _, k := range r.Clusters[i].Kinds.All() {
			if !k.Called(n.Kind) {
				continue
			}
			served = true
			q := source.Query{Kind: k.GroupVersionKind, FieldSelector: "metadata.name=" + n.Name, MetadataOnly: true}
			if n.Namespace != "" && k.Namespaced {
				q.Namespaces = []string{n.Namespace}
			}
			cover, err := r.Clusters[i].Source.List(ctx, q, func(o source.Object) error {
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
		return nil, collect.OrUnread(r.unknownKind(n), r.Description)
	case len(unread) > 0:
		return nil, fmt.Errorf("%s could not be read: %s: %s", n, unread[0].Reason, unread[0].Detail)
	}
	return nil, collect.OrUnread(r.unknownName(n), r.Description)
}

func (r *owners) ownedObject(c desired.OnCluster, m *object.Meta, o source.Object) report.OwnedObject {
	out := report.OwnedObject{Ref: m.Ref(), UID: m.Metadata.UID, Controller: m.Controller()}
	have := ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations)
	of := subject{OnCluster: c, OwnedObject: &out, all: r.Desired.Deployments, have: have,
		deleting: m.Metadata.DeletionTimestamp != "", commands: r.commands}
	for _, w := range c.Of(out.Key()) {
		d := c.Deployment(w.Deployment)
		class, _ := ownership.Classify(have, d.Ownership)
		if of.confirms(d) {
			of.desired = append(of.desired, w)
		} else {
			class = evaluate.Unconfirmed
		}
		out.DesiredBy = append(out.DesiredBy, report.Claimant{BundleDeployment: d.Key(),
			Reason: string(class)})
	}
	if have.Hash != "" {
		of.owner = c.OwnerOf(have)
	}
	if of.owner != nil && of.confirms(of.owner) {
		out.Owner = ownerOf(of.owner)
	}
	if len(of.desired) == 0 {
		out.Unknown = evaluate.DesireUnknown(r.Desired, c.Cluster, func(records string) bool {
			return c.MayConcern(records, out.Namespace)
		})
	}
	of.answer()
	e := metadataExplainer{OnCluster: c, all: r.Desired.Deployments, have: have, owner: of.owner, namespace: out.Namespace,
		annotations: m.Metadata.Annotations}
	out.Metadata = e.entries(m)
	e.addWriters(out.Metadata, o)
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
		Kind: true, Snapshot: r.Description.Origin == source.OriginSnapshot}
	for _, c := range r.Clusters {
		for _, k := range c.Kinds.All() {
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
			if n.Is(o.Ref, r.Kinds) {
				desiredBy = append(desiredBy, d.Key())
			}
		}
	}
	e := source.NotFound(n, desired, r.Kinds)
	e.DesiredBy = slices.Compact(desiredBy)
	return e
}
