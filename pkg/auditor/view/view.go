// SPDX-License-Identifier: Apache-2.0

// Package view has what the auditor keeps of one audit: a compact copy without values of Secrets. It has a few dozen
// bytes for each desired object, so that two successive views can be compared.
package view

import (
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// View is one audit, compact and without values of Secrets. It is immutable.
type View struct {
	// At is the time of the audit.
	Evaluated time.Time
	// OutdatedSince is the time since which the state is not known, because the auditor could not follow the changes;
	// zero if it could.
	OutdatedSince time.Time
	// Deployments are the bundle deployments, in the order of the audit.
	Deployments []*Deployment
	// Releases are Fleet's Helm releases on the clusters that were read.
	Releases []*Release
	// Findings are those of the report, one for each cluster.
	Findings []Finding
	Gaps     []report.Gap
	// Aggregates are the objects above the bundle deployments, with their totals.
	Aggregates []Aggregate
	// Fleet are Fleet's own objects.
	Fleet []FleetObject
	// FleetRead are the kinds of Fleet of which every object was read, RecordsRead the clusters of which every release
	// record was read.
	FleetRead   map[string]bool
	RecordsRead map[object.ClusterID]bool
	// Coverage counts the bundle deployments by how far they could be evaluated.
	Coverage evaluate.Coverage
}

// Deployment is one bundle on one cluster.
type Deployment struct {
	ID object.DeploymentID
	// Namespace is that of its BundleDeployment. If only its release is known, it is the namespace that its agent
	// watches; empty if that is not known. Name is the name of the BundleDeployment, which is the bundle id.
	Namespace, Name string
	// Exists is true if its BundleDeployment was read.
	Exists bool
	// Cluster, Bundle, GitRepo and HelmOp are "namespace/name"; empty if not known.
	Cluster, Bundle, GitRepo, HelmOp string
	State                            report.State
	// Reason is why the desired objects are not known; empty if they are.
	Reason string
	// Read is true if the actual state is known of at least one object, or if nothing is desired.
	Read     bool
	Counts   report.Counts
	Reported *report.Reported
	// Release is "namespace/name" with its Revision; empty and 0 if nothing is installed. Commit is the Git commit of
	// the release.
	Release  string
	Revision int
	Commit   string
	// Pending is true if the controller requests another deployment than the agent has applied. Blocker is the first
	// reason for that, Root the last one, if they are known.
	Pending       bool
	Blocker, Root check.StepKind
	// Objects are the desired objects and the orphaned ones, sorted.
	Objects []Object
}

// Ref is the reference of an object. Its strings are those of the audit.
type Ref struct{ ref object.Ref }

// RefOf returns a reference as a Ref.
func RefOf(r object.Ref) Ref { return Ref{r} }

// Value returns the reference.
func (r Ref) Value() object.Ref { return r.ref }

// Object is one desired object, or an orphaned one.
type Object struct {
	Ref   Ref
	State report.State
	// Detail is nil for an object that is Ready.
	Detail *Detail
}

// Expired reports whether the object is a Job that Kubernetes deleted because of its age.
func (o Object) Expired() bool { return o.Detail != nil && o.Detail.Expired }

// Detail is why an object is not Ready. Values are not kept.
type Detail struct {
	Reason, Message string
	// Owner is the present owner, if it is not the bundle: a bundle deployment, a release or a set.
	Owner   string
	Changes []Change
	// Expired is true for a missing Job that Kubernetes deleted because of its age (FD111).
	Expired bool
}

// Change is a field that differs.
type Change struct {
	Path string
	// Manager wrote the live value at Time (RFC 3339), if that is recorded.
	Manager, Time string
}

// Release is the newest revision of one of Fleet's Helm releases.
type Release struct {
	ClusterID object.ClusterID
	// Name is "namespace/name".
	Name     string
	Revision int
	// BundleID is the name of its bundle deployment, Agent the namespace of the agent that made it.
	BundleID, Agent string
	// KeepResources is true if an uninstall by its agent keeps the objects.
	KeepResources bool
	// Deployment has its objects; nil if they are not known.
	Deployment *Deployment
	// Uninstall is true if the agent's garbage collection will uninstall it (FD608). Deletes are the objects that this
	// deletes.
	Uninstall bool
	Deletes   []Ref
}

// Finding is a finding of the report.
type Finding struct {
	ID       string
	Code     string
	Severity report.Severity
	Title    string
	Object   Ref
	// Cluster, BundleDeployment, Bundle, GitRepo and HelmOp are "namespace/name"; empty if there is none.
	Cluster, BundleDeployment, Bundle, GitRepo, HelmOp string
	// Message and Remediation are empty beyond the first maxTexts findings.
	Message, Remediation string
}

// maxTexts is the number of findings of which the texts are kept.
const maxTexts = 2000

// Aggregate is one of Fleet's objects above the bundle deployments, with its totals.
type Aggregate struct {
	Kind, Namespace, Name string
	// Actual are the actual totals; nil unless all its bundle deployments were read.
	Actual *report.Actual
	// Reported is what Fleet reports.
	Reported *report.Reported
}

// FleetObject is one of Fleet's own objects.
type FleetObject struct {
	Kind, Namespace, Name string
	ResourceVersion       string
	// Size is the size of its JSON in bytes, without managedFields; 0 if it is not known.
	Size int
}

// Split returns the namespace and the name of a key: "namespace/name", or a name alone.
func Split(key string) (namespace, name string) {
	i := strings.IndexByte(key, '/')
	return key[:max(i, 0)], key[i+1:]
}

// Outdated returns a copy of the view for a later time, at which no state is known: since a time, it may lack changes.
// The bundle deployments and Fleet's objects stay, so that they are not taken for gone.
func (v *View) Outdated(when, since time.Time) *View {
	out := &View{Evaluated: when, OutdatedSince: since, Fleet: v.Fleet, FleetRead: map[string]bool{},
		RecordsRead: map[object.ClusterID]bool{}, Coverage: evaluate.Coverage{Unread: len(v.Deployments)},
		Gaps: []report.Gap{{What: "following the changes of the cluster", Reason: string(directory.RecordsFailed),
			Detail: "what changed since " + since.UTC().Format(time.RFC3339) + " is not known",
			Effect: "all states are Unknown"}}}
	for _, d := range v.Deployments {
		out.Deployments = append(out.Deployments, &Deployment{ID: d.ID, Namespace: d.Namespace, Name: d.Name,
			Cluster: d.Cluster, Bundle: d.Bundle, GitRepo: d.GitRepo, HelmOp: d.HelmOp, State: report.Unknown,
			Reason: string(directory.RecordsFailed), Release: d.Release, Revision: d.Revision, Commit: d.Commit})
	}
	return out
}

// Step is a view with what changed since the view before it.
type Step struct {
	After       *View
	Transitions []Transition
	Uninstalled []Uninstalled
}

// Transition is an object of a bundle deployment whose state changed.
type Transition struct {
	// Deployment is that of the later view.
	Deployment *Deployment
	Ref        Ref
	// Before and After are zero if the bundle deployment did not desire the object.
	Before, After Object
	// Known is the object when its state was known for the last time before, at the time Since.
	Known Object
	Since time.Time
}

// Vanished reports whether a desired object existed before and is missing now. A Job that expired did not vanish.
func (t *Transition) Vanished() bool {
	gone := t.After.State == report.Missing && exists(t.Known.State)
	return gone && !t.After.Expired()
}

// Dropped reports whether an object existed before, and a new revision no longer desires it. A dropped object that has
// still the ownership metadata of its bundle is Orphaned instead.
func (t *Transition) Dropped() bool { return t.After.State == "" && exists(t.Known.State) }

// exists reports whether an object with a state is known to exist.
func exists(s report.State) bool {
	switch s {
	case "", report.Missing, report.Unknown:
		return false
	}
	return true
}

// Presence is whether an object exists.
type Presence string

// The values of Presence.
const (
	Present  Presence = "true"
	Absent   Presence = "false"
	NotKnown Presence = "unknown"
)

// Uninstalled is a release that does not exist any more.
type Uninstalled struct {
	*Release
	// Since is the last time at which it is known to have existed.
	Since time.Time
	// Last is the bundle deployment when it had this release and was read for the last time; nil if it never was.
	Last *Deployment
	// Bundle is whether the Bundle of the release exists now, BundleDeployment whether its BundleDeployment does.
	Bundle, BundleDeployment Presence
}

// Refs are the objects that the release had as far as they are known. Those that did not exist are left out. There are
// none with keepResources: the objects stay.
func (u *Uninstalled) Refs() []Ref {
	switch {
	case u.KeepResources:
		return nil
	case u.Last == nil:
		return u.Deletes
	}
	var out []Ref
	for _, o := range u.Last.Objects {
		if exists(o.State) {
			out = append(out, o.Ref)
		}
	}
	return out
}

// presence is whether an object of Fleet exists, by its key ("namespace/name").
func (v *View) presence(kind, key string) Presence {
	if key == "" {
		return NotKnown
	}
	for _, o := range v.Fleet {
		if o.Kind == kind && o.Namespace+"/"+o.Name == key {
			return Present
		}
	}
	if v.FleetRead[kind] {
		return Absent
	}
	return NotKnown
}

func (v *View) uninstalled(was *installed) Uninstalled {
	last := was.last
	u := Uninstalled{Release: was.Release, Since: was.when, Last: last, Bundle: NotKnown, BundleDeployment: NotKnown}
	if last != nil {
		u.Bundle = v.presence(state.Bundle, last.Bundle)
		u.BundleDeployment = v.presence(state.BundleDeployment, last.Namespace+"/"+last.Name)
	}
	return u
}

// installed is a release, with its bundle deployment when that was read for the last time.
type installed struct {
	*Release
	last *Deployment
	when time.Time
}
