// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Evaluation is the evaluation of one cluster, cell by cell. It is kept current: what changes makes only those bundle
// deployments be evaluated again that depend on it. The bundle deployments that it returns are immutable.
type Evaluation struct {
	*Evaluator
	// cells are the observations of each bundle deployment, by the index of the desired object.
	cells map[object.DeploymentID][]Object
	// shared are the bundle deployments whose cells are those of a result, which is immutable.
	shared map[object.DeploymentID]bool
	// agreeing counts, by agent, the objects that have the set of their bundle, of the bundle deployments that
	// mayContradict.
	agreeing map[string]int
	// undesired are the objects that no release desires.
	undesired   map[object.Key]Undesired
	autoscalers map[autoscalerKey]Autoscaler
	// autoscalersUnread is true if not all autoscalers could be read, autoscalersListed if they were listed.
	autoscalersUnread, autoscalersListed bool
	answers                              map[object.CellID]Answer
	rollouts                             map[object.DeploymentID]Rollout
	gaps                                 []source.Gap
	// current are the bundle deployments that need not be evaluated again.
	current map[object.DeploymentID]*BundleDeployment
}

// Evaluated is the evaluation of one cluster at one time.
type Evaluated struct {
	Deployments []*BundleDeployment
	Undesired   []Undesired
	Gaps        []source.Gap
}

// Evaluate evaluates the bundle deployments in scope from the observed live objects.
func (e *Evaluator) Evaluate(observed Observed) *Evaluation {
	x := &Evaluation{Evaluator: e, cells: map[object.DeploymentID][]Object{},
		shared: map[object.DeploymentID]bool{}, agreeing: map[string]int{},
		undesired: map[object.Key]Undesired{}, autoscalers: map[autoscalerKey]Autoscaler{},
		answers: map[object.CellID]Answer{}, rollouts: map[object.DeploymentID]Rollout{},
		current: map[object.DeploymentID]*BundleDeployment{}}
	for _, d := range e.scope {
		x.cells[d.ID()] = make([]Object, len(d.Desired))
	}
	for _, l := range observed.Lists {
		for _, o := range l.Objects {
			x.cells[o.Deployment][o.index] = o
		}
	}
	evidence := map[object.DeploymentID]ownership.Evidence{}
	for gvk, l := range observed.Lists {
		isConfirmed := func(o *desired.Object) bool { return x.confirms(o, evidence) }
		x.gaps = append(x.gaps, x.listGaps(e.kinds[gvk], isConfirmed, l, observed.Searched)...)
	}
	x.complete(observed)
	x.addAutoscalers(observed)
	x.autoscalersListed = observed.autoscalersListed()
	for _, u := range observed.undesired() {
		x.undesired[u.Key()] = u
	}
	x.gaps = append(x.gaps, unsearched(observed.Unsearched)...)
	return x
}

// Changed returns the bundle deployments that have other objects for an Evaluator than before.
func (x *Evaluation) Changed(e *Evaluator) map[object.DeploymentID]bool {
	out := map[object.DeploymentID]bool{}
	for _, d := range e.scope {
		old := x.cluster.Deployment(d.ID())
		if old != d && !d.Kept {
			out[d.ID()] = true
		}
	}
	return out
}

// Desired returns the desired objects of a bundle deployment.
func (e *Evaluator) Desired(id object.DeploymentID) []*desired.Object {
	return e.cluster.Deployment(id).Desired
}

// Resume continues an earlier evaluation, which must not be used any more. changed are the bundle deployments that
// have other objects, or whose objects are compared in another way. read are the identities that these desire, or
// desired before; observed are the live objects with these. The bundle deployments in scope are the same.
func (e *Evaluator) Resume(before *Evaluation, changed map[object.DeploymentID]bool, read []object.Key,
	observed Observed) *Evaluation {
	x, was := *before, before.Evaluator
	contradicted := map[object.DeploymentID]bool{}
	for _, d := range was.scope {
		contradicted[d.ID()] = before.contradicted(d)
	}
	x.Evaluator, x.agreeing = e, map[string]int{}
	for id := range changed {
		x.cells[id] = make([]Object, len(e.cluster.Deployment(id).Desired))
		delete(x.shared, id)
		delete(x.rollouts, id)
	}
	for cell := range x.answers {
		if changed[cell.Deployment] {
			delete(x.answers, cell)
		}
	}
	for _, l := range observed.Lists {
		for _, o := range l.Objects {
			if changed[o.Deployment] { // who else desires it gets an event of its own
				x.cells[o.Deployment][o.index] = o
			}
		}
	}
	x.complete(observed)
	for _, d := range e.scope {
		if was.cluster.Deployment(d.ID()) != d || x.contradicted(d) != contradicted[d.ID()] {
			delete(x.current, d.ID())
		}
	}
	found := map[object.Key]*Undesired{}
	for _, u := range observed.undesired() {
		found[u.Key()] = &u
	}
	for _, key := range read {
		if _, known := x.undesired[key]; known || found[key] != nil {
			x.ReplaceUndesired(key, found[key])
		}
	}
	for _, l := range observed.Lists {
		for _, a := range l.Autoscalers {
			x.ReplaceAutoscaler(a.key.namespace, a.key.name, &a)
		}
	}
	return &x
}

// complete observes the desired objects that were not observed, and counts those that agree with their agent.
func (x *Evaluation) complete(observed Observed) {
	for _, d := range x.scope {
		for _, o := range d.Desired {
			if c := x.cell(o); c.State == "" {
				*c = Absent(o, observed.Lists[o.GroupVersionKind()])
			}
			x.agree(d, x.cell(o), 1)
		}
	}
}

func (x *Evaluation) addAutoscalers(observed Observed) {
	unread := source.CoverageGaps("listing HorizontalPodAutoscalers", observed.AutoscalersRead,
		"objects whose number of replicas an autoscaler set are reported as modified")
	x.gaps, x.autoscalersUnread = append(x.gaps, unread...), len(unread) > 0
	for _, a := range observed.Autoscalers {
		x.autoscalers[a.key] = a
	}
	for _, l := range observed.Lists {
		for _, a := range l.Autoscalers {
			x.autoscalers[a.key] = a
		}
	}
}

// cell returns the observation of a desired object.
func (x *Evaluation) cell(o *desired.Object) *Object { return &x.cells[o.Deployment][o.Index] }

// agree adds n for an observation to the objects that agree with the releases of their agent.
func (x *Evaluation) agree(d *desired.BundleDeployment, o *Object, n int) {
	if mayContradict(d) && o.Metadata.Hash == d.Ownership.Hash {
		x.agreeing[d.Agent] += n
	}
}

// contradicted reports whether the releases of the agent of a bundle deployment and the live objects may contradict
// each other: no object has the set of its release.
func (x *Evaluation) contradicted(d *desired.BundleDeployment) bool {
	return mayContradict(d) && x.agreeing[d.Agent] == 0
}

// Replace replaces the observation of a cell in scope.
func (x *Evaluation) Replace(o Object) {
	d := x.cluster.Deployment(o.Deployment)
	before := x.contradicted(d)
	if x.shared[o.Deployment] {
		x.cells[o.Deployment] = slices.Clone(x.cells[o.Deployment])
		delete(x.shared, o.Deployment)
	}
	old := &x.cells[o.Deployment][o.index]
	x.agree(d, old, -1)
	x.agree(d, &o, 1)
	*old = o
	delete(x.answers, o.Cell())
	delete(x.current, o.Deployment)
	if x.contradicted(d) != before {
		x.changed(func(other *desired.BundleDeployment) bool { return other.Agent == d.Agent })
	}
}

// ReplaceUndesired replaces an object that no release desires. It is nil if the object does not exist.
func (x *Evaluation) ReplaceUndesired(key object.Key, u *Undesired) {
	hashes := map[string]bool{x.undesired[key].Metadata.Hash: true}
	delete(x.undesired, key)
	if u != nil {
		x.undesired[key], hashes[u.Metadata.Hash] = *u, true
	}
	x.changed(func(d *desired.BundleDeployment) bool { return hashes[d.Ownership.Hash] })
}

// ReplaceAutoscaler replaces the autoscaler of a name. It is nil if the autoscaler does not exist.
func (x *Evaluation) ReplaceAutoscaler(namespace, name string, a *Autoscaler) {
	key := autoscalerKey{namespace, name}
	scales := []Autoscaler{x.autoscalers[key]}
	delete(x.autoscalers, key)
	if a != nil {
		x.autoscalers[key], scales = *a, append(scales, *a)
	}
	x.changed(func(d *desired.BundleDeployment) bool {
		return slices.ContainsFunc(d.Desired, func(o *desired.Object) bool {
			return slices.ContainsFunc(scales, func(a Autoscaler) bool { return a.scales(o.Key()) })
		})
	})
}

// Answered adds the answers of the server.
func (x *Evaluation) Answered(answers map[object.CellID]Answer) {
	for cell, a := range answers {
		x.answers[cell] = a
		delete(x.current, cell.Deployment)
	}
}

// Upgraded adds what a second read of release records showed. Objects that an upgrade may have removed or changed are
// Unknown. Objects that it may have created are not reported.
func (x *Evaluation) Upgraded(rollouts map[object.DeploymentID]Rollout) {
	for id, r := range rollouts {
		x.rollouts[id] = r
		delete(x.current, id)
	}
}

// changed makes bundle deployments be evaluated again.
func (x *Evaluation) changed(depends func(*desired.BundleDeployment) bool) {
	for _, d := range x.scope {
		if depends(d) {
			delete(x.current, d.ID())
		}
	}
}

// Evaluated returns the present evaluation.
func (x *Evaluation) Evaluated() Evaluated {
	return Evaluated{Deployments: x.Deployments(), Undesired: x.Undesired(), Gaps: x.gaps}
}

// Deployments returns the bundle deployments in scope.
func (x *Evaluation) Deployments() []*BundleDeployment {
	var out []*BundleDeployment
	byHash := x.undesiredByHash()
	for _, d := range x.scope {
		id := d.ID()
		if x.current[id] == nil {
			x.current[id] = x.deployment(d, byHash[d.Ownership.Hash])
		}
		out = append(out, x.current[id])
	}
	return out
}

// Undesired returns the objects that no release desires, sorted, except those that an upgrade may have created.
func (x *Evaluation) Undesired() []Undesired {
	upgraded := map[string]Rollout{}
	for _, d := range x.scope {
		if r, ok := x.rollouts[d.ID()]; ok {
			upgraded[d.Ownership.Hash] = r
		}
	}
	var out []Undesired
	evidence := map[object.DeploymentID]ownership.Evidence{}
	for _, u := range x.undesired {
		r, ok := upgraded[u.Metadata.Hash]
		mayBeNew := ok && r.created(u.Key())
		if !mayBeNew && !x.claimed(u.Key(), evidence) {
			out = append(out, u)
		}
	}
	slices.SortFunc(out, func(a, b Undesired) int { return a.Compare(b.Ref) })
	return out
}

// claimed reports whether a release desires an object, and its record is confirmed; see confirms.
func (x *Evaluation) claimed(k object.Key, known map[object.DeploymentID]ownership.Evidence) bool {
	return slices.ContainsFunc(x.cluster.Of(k), func(o *desired.Object) bool { return x.confirms(o, known) })
}

// confirms reports whether the release record that desires an object is confirmed for it. known is the evidence of
// records that was collected before; confirms adds to it.
func (x *Evaluation) confirms(o *desired.Object, known map[object.DeploymentID]ownership.Evidence) bool {
	id := o.Deployment
	if _, ok := known[id]; !ok {
		known[id] = x.evidence(x.cluster.Deployment(id))
	}
	return known[id].Confirms(o.Key())
}

// evidence returns what confirms the release record of a bundle deployment, with the live objects that name the
// release.
func (x *Evaluation) evidence(d *desired.BundleDeployment) ownership.Evidence {
	e := d.Evidence()
	if e.Trusted {
		return e
	}
	cells := x.cells[d.ID()]
	for i := range cells {
		e.Add(cells[i].Key(), cells[i].Metadata)
	}
	return e
}

func (x *Evaluation) undesiredByHash() map[string][]Undesired {
	out := map[string][]Undesired{}
	for _, u := range x.Undesired() {
		out[u.Metadata.Hash] = append(out[u.Metadata.Hash], u)
	}
	return out
}

// deployment evaluates a bundle deployment. undesired are the objects that have its set and that no release desires.
func (x *Evaluation) deployment(d *desired.BundleDeployment, undesired []Undesired) *BundleDeployment {
	e := x.evidence(d)
	out := &BundleDeployment{BundleDeployment: d, Evidence: e, Objects: x.objects(d, e)}
	for i := range out.Objects {
		out.Counts.add(out.Objects[i].State)
	}
	for _, u := range undesired {
		confirmed := e.Confirms(u.Key()) || u.Metadata.Release() == e.Release
		if confirmed && IsOrphan(d, u) {
			out.Orphans = append(out.Orphans, u)
		}
	}
	out.Counts.Orphaned = len(out.Orphans)
	out.State, out.ServerSide = stateOf(out), serverSide(d, x.cluster.State)
	return out
}

// objects returns the objects of a bundle deployment. They are its cells if nothing else changes them.
func (x *Evaluation) objects(d *desired.BundleDeployment, e ownership.Evidence) []Object {
	id := d.ID()
	cells := x.cells[id]
	rollout, upgraded := x.rollouts[id]
	changes := func(o Object) bool { return o.State != Ready || !e.Confirms(o.Key()) }
	if !upgraded && len(x.answers) == 0 && !slices.ContainsFunc(cells, changes) {
		x.shared[id] = true
		return slices.Clip(cells)
	}
	out := make([]Object, 0, len(cells))
	rules, contradicted := x.rules[id], x.contradicted(d)
	for _, o := range cells {
		if !e.Confirms(o.Key()) {
			o.unconfirmed(d)
			out = append(out, o)
			continue
		}
		if o.State == Missing && compare.Ignored(rules, o.Ref) {
			continue // the bundle's own rules ignore it
		}
		scaled := o.replicasDiffer() && o.explainReplicas(x.autoscalers, x.autoscalersUnread)
		if contradicted && o.State == Unowned && otherScope(d, &o) {
			o.contradict(d)
		}
		if a, ok := x.answers[o.Cell()]; ok {
			o.answered(a, scaled)
		}
		if upgraded && rollout.explains(&o, d.Desired[o.index].Raw) {
			o.releaseChanged()
		}
		out = append(out, o)
	}
	return out
}

// listGaps returns the gaps of the list of a kind. searched is true if objects which no release desires are searched
// too.
func (x *Evaluation) listGaps(objects []*desired.Object, isConfirmed func(*desired.Object) bool, l *List,
	searched bool) []source.Gap {
	if !slices.ContainsFunc(objects, isConfirmed) {
		return nil
	}
	unread := map[string]source.Failure{}
	for _, o := range objects {
		f, covered := l.Coverage.Of(o.Namespace)
		isUnread := !covered && x.cell(o).State == ""
		if isUnread && isConfirmed(o) {
			unread[o.Namespace] = f
		}
	}
	var out []source.Gap
	what := "reading " + objects[0].Kind + " objects"
	for _, ns := range slices.Sorted(maps.Keys(unread)) {
		out = append(out, source.NewGap(what+inNamespace(ns), unread[ns],
			"the bundles' objects of this kind are Unknown"))
	}
	if !searched {
		return out
	}
	return append(out, otherGaps(what, l.Coverage, out)...)
}

// PossiblyChanged returns the bundle deployments that an upgrade of their release may have changed since its record was
// read: objects are missing, modified, or not desired.
func (x *Evaluation) PossiblyChanged() []*BundleDeployment {
	hashes := map[string]bool{}
	for _, u := range x.Undesired() {
		hashes[u.Metadata.Hash] = true
	}
	var out []*BundleDeployment
	for _, d := range x.Deployments() {
		if d.From == desired.FromRelease && (d.Counts.Missing+d.Counts.Modified > 0 || hashes[d.Ownership.Hash]) {
			out = append(out, d)
		}
	}
	return out
}
