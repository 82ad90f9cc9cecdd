// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
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

// Owner says whose an object is. Where the name stands for several, in namespaces or groups, it says so of each. One that is not there is
// an error that names it.
func Owner(ctx context.Context, src source.Source, o Options, names []Named) (*report.Ownership, error) {
	r := newRun(src, o)
	if err := r.gather(ctx); err != nil && !errors.Is(err, ErrNoFleet) { // without Fleet an object is still somebody's
		return nil, err
	}
	out := &report.Ownership{Tool: report.Tool{Version: o.Version}, Source: r.sourceShown()}
	if !r.desc.TakenAt.IsZero() {
		out.TakenAt = r.desc.TakenAt.UTC().Format(time.RFC3339)
	}
	for _, n := range names {
		found, err := r.named(ctx, n)
		if err != nil {
			return nil, err
		}
		out.Objects = append(out.Objects, found...)
	}
	out.Gaps = r.gaps
	out.Close()
	return out, nil
}

// named finds what a name stands for.
func (r *run) named(ctx context.Context, n Named) ([]report.OwnedObject, error) {
	var out []report.OwnedObject
	var unread []source.Failure
	kinds := slices.DeleteFunc(r.kinds.All(), func(k source.Kind) bool { return !k.Called(n.Kind) })
	if len(kinds) == 0 {
		return nil, fmt.Errorf("finding %s: there is no kind %q here", n, n.Kind)
	}
	for _, k := range kinds {
		q := source.Query{Kind: k.GroupVersionKind, FieldSelector: "metadata.name=" + n.Name, MetadataOnly: true}
		if n.Namespace != "" && k.Namespaced {
			q.Namespaces = []string{n.Namespace}
		}
		cover, err := r.src.List(ctx, q, func(o source.Object) error {
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

func (r *run) ownedObject(m *object.Meta, raw []byte) report.OwnedObject {
	out := report.OwnedObject{Ref: m.Ref(), UID: m.Metadata.UID, Controller: m.Controller()}
	have := ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations)
	for _, w := range r.inv.Wants[out.Key()] {
		reason := ownership.Classify(have, w.Deployment.Ownership).Reason
		out.DesiredBy = append(out.DesiredBy, report.Claimant{BundleDeployment: w.Deployment.Key(), Reason: string(reason)})
	}
	holder := r.inv.OwnerOf(have)
	if have.Hash != "" && holder != nil {
		out.Holder = holderOf(holder)
	}
	if len(out.DesiredBy) == 0 {
		out.Unknown = r.desireUnknown()
	}
	out.Verdict = r.verdict(have, holder, out)
	e := explainer{run: r, have: have, holder: holder, annotations: m.Metadata.Annotations}
	out.Marks = e.marks(m)
	e.writers(out.Marks, raw)
	return out
}

func holderOf(d *inventory.Deployment) *report.Holder {
	out := &report.Holder{BundleDeployment: d.Key(), Bundle: d.Bundle, GitRepo: d.GitRepo, HelmOp: d.HelmOp, Cluster: d.Cluster,
		SetID: d.Ownership.SetID, Commit: d.Commit}
	if d.Release.Name != "" {
		out.Release = d.Release.String()
	}
	return out
}

// verdict is whose an object is, in the order in which it is decided: Fleet looks at the hash alone.
func (r *run) verdict(have ownership.Metadata, holder *inventory.Deployment, o report.OwnedObject) string {
	wants := func(d *inventory.Deployment) bool {
		return slices.ContainsFunc(o.DesiredBy, func(c report.Claimant) bool { return c.BundleDeployment == d.Key() })
	}
	switch {
	case have.Hash != "" && holder == nil && r.inv.Shared(have):
		return "it carries the hash of a set that several bundle deployments here share, and its Helm annotations name none of their releases"
	case have.Hash != "" && holder != nil && wants(holder):
		return "Fleet counts it as an object of bundle deployment " + holder.Key() + ", which wants it"
	case have.Hash != "" && holder != nil:
		return "it carries the hash of bundle deployment " + holder.Key() + ", which does not want it"
	case have.Hash != "" && fleet.IsFleetsOwnSet(have.SetID):
		return "it belongs to Fleet itself"
	case have.Hash != "" && !r.inv.SetsComplete:
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

// sourceShown is the source as a report shows it.
func (r *run) sourceShown() report.Source {
	return report.Source{Kind: string(r.desc.Origin), Context: r.desc.Context, Server: r.desc.Server, Path: strings.Join(r.desc.Paths, ", "),
		KubernetesVersion: r.desc.KubernetesVersion, FleetVersions: r.versions()}
}
