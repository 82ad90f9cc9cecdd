// SPDX-License-Identifier: Apache-2.0

// Package owner finds out who owns objects, and explains their ownership metadata.
package owner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/gaps"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Of reports the owners of objects. A name may match several objects, in several namespaces or API groups. For
// each name that is not found or could not be read, there is an error that names it, beside the report of the other
// ones, which is nil without any.
func Of(ctx context.Context, src source.Source, o audit.Options, names []source.Named) (*report.Ownership, error) {
	r := owners{}
	var err error
	r.Reading, err = audit.Read(ctx, src, o)
	if err != nil {
		return nil, err
	}
	if err := r.Found(); err != nil && !errors.Is(err, gaps.ErrNoFleet) { // an object may have an owner without Fleet
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
type owners struct{ *audit.Reading }

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
			cover, err := r.Clusters[i].List(ctx, q, func(o source.Object) error {
				m, err := o.ReadMeta()
				if err != nil {
					return fmt.Errorf("decoding the metadata of %s: it is not valid", n)
				}
				out = append(out, r.ownedObject(r.Desired.On(c), m, o))
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
		return nil, gaps.OrUnread(r.unknownKind(n), r.Description)
	case len(unread) > 0:
		return nil, fmt.Errorf("%s could not be read: %s: %s", n, unread[0].Reason, unread[0].Detail)
	}
	return nil, gaps.OrUnread(r.unknownName(n), r.Description)
}

func (r *owners) ownedObject(c resolve.OnCluster, m *object.Meta, o source.Object) report.OwnedObject {
	out := report.OwnedObject{Ref: m.Ref(), UID: m.Metadata.UID, Controller: m.Controller()}
	have := ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations)
	for _, w := range c.Of(out.Key()) {
		class, _ := ownership.Classify(have, w.Deployment.Ownership)
		evidence := w.Deployment.Evidence()
		if evidence.Add(out.Key(), have); !evidence.Confirms(out.Key()) {
			class = evaluate.Unconfirmed
		}
		out.DesiredBy = append(out.DesiredBy, report.Claimant{BundleDeployment: w.Deployment.Key(),
			Reason: string(class)})
	}
	e := explainer{OnCluster: c, desired: r.Desired, have: have, namespace: out.Namespace,
		annotations: m.Metadata.Annotations}
	if have.Hash != "" {
		e.owner = c.OwnerOf(have)
		out.Owner = ownerOf(e.owner)
	}
	if len(confirmed(out)) == 0 {
		out.Unknown = evaluate.DesireUnknown(r.Desired, c.Cluster, func(records string) bool {
			return c.MayConcern(records, out.Namespace)
		})
	}
	out.Result, out.Verdict = result(c, have, out)
	out.Metadata = e.entries(m)
	e.addWriters(out.Metadata, o)
	return out
}

func ownerOf(d *resolve.BundleDeployment) *report.BundleOwner {
	if d == nil {
		return nil
	}
	out := &report.BundleOwner{BundleDeployment: d.Key(), Bundle: d.Bundle, GitRepo: d.GitRepo, HelmOp: d.HelmOp,
		Cluster: d.Cluster,
		SetID:   d.Ownership.SetID, Commit: d.Commit}
	if d.Release.Name != "" {
		out.Release = d.Release.String()
	}
	return out
}

// confirmed are the bundles that desire an object, without those of release records that the object does not confirm.
func confirmed(o report.OwnedObject) []report.Claimant {
	return slices.DeleteFunc(slices.Clone(o.DesiredBy), func(c report.Claimant) bool {
		return c.Reason == evaluate.Unconfirmed
	})
}

// result returns the owner of an object as a value and as a sentence. Fleet considers only the hash.
func result(c resolve.OnCluster, have ownership.Metadata, o report.OwnedObject) (report.OwnerResult, string) {
	if have.Hash != "" {
		return setResult(c, have, o)
	}
	switch {
	case len(confirmed(o)) > 0:
		return report.OwnerNotOwned, "it has no hash label: Fleet does not count it as an object of " +
			confirmed(o)[0].BundleDeployment + ", which desires it"
	case o.Unknown != "" && have.ReleaseName != "":
		return report.OwnerUnknown, "Helm release " + have.Release() +
			" owns it; it is not known whether a bundle desires it: " + o.Unknown
	case o.Unknown != "":
		return report.OwnerUnknown, "it is not known whether a bundle desires it: " + o.Unknown
	case have.ReleaseName != "":
		return report.OwnerHelmRelease, "no bundle owns it: Helm release " + have.Release() + " owns it"
	}
	return report.OwnerNone, "no bundle owns it, and no bundle that is installed on this cluster desires it"
}

// setResult is the result for an object that has a hash.
func setResult(c resolve.OnCluster, have ownership.Metadata, o report.OwnedObject) (report.OwnerResult, string) {
	owner := ownership.Evaluate(c, ownership.Claim{Object: o.Key(), Have: have}).Owners[0]
	known := owner.Situation == ownership.KnownHash
	switch {
	case known && len(owner.Bundles) > 1:
		return report.OwnerSharedSet,
			"several bundle deployments share its set, and its Helm annotations name none of their releases"
	case known && slices.ContainsFunc(confirmed(o), func(d report.Claimant) bool {
		return d.BundleDeployment == owner.Bundles[0].Deployment
	}):
		return report.OwnerOwned, "Fleet counts it as an object of " + owner.String() + ", which desires it"
	case known && c.OwnerOf(have) != nil && c.OwnerOf(have).HasHook(o.Ref):
		return report.OwnerNotDesired, "it is a hook in the release of " + owner.String() + ": Helm creates it for a " +
			"deploy, and Fleet does not count it"
	case known:
		return report.OwnerNotDesired, "it has the hash of " + owner.String() + ", which does not desire it"
	case owner.Situation == ownership.SystemSet:
		return report.OwnerSystemSet, "it " + owner.Describe()
	case !c.SetsKnownIn(o.Namespace):
		return report.OwnerUnknownSet,
			"it has the hash of a set that is not known here, and not every release record could be read"
	}
	return report.OwnerLostSet, "it has the hash of a set that no release on this cluster has"
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
