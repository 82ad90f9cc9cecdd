// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// live holds the live objects, as they stream past, against the desired ones.
type live struct {
	*run
	deployments []*check.Deployment
	byInventory map[*inventory.Deployment]*check.Deployment
	rules       map[*inventory.Deployment][]compare.Rule

	mu      sync.Mutex // guards what follows, and the run's gaps and secrets
	marked  []check.Marked
	scalers []scaler
	// scaled are objects that differ in replicas, which an autoscaler may account for.
	scaled []suspect
	// suspects are objects that differ, to be confirmed by the server.
	suspects []suspect
	// scalersRead says that every autoscaler has streamed past already.
	scalersRead bool
	unsearched  []string
	// searching says that objects which nobody desires are looked for too.
	searching bool
}

// suspect is an object that differs.
type suspect struct {
	object *check.Object
	raw    []byte // of the manifest
}

func (r *run) newLive(scoped []*inventory.Deployment) *live {
	l := &live{run: r, byInventory: map[*inventory.Deployment]*check.Deployment{}, rules: map[*inventory.Deployment][]compare.Rule{}}
	for _, d := range scoped {
		cd := &check.Deployment{Deployment: d, Objects: make([]check.Object, len(d.Desired))}
		for i, w := range d.Desired {
			cd.Objects[i].Want = w
		}
		l.deployments = append(l.deployments, cd)
		l.byInventory[d] = cd
		l.rules[d] = rulesOf(d)
	}
	return l
}

// rulesOf are the bundle's own comparePatches.
func rulesOf(d *inventory.Deployment) []compare.Rule {
	diff := d.Options().Diff
	if diff == nil {
		return nil
	}
	var out []compare.Rule
	for _, p := range diff.ComparePatches {
		r := compare.Rule{APIVersion: p.APIVersion, Kind: p.Kind, Namespace: p.Namespace, Name: p.Name, JSONPointers: p.JSONPointers}
		for _, op := range p.Operations {
			r.Operations = append(r.Operations, compare.Operation{Op: op.Op, Path: op.Path, Value: op.Value})
		}
		out = append(out, r)
	}
	return out
}

// read lists every kind that is desired, and searches the others for marked objects.
func (l *live) read(ctx context.Context) error {
	l.searching = true
	if err := l.list(ctx, l.search); err != nil {
		return err
	}
	slices.SortFunc(l.marked, func(a, b check.Marked) int { return a.Compare(b.Ref) })
	// A kind that is listed in two versions, or for its desired objects and by its marks, shows an object twice.
	l.marked = slices.CompactFunc(l.marked, func(a, b check.Marked) bool { return a.Key() == b.Key() })
	l.unsearchedGap()
	return nil
}

// list lists every kind that is desired; beside may begin other lists.
func (l *live) list(ctx context.Context, beside func(context.Context, *errgroup.Group, map[schema.GroupVersionKind][]*check.Object)) error {
	l.counter.start("reading live objects")
	wanted := map[schema.GroupVersionKind][]*check.Object{}
	for _, d := range l.deployments {
		for i := range d.Objects {
			gvk := d.Objects[i].GroupVersionKind()
			wanted[gvk] = append(wanted[gvk], &d.Objects[i])
		}
	}
	g, lists := errgroup.WithContext(ctx) // lists ends with the group; ctx goes on
	for gvk, objects := range wanted {
		g.Go(func() error { return l.kind(lists, gvk, objects) })
	}
	if beside != nil {
		beside(lists, g, wanted)
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return l.autoscaled(ctx)
}

// kind lists one desired kind and settles what became of its desired objects.
func (l *live) kind(ctx context.Context, gvk schema.GroupVersionKind, objects []*check.Object) error {
	read := gvk
	if _, f, ok := l.kinds.Lookup(gvk); !ok {
		k, other := l.kinds.Preferred(gvk.GroupKind())
		if !other || l.desc.Origin == source.OriginCluster { // Fleet does not look at another version either
			l.settle(objects, source.NotCovered(f))
			return nil
		}
		read = k.GroupVersionKind
	}
	q := source.Query{Kind: read, Fallback: namespacesOf(objects)}
	if gvk == secretKind {
		q.FieldSelector = "type!=" + release.SecretType
	}
	if !l.Scope.Whole() {
		q.Namespaces = slices.DeleteFunc(namespacesOf(objects), func(ns string) bool { return ns == "" })
	}
	illegible := 0
	cover, err := l.src.List(ctx, q, func(o source.Object) error {
		l.counter.object()
		if l.visit(o, gvk) != nil {
			illegible++
		}
		return nil
	})
	if err != nil {
		return err
	}
	if illegible > 0 {
		cover = undecoded(illegible)
	}
	l.settle(objects, cover)
	if isScaler(gvk) {
		_, all := cover.Of("")
		l.mu.Lock()
		l.scalersRead = l.scalersRead || all && len(q.Namespaces) == 0
		l.mu.Unlock()
	}
	return nil
}

func namespacesOf(objects []*check.Object) []string {
	seen := map[string]bool{}
	for _, o := range objects {
		seen[o.Namespace] = true
	}
	return sortedKeys(seen)
}

// settle decides about the desired objects that did not stream past.
func (l *live) settle(objects []*check.Object, cover source.Coverage) {
	unread := map[string]source.Failure{}
	for _, o := range objects {
		if o.State != "" {
			continue
		}
		f, covered := cover.Of(o.Namespace)
		switch {
		case !covered:
			o.State, o.Reason, o.Message = report.Unknown, string(f.Reason), f.Detail
			unread[o.Namespace] = f
		default:
			o.State, o.TTLAfterFinished = report.Missing, ttlAfterFinished(o)
		}
		if !l.Keep {
			o.Raw = nil
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	what := "reading " + objects[0].Kind + " objects"
	for _, ns := range sortedKeys(unread) {
		l.gap(what+inNamespace(ns), unread[ns], "the bundles' objects of this kind are Unknown")
	}
	if l.searching {
		l.orphansGaps(what, unread, cover.Failures())
	}
}

// orphansGaps notes the other failures of a list. Where every desired object was read before the list failed, objects that nobody desires
// may still be missing. What a snapshot does not hold, and what is not served, is no failure of the list.
func (l *live) orphansGaps(what string, noted, failures map[string]source.Failure) {
	for _, ns := range sortedKeys(failures) {
		f := failures[ns]
		_, again := noted[ns]
		for _, n := range noted {
			again = again || ns == "*" && n == f
		}
		switch {
		case again, f.Reason == source.NotInSnapshot, f.Reason == source.KindNotServed:
		case ns == "*":
			l.gap(what, f, "orphaned objects of this kind may be missed")
		case f.Reason != failures["*"].Reason:
			l.gap(what+inNamespace(ns), f, "orphaned objects of this kind may be missed")
		}
	}
}

func inNamespace(ns string) string {
	if ns == "" {
		return ""
	}
	return " in namespace " + ns
}

// ttlAfterFinished is what the manifest of a Job states of its own end, nil for any other object.
func ttlAfterFinished(o *check.Object) *int64 {
	if o.Kind != "Job" || object.Group(o.APIVersion) != "batch" {
		return nil
	}
	var job struct {
		Spec struct {
			TTLSecondsAfterFinished *int64 `json:"ttlSecondsAfterFinished"`
		} `json:"spec"`
	}
	if object.Into(o.Raw, &job) != nil {
		return nil // a manifest that cannot be decoded states nothing
	}
	return job.Spec.TTLSecondsAfterFinished
}

// visit holds one live object against what is desired of it as gvk. A snapshot may have captured it in another version. Its error means
// that not even the name could be read.
func (l *live) visit(o source.Object, gvk schema.GroupVersionKind) error {
	m, err := o.ReadMeta()
	if err != nil {
		return err
	}
	ref := m.Ref()
	if isScaler(o.Kind) {
		l.addScaler(o.Raw)
	}
	wants := l.inv.Wants[ref.Key()]
	if len(wants) == 0 {
		l.mark(m, ref)
		return nil
	}
	j := judged{live: l, source: o, meta: m}
	for _, w := range wants {
		// A deployment with a problem desires nothing that is known; its record may still claim the object.
		if d := l.byInventory[w.Deployment]; d != nil && d.Problem == "" && w.GroupVersionKind() == gvk {
			j.judge(&d.Objects[w.Index])
		}
	}
	return nil
}

// mark notes an object that carries a hash and that nobody desires.
func (l *live) mark(m *object.Meta, ref object.Ref) {
	marks := ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations)
	if marks.Hash == "" {
		return
	}
	out := check.Marked{Ref: ref, Metadata: marks, NoPrune: m.Metadata.Labels[fleet.PruneLabel] == "false",
		Owned: ownership.OwnedSet(m.Metadata.Annotations)}
	for _, owner := range m.Metadata.OwnerReferences {
		out.Controlled = true
		if owner.Controller || out.Controller == "" {
			out.Controller = strings.ToLower(owner.Kind) + " " + owner.Name
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marked = append(l.marked, out)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	out := make([]K, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
