// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// New returns the view of an audit at a time. All texts are those of the report, in which secrets are hidden.
func New(a *audit.Audit, when time.Time) *View {
	r := a.Unmerged()
	b := builder{Audit: a, expired: expired(r.Findings)}
	v := &View{Evaluated: when, Gaps: r.Gaps, FleetRead: map[string]bool{}, RecordsRead: map[object.ClusterID]bool{},
		Coverage: a.Coverage(), Deployments: b.deployments(r), Findings: b.findings(r.Findings)}
	v.Releases = b.releases(v.Deployments)
	for _, c := range a.Desired.Clusters {
		problem, _ := directory.RecordsProblem(c.State, "")
		v.RecordsRead[c.ID] = problem == ""
	}
	for kind, list := range map[string][]report.Aggregate{state.GitRepo: r.GitRepos, state.HelmOp: r.HelmOps,
		state.Bundle: r.Bundles, state.ClusterKind: r.Clusters, state.ClusterGroup: r.ClusterGroups} {
		for _, x := range list {
			v.Aggregates = append(v.Aggregates, Aggregate{Kind: kind, Namespace: text(x.Namespace),
				Name: text(x.Name), Actual: x.Actual, Reported: reported(x.Reported)})
		}
	}
	slices.SortFunc(v.Aggregates, func(x, y Aggregate) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	for _, kind := range state.Kinds {
		v.FleetRead[kind.Name] = a.Desired.Read(kind.Name, "")
		for _, o := range kind.List(a.Desired.Fleet) {
			v.Fleet = append(v.Fleet, FleetObject{Kind: kind.Name, Namespace: text(o.GetNamespace()),
				Name: text(o.GetName()), ResourceVersion: strings.Clone(o.GetResourceVersion()), Size: sizeOf(o)})
		}
	}
	return v
}

// sizeOf returns the size of an object in bytes; 0 if it is not known.
func sizeOf(o v1alpha1.Object) int {
	switch x := o.(type) {
	case *v1alpha1.Bundle:
		return x.Size
	case *v1alpha1.GitRepo:
		return x.Size
	case *v1alpha1.BundleDeployment:
		return x.Size
	}
	return 0
}

// text returns a text that is no part of a larger one, and shared with equal ones.
func text(s string) string { return unique.Make(s).Value() }

// reported copies a status. The numbers of a report are a part of the object that they were read from.
func reported(r *report.Reported) *report.Reported {
	if r == nil {
		return nil
	}
	out := *r
	out.State, out.AsOf = text(r.State), text(r.AsOf)
	for _, n := range []**int{&out.DesiredReady, &out.Ready, &out.Missing, &out.Modified, &out.NotReady, &out.Orphaned,
		&out.BundleDeployments, &out.ReadyBundleDeployments} {
		if *n != nil {
			copied := **n
			*n = &copied
		}
	}
	return &out
}

// builder makes a view.
type builder struct {
	*audit.Audit
	// expired are the Jobs that expired.
	expired map[job]bool
}

// job is a Job of a bundle deployment.
type job struct {
	object.Ref
	cluster, bundleDeployment string
}

// expired returns the Jobs that Kubernetes deleted because of their age.
func expired(findings []report.Finding) map[job]bool {
	out := map[job]bool{}
	for i := range findings {
		if f := &findings[i]; f.Code == codes.ExpiredJob {
			out[job{f.Object, f.Cluster, f.BundleDeployment}] = true
		}
	}
	return out
}

func (b builder) deployments(r *report.Audit) []*Deployment {
	type key struct{ namespace, name, release, cluster string }
	redacted := map[key]*report.BundleDeployment{}
	for i := range r.BundleDeployments {
		bd := &r.BundleDeployments[i]
		redacted[key{bd.Namespace, bd.Name, bd.Release, bd.Cluster}] = bd
	}
	causes := b.Input().Causes()
	var out []*Deployment
	for _, d := range b.Deployments {
		k := key{d.Namespace, d.Name, "", d.Cluster}
		if d.Release.Revision > 0 {
			k.release = d.Release.String()
		}
		out = append(out, b.deployment(d, redacted[k], causes.Blocked(&d.Deployment)))
	}
	return out
}

// deployment makes the copy of a bundle deployment. steps are why it is not applied.
func (b builder) deployment(d *evaluate.BundleDeployment, r *report.BundleDeployment,
	steps []check.Step) *Deployment {
	out := &Deployment{ID: unique.Make(d.ID()).Value(), Namespace: b.watchedNamespace(d), Name: text(d.Name),
		Exists: d.BD != nil, Cluster: text(d.Cluster), Bundle: text(d.Bundle), GitRepo: text(d.GitRepo),
		HelmOp: text(d.HelmOp),
		State:  r.State, Reason: r.Reason, Read: !r.WithoutResult(), Counts: r.Counts, Reported: reported(r.Reported),
		Commit: text(d.Commit), Objects: make([]Object, 0, len(r.Resources))}
	if d.Release.Revision > 0 {
		out.Release, out.Revision = text(d.Release.Release()), d.Release.Revision
	}
	if d.BD != nil {
		wanted := d.BD.Spec.DeploymentID
		out.Pending = wanted != "" && wanted != d.BD.Status.AppliedDeploymentID
	}
	if len(steps) > 0 {
		out.Blocker, out.Root = steps[0].Kind, steps[len(steps)-1].Kind
	}
	for i := range r.Resources {
		x := &r.Resources[i]
		o := Object{Ref: RefOf(x.Ref), State: x.State, Detail: detailOf(x)}
		if x.State == report.Missing {
			o.Detail.Expired = b.expired[job{x.Ref, d.Cluster, d.Key()}]
		}
		out.Objects = append(out.Objects, o)
	}
	return out
}

// watchedNamespace is the namespace of the BundleDeployment, also if only the release is known.
func (b builder) watchedNamespace(d *evaluate.BundleDeployment) string {
	if d.Namespace != "" || !d.Placed {
		return text(d.Namespace)
	}
	if watched, known := b.Desired.Cluster(d.ClusterID).Watches(d.Agent); known {
		return text(watched)
	}
	return text(d.DeploymentNamespace())
}

func detailOf(x *report.Resource) *Detail {
	if x.State == report.Ready {
		return nil
	}
	out := &Detail{Reason: text(x.Reason), Message: strings.Clone(x.Message)}
	if x.Owner != nil {
		out.Owner = text(cmp.Or(x.Owner.BundleDeployment, x.Owner.Release, x.Owner.SetID))
	}
	for _, d := range x.Differences {
		out.Changes = append(out.Changes, Change{text(d.Path), text(d.Manager), text(d.Time)})
	}
	return out
}

// releases returns the newest revisions of Fleet's releases, with the deployments that have their objects.
func (b builder) releases(deployments []*Deployment) []*Release {
	type key struct {
		cluster object.ClusterID
		name    string
	}
	byRelease := map[key]*Deployment{}
	for _, d := range deployments {
		if d.Release != "" {
			byRelease[key{d.ID.Cluster, d.Release}] = d
		}
	}
	removed := map[key][]object.Ref{}
	for _, x := range b.Desired.Removals {
		removed[key{x.ClusterID, x.Record.Release()}] = x.Deletes
	}
	var out []*Release
	for _, c := range b.Desired.Clusters {
		for _, name := range slices.Sorted(maps.Keys(c.State.Latest)) {
			last := c.State.Latest[name]
			if last.BundleID == "" {
				continue
			}
			k := key{c.ID, name}
			x := &Release{ClusterID: c.ID, Name: text(name), Revision: last.Revision, BundleID: text(last.BundleID),
				Agent: text(last.AgentNamespace), KeepResources: last.KeepResources, Deployment: byRelease[k]}
			for _, ref := range removed[k] {
				x.Deletes = append(x.Deletes, RefOf(ref))
			}
			_, x.Uninstall = removed[k]
			out = append(out, x)
		}
	}
	return out
}

func (b builder) findings(all []report.Finding) []Finding {
	out := make([]Finding, 0, len(all))
	for i := range all {
		f := &all[i]
		x := Finding{ID: f.ID, Code: f.Code, Severity: f.Severity, Title: text(f.Title),
			Object: RefOf(f.Object), Cluster: text(f.Cluster), BundleDeployment: text(f.BundleDeployment),
			Bundle: text(f.Bundle), GitRepo: text(f.GitRepo), HelmOp: text(f.HelmOp)}
		if i < maxTexts {
			x.Message, x.Remediation = f.Message, f.Remediation
		}
		out = append(out, x)
	}
	return out
}

// Follower compares each view with the one before it. What a view could not read is compared when it is read again.
// The zero value is ready for use.
type Follower struct {
	view *View
	// read are the bundle deployments as they were read for the last time, unknown their objects that were Unknown
	// then.
	read    map[object.DeploymentID]seen
	unknown map[object.DeploymentID]map[Ref]known
	// releases are those that exist, as far as that is known.
	releases map[releaseID]installed
}

type seen struct {
	*Deployment
	when time.Time
}

// known is an object when its state was known for the last time.
type known struct {
	Object
	when time.Time
}

type releaseID struct {
	cluster object.ClusterID
	name    string
}

// Confirm states that nothing had changed at a later time than that of the last view.
func (f *Follower) Confirm(when time.Time) {
	if f.view == nil || !when.After(f.view.Evaluated) {
		return
	}
	for id, d := range f.read {
		if d.when.Equal(f.view.Evaluated) {
			f.read[id] = seen{d.Deployment, when}
		}
	}
	for id, r := range f.releases {
		if r.when.Equal(f.view.Evaluated) {
			r.when = when
			f.releases[id] = r
		}
	}
}

// Next compares a view with the one before it.
func (f *Follower) Next(v *View) *Step {
	out := &Step{After: v}
	read, unknown := map[object.DeploymentID]seen{}, map[object.DeploymentID]map[Ref]known{}
	for _, d := range v.Deployments {
		last, was := f.read[d.ID]
		if d.Reason != "" {
			if was {
				read[d.ID], unknown[d.ID] = last, f.unknown[d.ID]
			}
			continue
		}
		read[d.ID] = seen{d, v.Evaluated}
		if was {
			c := comparison{deployment: d, since: last.when, unknown: f.unknown[d.ID], stillUnknown: map[Ref]known{}}
			c.compare(last.Objects)
			out.Transitions = append(out.Transitions, c.changed...)
			unknown[d.ID] = c.stillUnknown
		}
	}
	out.Uninstalled = f.uninstalled(v)
	f.view, f.read, f.unknown = v, read, unknown
	return out
}

// uninstalled returns the releases that a view does not have, although every release record of the cluster was read.
func (f *Follower) uninstalled(v *View) []Uninstalled {
	now := map[releaseID]installed{}
	for _, r := range v.Releases {
		id := releaseID{r.ClusterID, r.Name}
		last := f.releases[id].last
		if d := r.Deployment; d != nil && d.Reason == "" {
			last = d
		}
		now[id] = installed{r, last, v.Evaluated}
	}
	var out []Uninstalled
	for id, was := range f.releases {
		_, present := now[id]
		switch {
		case present:
		case v.RecordsRead[id.cluster]:
			out = append(out, v.uninstalled(&was))
		default: // it may still exist
			now[id] = was
		}
	}
	slices.SortFunc(out, func(x, y Uninstalled) int {
		return cmp.Or(cmp.Compare(x.ClusterID, y.ClusterID), cmp.Compare(x.Name, y.Name))
	})
	f.releases = now
	return out
}

// comparison compares the objects of a bundle deployment with those that it had at a time.
type comparison struct {
	deployment *Deployment
	since      time.Time
	// unknown are the objects that were Unknown at that time, stillUnknown those that are Unknown now.
	unknown, stillUnknown map[Ref]known
	changed               []Transition
}

// compare goes through the objects of two views, which are sorted.
func (c *comparison) compare(before []Object) {
	after := c.deployment.Objects
	for len(before) > 0 || len(after) > 0 {
		t := Transition{Deployment: c.deployment}
		order := orderOf(before, after)
		if order <= 0 {
			t.Ref, t.Before, before = before[0].Ref, before[0], before[1:]
		}
		if order >= 0 {
			t.Ref, t.After, after = after[0].Ref, after[0], after[1:]
		}
		t.Known, t.Since = t.Before, c.since
		if remembered, was := c.unknown[t.Ref]; was {
			t.Known, t.Since = remembered.Object, remembered.when
		}
		if t.After.State == report.Unknown && t.Known.State != "" {
			c.stillUnknown[t.Ref] = known{t.Known, t.Since}
		}
		if t.Before.State != t.After.State {
			c.changed = append(c.changed, t)
		}
	}
}

// orderOf compares the first objects of two lists, of which at most one is empty. An empty list is the last one.
func orderOf(before, after []Object) int {
	switch {
	case len(after) == 0:
		return -1
	case len(before) == 0:
		return 1
	case before[0].Ref == after[0].Ref:
		return 0
	}
	return before[0].Ref.Value().Compare(after[0].Ref.Value())
}
