// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"crypto/sha256"
	"encoding/base64"
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/health"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Observe evaluates one live object that was listed for the desired objects of a kind. A snapshot may have captured it
// in another version. The error means that its name could not be read.
func (e *Evaluator) Observe(live source.Object, gvk schema.GroupVersionKind) (Observation, error) {
	m, err := live.ReadMeta()
	if err != nil {
		return Observation{}, err
	}
	desired := e.cluster.Of(m.Ref().Key())
	if live.Remembered {
		return e.asDesired(desired), nil
	}
	out := e.observe(live, m, desired, gvk)
	e.remember(gvk, m, desired, out)
	return out, nil
}

// observe evaluates a live object with the metadata m, and the desired objects with its identity.
func (e *Evaluator) observe(live source.Object, m *object.Meta, desired []*desired.Object,
	gvk schema.GroupVersionKind) Observation {
	var out Observation
	if live.Kind.GroupKind() == AutoscalerKind {
		out.Autoscaler = ReadAutoscaler(live.Raw)
	}
	if !e.certain(desired, m) {
		out.Undesired = undesired(e.cluster.ID, m)
	}
	if len(desired) == 0 {
		return out
	}
	l := liveObject{Evaluator: e, source: live, meta: m}
	for _, o := range desired {
		if !e.evaluates(o, gvk) {
			continue
		}
		if o.IsSecret() && l.decode() == nil {
			out.Secret = l.content
		}
		c := cell{liveObject: &l, desired: o, deployment: e.cluster.Deployment(o.Deployment),
			rules: stable(e.rules[o.Deployment], o)}
		out.Objects = append(out.Objects, c.observe())
	}
	return out
}

// ObserveUndesired returns the live object with the metadata m if it has a hash and it is not certain that a release
// desires it; otherwise nil.
func (e *Evaluator) ObserveUndesired(m *object.Meta) *Undesired {
	if e.certain(e.cluster.Of(m.Ref().Key()), m) {
		return nil
	}
	return undesired(e.cluster.ID, m)
}

func undesired(c object.ClusterID, m *object.Meta) *Undesired {
	metadata := ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations)
	if metadata.Hash == "" {
		return nil
	}
	out := &Undesired{Ref: m.Ref(), Cluster: c, Metadata: metadata,
		NoPrune: m.Metadata.Labels[fleet.PruneLabel] == "false"}
	for _, owner := range m.Metadata.OwnerReferences {
		out.Controlled = true
		if owner.Controller || out.Controller == "" {
			out.Controller = strings.ToLower(owner.Kind) + " " + owner.Name
		}
	}
	return out
}

// observe returns the state of the desired object.
func (c *cell) observe() Object {
	o := newObject(c.desired)
	d := c.deployment
	have := ownership.MetadataOf(c.meta.Metadata.Labels, c.meta.Metadata.Annotations)
	if c.options.Predict {
		o.Live = c.live()
	}
	if f := source.NotCaptured; c.source.Partial {
		o.State, o.Reason, o.Message, o.Metadata = Unknown, string(f.Reason), f.Detail, have
		return o
	}
	class, idMismatch := ownership.Classify(have, d.Ownership)
	if class != ownership.Owned {
		o.State, o.Reason, o.Metadata, o.Owner = Unowned, string(class), have, c.owner(have, d)
		c.compareUnowned(&o)
		return o
	}
	o.IDMismatch = idMismatch
	o.Metadata = d.Ownership // its strings are shared by the whole set
	if idMismatch || c.options.Predict || have.Release() != d.Ownership.Release() {
		o.Metadata = have
	}
	if err := c.decode(); err != nil {
		o.State, o.Reason, o.Message = Unknown, string(source.ReadFailed), "the live object could not be decoded"
		return o
	}
	var err error
	if c.manifest, _, err = object.Decode(c.desired.Raw); err != nil {
		o.State, o.Reason, o.Message = Unknown, string(directory.RecordUnreadable),
			"the manifest's object could not be decoded"
		return o
	}
	c.compare(&o)
	return o
}

// compare sets the state Modified, NotReady or Ready.
func (c *cell) compare(o *Object) {
	readiness := health.Evaluate(c.content, ignored(c.deployment), c.options.Now)
	diffs := c.differences(c.rules)
	if why := c.incomparable(diffs); why != "" {
		o.State, o.Reason, o.Message = Unknown, string(source.NotInSnapshot), why
		o.NotReady, o.LookAgain = !readiness.Ready, readiness.LookAgain
		return
	}
	o.setReadiness(readiness)
	o.Ignorable = c.ignorable(o, readiness)
	if o.NotReady {
		o.UID, o.Deletion = c.meta.Metadata.UID, Deletion(c.content)
	}
	if applied := c.meta.Metadata.Annotations[corev1.LastAppliedConfigAnnotation]; applied != "" && len(diffs) == 0 {
		o.LastApplied = len(c.leftBehind(applied)) > 0
	}
	if len(diffs) > 0 {
		o.Differences = c.attributed(o, diffs)
		for i, p := range compare.Pointers(c.rules, o.Ref, c.manifest, c.content, diffs) {
			o.Differences[i].Pointer = p
		}
		o.State = Modified
	}
}

// incomparable returns why differences prove nothing, as a sentence; empty if they prove that the object is modified,
// or if there are none.
func (c *cell) incomparable(diffs []compare.Difference) string {
	if len(diffs) == 0 {
		return ""
	}
	if captured := c.source.Kind; captured != c.desired.GroupVersionKind() {
		return "it was captured as " + captured.GroupVersion().String() + ", in which its fields cannot be compared"
	}
	if c.options.Masked && c.deployment.Unmasked() && slices.ContainsFunc(diffs, liveMasked) {
		return "its values are masked in the snapshot, and cannot be compared with those of the bundle"
	}
	return ""
}

// liveMasked reports whether the live side of a difference has a mask.
func liveMasked(d compare.Difference) bool {
	masked := false
	secret.Leaves(d.Live, func(text string) {
		plain, err := base64.StdEncoding.DecodeString(text)
		inSecret := err == nil && strings.HasPrefix(string(plain), secret.MaskPrefix)
		masked = masked || inSecret || strings.Contains(text, secret.MaskPrefix)
	})
	return masked
}

// ignorable returns the Ignorable of an object.
func (c *cell) ignorable(o *Object, is health.Readiness) map[string]string {
	if is.Condition == (health.Condition{}) || !o.Custom() {
		return nil
	}
	pairs := map[string]string{"type": is.Condition.Type, "status": is.Condition.Status, "reason": is.Condition.Reason}
	maps.DeleteFunc(pairs, func(_, value string) bool { return value == "" })
	rules := append(slices.Clone(ignored(c.deployment)), pairs)
	if !health.Evaluate(c.content, rules, c.options.Now).Ready {
		return nil
	}
	return pairs
}

// setReadiness makes the object Ready or NotReady.
func (o *Object) setReadiness(v health.Readiness) {
	o.State, o.NotReady, o.Condition, o.Message, o.LookAgain = Ready, !v.Ready, "", "", v.LookAgain
	if !v.Ready {
		o.State, o.Condition, o.Message = NotReady, v.Condition.String(), strings.Join(v.Messages, "; ")
	}
}

// owner returns the other owner of an object that its bundle does not own; nil without another owner.
func (c *cell) owner(have ownership.Metadata, d *desired.BundleDeployment) *Owner {
	noSet, ownRelease := have.Hash == "" && have.SetID == "", have.Release() == d.Ownership.Release()
	if noSet && (have.ReleaseName == "" || ownRelease) {
		return nil
	}
	out := &Owner{SetID: have.SetID, Hash: have.Hash, Release: have.Release()}
	if owner := c.cluster.OwnerOf(have); owner != nil && owner != d {
		out.BundleDeployment = owner.Key()
	}
	return out
}

// Remembered returns a function that reports whether a live object of a kind is known to be as desired in a
// resourceVersion, or not to matter: its content is not needed then. It is nil without a Memory.
func (e *Evaluator) Remembered(kind schema.GroupVersionKind) func(namespace, name, version string) bool {
	m := e.options.Memory
	if m == nil {
		return nil
	}
	return func(namespace, name, version string) bool {
		key := object.Key{Group: kind.Group, Kind: kind.Kind, Namespace: namespace, Name: name}
		digest, ok := e.digest(e.cluster.Of(key), kind, version)
		return ok && m.has(m.id(kind, namespace, name), digest)
	}
}

// remember records what was observed of a live object, if it is as desired or does not matter.
func (e *Evaluator) remember(kind schema.GroupVersionKind, meta *object.Meta, desired []*desired.Object,
	seen Observation) {
	m := e.options.Memory
	if m == nil {
		return
	}
	digest, ok := e.digest(desired, kind, meta.Metadata.ResourceVersion)
	m.set(m.id(kind, meta.Metadata.Namespace, meta.Metadata.Name), digest,
		ok && reflect.DeepEqual(seen, e.asDesired(desired)))
}

// forget forgets an object that does not exist.
func (e *Evaluator) forget(kind schema.GroupVersionKind, key object.Key) {
	if m := e.options.Memory; m != nil {
		m.set(m.id(kind, key.Namespace, key.Name), 0, false)
	}
}

// asDesired returns the observation of a live object that is ready and as desired; of one that is not desired, that it
// does not matter.
func (e *Evaluator) asDesired(desired []*desired.Object) Observation {
	var out Observation
	for _, d := range desired {
		o := newObject(d)
		o.State, o.Metadata = Ready, e.cluster.Deployment(d.Deployment).Ownership
		out.Objects = append(out.Objects, o)
	}
	return out
}

// digest identifies a version of a live object and everything with which it is compared. ok is false if not all of that
// is known, or if other bundle deployments matter.
func (e *Evaluator) digest(desired []*desired.Object, kind schema.GroupVersionKind, version string) (digest uint64,
	ok bool) {
	if len(desired) == 0 {
		return maphash.String(e.options.Memory.seed, version), true
	}
	o := desired[0]
	with := e.comparedWith[o.Deployment]
	switch {
	case len(desired) > 1, !e.evaluates(o, kind), o.Raw == nil, len(o.Unstable) > 0, with == nil:
		return 0, false
	}
	var h maphash.Hash
	h.SetSeed(e.options.Memory.seed)
	for _, part := range [][]byte{with, []byte(version), {0}, o.Raw} {
		_, _ = h.Write(part) // it never fails
	}
	return h.Sum64(), true
}

// ReleaseChanged is the reason of the state Unknown for an object that an upgrade of the release may have changed or
// removed after the release record was read, or before the status of the bundle deployment named the new revision.
const ReleaseChanged = "ReleaseChanged"

// Rollout is what a second read of release records shows of a release that has a newer revision than the one of the
// desired objects, or that changed.
type Rollout struct {
	// Changed is true if the newest revision is not that of the first read, has another status, or could not be read
	// again.
	Changed bool
	// Next are the hashes of the manifests of the newest revision, if it did not change; nil if they could not be read.
	Next map[object.Key][sha256.Size]byte
}

// created reports whether an upgrade may have created an object.
func (x Rollout) created(k object.Key) bool {
	_, next := x.Next[k]
	return x.Changed || x.Next == nil || next
}

// explains reports whether an upgrade may have removed a missing object, or changed a modified one. manifest is the
// object in the revision that was evaluated.
func (x Rollout) explains(o *Object, manifest []byte) bool {
	next, kept := x.Next[o.Key()]
	switch {
	case o.State != Missing && o.State != Modified:
		return false
	case x.Changed || !kept:
		return true
	}
	return o.State == Modified && next != sha256.Sum256(manifest)
}

// releaseChanged makes an object Unknown that an upgrade may have changed.
func (o *Object) releaseChanged() {
	o.State, o.Reason = Unknown, ReleaseChanged
	o.Message = "an upgrade of the release may have changed it while the cluster was read"
	o.Differences, o.NotReady, o.Condition, o.TTLAfterFinished, o.Dependent = nil, false, "", nil, ""
}

// Manifest returns the desired object with the ownership metadata that Fleet and Helm write into it. Its manifest must
// have been kept.
func (d *BundleDeployment) Manifest(o *Object) (object.Content, error) {
	content, _, err := object.Decode(d.Desired[o.index].Raw)
	if err == nil {
		err = d.Ownership.Mark(content)
	}
	if metadata, ok := content["metadata"].(map[string]any); ok && o.Namespaced {
		metadata["namespace"] = o.Namespace
	}
	return content, err
}

// Rules are the rules with which a desired object is compared.
func (d *BundleDeployment) Rules(o *Object) []compare.Rule {
	desired := d.Desired[o.index]
	return stable(d.ComparePatches(), desired)
}

// Order is the position of a desired object in the manifest: Helm writes the objects in this order.
func (o *Object) Order() int { return o.index }
