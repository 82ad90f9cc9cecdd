// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Named is an object as somebody names it. Kind is a word that source.Kind's Called understands; an empty Namespace stands for all.
type Named struct{ Kind, Namespace, Name string }

// String writes the name as it may be typed.
func (n Named) String() string {
	if n.Namespace == "" {
		return n.Kind + "/" + n.Name
	}
	return n.Kind + "/" + n.Namespace + "/" + n.Name
}

// Owner says who owns objects. Where a name stands for several, in namespaces or groups, it says so of each. One that does not exist is an
// error that names it.
func Owner(ctx context.Context, src source.Source, o Options, names []Named) (*report.Ownership, error) {
	r, err := read(ctx, src, o)
	if err != nil {
		return nil, err
	}
	if err := r.found(); err != nil && !errors.Is(err, ErrNoFleet) { // without Fleet an object still has an owner
		return nil, err
	}
	out := &report.Ownership{Tool: report.Tool{Version: o.Version}, TakenAt: report.Time(r.Description.TakenAt),
		Source: report.NewSource(r.Description, r.desired), Gaps: report.Gaps(r.gaps)}
	for _, n := range names {
		found, err := r.named(ctx, n)
		if err != nil {
			return nil, err
		}
		out.Objects = append(out.Objects, found...)
	}
	out.Close()
	return out, nil
}

// named finds what a name stands for.
func (r *reading) named(ctx context.Context, n Named) ([]report.OwnedObject, error) {
	var out []report.OwnedObject
	var unread []source.Failure
	kinds := slices.DeleteFunc(r.Kinds.All(), func(k source.Kind) bool { return !k.Called(n.Kind) })
	if len(kinds) == 0 {
		return nil, fmt.Errorf("finding %s: there is no kind %q here", n, n.Kind)
	}
	for _, k := range kinds {
		q := source.Query{Kind: k.GroupVersionKind, FieldSelector: "metadata.name=" + n.Name, MetadataOnly: true}
		if n.Namespace != "" && k.Namespaced {
			q.Namespaces = []string{n.Namespace}
		}
		cover, err := r.List(ctx, q, func(o source.Object) error {
			m, err := o.ReadMeta()
			if err != nil {
				return fmt.Errorf("finding %s: its metadata could not be decoded", n)
			}
			out = append(out, r.ownedObject(m, o.Raw))
			return nil
		})
		if err != nil {
			return nil, err
		}
		for _, f := range cover.Failures() {
			unread = append(unread, f)
		}
	}
	slices.SortFunc(out, func(a, b report.OwnedObject) int { return a.Compare(b.Ref) })
	switch {
	case len(out) > 0:
		return out, nil
	case len(unread) > 0:
		return nil, fmt.Errorf("finding %s: %s: %s", n, unread[0].Reason, unread[0].Detail)
	}
	return nil, fmt.Errorf("finding %s: there is none", n)
}

func (r *reading) ownedObject(m *object.Meta, raw []byte) report.OwnedObject {
	c := r.desired.Clusters[0]
	out := report.OwnedObject{Ref: m.Ref(), UID: m.Metadata.UID, Controller: m.Controller()}
	have := ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations)
	for _, w := range c.Objects[out.Key()] {
		reason := ownership.Classify(have, w.Deployment.Ownership).Reason
		out.DesiredBy = append(out.DesiredBy, report.Claimant{BundleDeployment: w.Deployment.Key(), Reason: string(reason)})
	}
	holder := c.OwnerOf(have)
	if have.Hash != "" && holder != nil {
		out.Holder = holderOf(holder)
	}
	if len(out.DesiredBy) == 0 {
		out.Unknown = evaluate.DesireUnknown(r.desired, c)
	}
	out.Verdict = verdict(c, have, holder, out)
	e := explainer{Cluster: c, desired: r.desired, have: have, holder: holder, annotations: m.Metadata.Annotations}
	out.Marks = e.marks(m)
	e.writers(out.Marks, raw)
	return out
}

func holderOf(d *resolve.BundleDeployment) *report.Holder {
	out := &report.Holder{BundleDeployment: d.Key(), Bundle: d.Bundle, GitRepo: d.GitRepo, HelmOp: d.HelmOp, Cluster: d.Cluster,
		SetID: d.Ownership.SetID, Commit: d.Commit}
	if d.Release.Name != "" {
		out.Release = d.Release.String()
	}
	return out
}

// verdict is whose an object is, in the order in which it is decided: Fleet looks at the hash alone.
func verdict(c *resolve.Cluster, have ownership.Metadata, holder *resolve.BundleDeployment, o report.OwnedObject) string {
	wants := func(d *resolve.BundleDeployment) bool {
		return slices.ContainsFunc(o.DesiredBy, func(c report.Claimant) bool { return c.BundleDeployment == d.Key() })
	}
	switch {
	case have.Hash != "" && holder == nil && c.Shared(have):
		return "it carries the hash of a set that several bundle deployments here share, and its Helm annotations name none of their releases"
	case have.Hash != "" && holder != nil && wants(holder):
		return "Fleet counts it as an object of bundle deployment " + holder.Key() + ", which wants it"
	case have.Hash != "" && holder != nil:
		return "it carries the hash of bundle deployment " + holder.Key() + ", which does not want it"
	case have.Hash != "" && fleet.IsFleetsOwnSet(have.SetID):
		return "it belongs to Fleet itself"
	case have.Hash != "" && !c.SetsComplete:
		return "it carries the hash of a set of which nothing is known here, and not every release record could be read"
	case have.Hash != "":
		return "it carries the hash of a set that no release on this cluster has"
	case len(o.DesiredBy) > 0:
		return "Fleet counts it as nobody's, though " + o.DesiredBy[0].BundleDeployment + " wants it: it carries no hash"
	case o.Unknown != "" && have.ReleaseName != "":
		return "it is an object of Helm release " + have.Release() + "; whether a bundle desires it is not known: " + o.Unknown
	case o.Unknown != "":
		return "whether a bundle desires it is not known: " + o.Unknown
	case have.ReleaseName != "":
		return "it is none of Fleet's: it is an object of Helm release " + have.Release()
	}
	return "it is none of Fleet's, and no bundle that is installed on this cluster desires it"
}
