// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// Options of an evaluation.
type Options struct {
	// Now is the time when the live objects were read; zero if it is not known.
	Now time.Time
	// Predict also records the data that adopting or deploying objects needs.
	Predict bool
	// Masked is true if values are masked in live objects and in releases.
	Masked bool
	// Memory has what was evaluated before; nil if nothing is to be remembered.
	Memory *Memory
}

// Evaluator evaluates the live objects of one cluster. It is immutable and safe for concurrent use.
type Evaluator struct {
	options Options
	cluster desired.OnCluster
	scope   []*desired.BundleDeployment
	// rules are the comparePatches of each bundle deployment in scope.
	rules map[object.DeploymentID][]compare.Rule
	// comparedWith is, for the Memory, what the objects of a bundle deployment are compared with beside their
	// manifests.
	comparedWith map[object.DeploymentID][]byte
	// kinds are the desired objects in scope by kind.
	kinds map[schema.GroupVersionKind][]*desired.Object
}

// New returns the Evaluator of a cluster for those of its bundle deployments that are in scope.
func New(cluster desired.OnCluster, scope []*desired.BundleDeployment, o Options) *Evaluator {
	e := &Evaluator{options: o, cluster: cluster, rules: map[object.DeploymentID][]compare.Rule{},
		comparedWith: map[object.DeploymentID][]byte{}, kinds: map[schema.GroupVersionKind][]*desired.Object{}}
	for _, d := range scope {
		if !d.IsOn(cluster.ID) {
			continue
		}
		e.scope = append(e.scope, d)
		e.rules[d.ID()] = d.ComparePatches()
		if o.Memory != nil {
			e.compares(d)
		}
		for _, o := range d.Desired {
			gvk := o.GroupVersionKind()
			e.kinds[gvk] = append(e.kinds[gvk], o)
		}
	}
	return e
}

// Kinds are the desired objects in scope by kind.
func (e *Evaluator) Kinds() map[schema.GroupVersionKind][]*desired.Object { return e.kinds }

// Hashes are the set hashes of the bundle deployments in scope.
func (e *Evaluator) Hashes() map[string]bool {
	out := map[string]bool{}
	for _, d := range e.scope {
		if d.Ownership.Hash != "" {
			out[d.Ownership.Hash] = true
		}
	}
	return out
}

// At returns the Evaluator for objects that are read at another time.
func (e *Evaluator) At(now time.Time) *Evaluator {
	out := *e
	out.options.Now = now
	return &out
}

// DropManifests drops the manifests of the objects that a list has as ready: they are not compared again.
func (e *Evaluator) DropManifests(l *List) {
	for i := range l.Objects {
		o := &l.Objects[i]
		if o.State != Ready {
			continue
		}
		d := e.cluster.Deployment(o.Deployment)
		d.DropManifest(d.Desired[o.index])
	}
}

// evaluates reports whether a desired object is evaluated from the list of a kind. The desired objects of a bundle
// deployment with a problem are not known; its record may still claim the object.
func (e *Evaluator) evaluates(o *desired.Object, kind schema.GroupVersionKind) bool {
	_, inScope := e.rules[o.Deployment]
	return inScope && e.cluster.Deployment(o.Deployment).Problem == "" && o.GroupVersionKind() == kind
}

// compares records what the objects of a bundle deployment are compared with, beside their manifests.
func (e *Evaluator) compares(d *desired.BundleDeployment) {
	with, err := json.Marshal(struct {
		Ownership ownership.Metadata
		Rules     []compare.Rule
		Ignored   []map[string]string
	}{d.Ownership, e.rules[d.ID()], ignored(d)})
	if err == nil {
		e.comparedWith[d.ID()] = with
	}
}

// ignored returns the conditions that the bundle ignores.
func ignored(d *desired.BundleDeployment) []map[string]string {
	if o := d.Options(); o.Ignore != nil {
		return o.Ignore.Conditions
	}
	return nil
}

// Unconfirmed is the reason of the state Unknown for an object that only a release record of another namespace desires,
// if nothing confirms that record.
const Unconfirmed = "Unconfirmed"

// unconfirmed makes an object Unknown. What was observed of it shows nothing about the bundle.
func (o *Object) unconfirmed(d *desired.BundleDeployment) {
	*o = Object{Ref: o.Ref, Deployment: o.Deployment, Namespaced: o.Namespaced, Document: o.Document, Alone: o.Alone,
		index: o.index, State: Unknown, Reason: Unconfirmed,
		Message: "only the record of release " + d.Release.String() + " desires it, and nothing outside of namespace " +
			d.Release.Namespace + " confirms the record"}
}

// HasResult reports whether one of the desired objects has a result, or none is desired. Objects of a record that is
// not confirmed have one: they were read, and the record decides nothing about them.
func (d *BundleDeployment) HasResult() bool {
	return len(d.Objects) == 0 || slices.ContainsFunc(d.Objects, func(o Object) bool {
		return o.State != Unknown || o.Reason == Unconfirmed
	})
}

// certain reports whether a release desires a live object with the metadata m, as far as this object shows. Other
// objects may still confirm the record of one that is not certain.
func (e *Evaluator) certain(desired []*desired.Object, m *object.Meta) bool {
	for _, o := range desired {
		evidence := e.cluster.Deployment(o.Deployment).Evidence()
		if !evidence.Trusted {
			evidence.Add(o.Key(), ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations))
		}
		if evidence.Confirms(o.Key()) {
			return true
		}
	}
	return false
}

// EvidenceOf returns what live objects show about the release records that need it, by bundle deployment.
func EvidenceOf(deployments []*BundleDeployment) map[object.DeploymentID]ownership.Evidence {
	out := map[object.DeploymentID]ownership.Evidence{}
	for _, d := range deployments {
		if !d.Evidence.Trusted {
			out[d.ID()] = d.Evidence
		}
	}
	return out
}

// NeverAdopted lists the reasons for which an object is not assigned to the bundle, independent of its owner. Those of
// the live object are known if Options.Predict is set.
func (d *BundleDeployment) NeverAdopted(x *Object) []string {
	var out []string
	if fleet.IsAgentBundle(d.Name) {
		out = append(out, "its bundle is one of Fleet's agent, which the manager applies itself")
	}
	if target := d.Options().TargetNamespace; !x.Namespaced && target != "" {
		out = append(out, fmt.Sprintf("it is cluster-scoped and the bundle has the targetNamespace %q: every deploy "+
			"fails", target))
	}
	out = append(out, d.scopeUnproven()...)
	if x.Live == nil {
		return out
	}
	if x.Live.Deleting {
		out = append(out, "it is being deleted")
	}
	if x.Live.Controller != "" {
		out = append(out, fmt.Sprintf("it is controlled by %s, which may delete or rewrite it at any time",
			x.Live.Controller))
	}
	return out
}

// HelmRefuses reports whether Helm refuses to install the release of the bundle because an object that Fleet counts as
// owned has Helm's marks of another release: that of a bundle whose release has another name now.
func (d *BundleDeployment) HelmRefuses(x *Object) bool {
	installed := d.Release.Revision > 0 || d.BD == nil
	owned := x.Live != nil && x.Metadata.Hash == d.Ownership.Hash
	return owned && !installed && x.Metadata.Release() != d.Ownership.Release()
}

// Uncertain is the reason why the rendered objects of the bundle are not certain, in a list; empty if they are, or are
// those of the release.
func (d *BundleDeployment) Uncertain() []string {
	if len(d.Rendering.Unresolved) == 0 || d.From != desired.FromBundle && d.From != desired.FromFiles {
		return nil
	}
	return []string{"the desired objects of its bundle are not certain: " + strings.Join(d.Rendering.Unresolved, "; ")}
}

// AdoptUncertain is Uncertain for the verb adopt without its flag --desired: it uses the objects of the release if
// there is one.
func (d *BundleDeployment) AdoptUncertain() []string {
	if d.From == desired.FromBundle && d.Release.Revision > 0 {
		return nil
	}
	return d.Uncertain()
}

// scopeUnproven explains why the set that would be written is not proven: a scope that is only declared, or that is
// disputed, is not written.
func (d *BundleDeployment) scopeUnproven() []string {
	const remedy = "; --agent-scope=VALUE sets the scope of the agent, '' sets none"
	switch s := d.Scope; {
	case s.Proven():
		return nil
	case s.Evidence == "":
		return []string{"the scope of the agent that deploys its bundle is not known: no running agent and no " +
			"release shows it" + remedy}
	case d.Dispute != "":
		return []string{d.Dispute + ", and no running agent shows which is right" + remedy}
	case s.Evidence == directory.EvidenceReleases && d.ReleaseOwnership.SetID == "":
		return []string{fmt.Sprintf("only %s show %s: no running agent does, and the bundle has no release of its own",
			s.Source, s) + remedy}
	case s.Evidence == directory.EvidenceDeclared:
		return []string{fmt.Sprintf("only %s says that the agent has %s: no running agent and no release shows it",
			s.Source, s) + remedy}
	}
	return nil
}

// Memory remembers which live objects are as desired, so that they need not be read again while neither they nor what
// they are compared with change. It has 16 bytes for each of them. It is safe for concurrent use.
type Memory struct {
	seed maphash.Seed
	mu   sync.Mutex // guards the fields below
	// known are the digests of what was evaluated, by the digest of the object's identity. before are those of earlier
	// evaluations.
	known, before map[uint64]uint64
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{seed: maphash.MakeSeed(), known: map[uint64]uint64{}} }

// Begin begins an evaluation of everything.
func (m *Memory) Begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.before == nil {
		m.before = map[uint64]uint64{}
	}
	maps.Copy(m.before, m.known)
	m.known = map[uint64]uint64{}
}

// End ends an evaluation of everything: what it did not see does not exist any more.
func (m *Memory) End() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = nil
}

func (m *Memory) has(id, digest uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.known[id]; ok {
		return known == digest
	}
	before, ok := m.before[id]
	if !ok || before != digest {
		return false
	}
	m.known[id] = digest
	return true
}

func (m *Memory) set(id, digest uint64, remember bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if remember {
		m.known[id] = digest
		return
	}
	delete(m.known, id)
	delete(m.before, id)
}

func (m *Memory) id(kind schema.GroupVersionKind, namespace, name string) uint64 {
	return maphash.Comparable(m.seed, struct {
		kind            schema.GroupVersionKind
		namespace, name string
	}{kind, namespace, name})
}
