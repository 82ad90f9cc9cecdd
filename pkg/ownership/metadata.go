// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// FieldManager is the field manager of adopt and its undo. They change ownership metadata on purpose, so the admission
// webhook ignores their requests.
const FieldManager = "fleetdoctor-adopt"

// Metadata is the ownership metadata of an object: the values of its five labels and annotations. The zero value means
// that none is set.
type Metadata struct {
	Hash, SetID, ManagedBy, ReleaseName, ReleaseNamespace string
	// SetHasOwner is true if the annotations name an owner of the set, as on objects that controllers apply. The set of
	// a bundle has no owner.
	SetHasOwner bool
	// empty has the bit 1<<i if keys[i] is set to the empty value.
	empty uint8
}

// Key is the label or the annotation of one value of Metadata.
type Key struct {
	Label bool // else an annotation
	Name  string
}

var keys = []Key{
	{true, fleet.HashLabel},
	{false, fleet.IDAnnotation},
	{true, fleet.ManagedByLabel},
	{false, fleet.ReleaseNameAnnotation},
	{false, fleet.ReleaseNamespaceAnnotation},
}

// Keys lists the five keys, in the order in which they are shown.
func Keys() []Key { return slices.Clone(keys) }

// Field is "label" or "annotation".
func (k Key) Field() string {
	if k.Label {
		return "label"
	}
	return "annotation"
}

// value returns the field with the value of keys[i].
func (m *Metadata) value(i int) *string {
	return [...]*string{&m.Hash, &m.SetID, &m.ManagedBy, &m.ReleaseName, &m.ReleaseNamespace}[i]
}

// get returns the value of keys[i]; nil if the key is not set.
func (m *Metadata) get(i int) *string {
	if v := m.value(i); *v != "" || m.empty&(1<<i) != 0 {
		return v
	}
	return nil
}

// set sets keys[i]; nil removes the key.
func (m *Metadata) set(i int, v *string) {
	*m.value(i) = ptr.Deref(v, "")
	m.empty &^= 1 << i
	if v != nil && *v == "" {
		m.empty |= 1 << i
	}
}

// MetadataOf reads the ownership metadata of an object.
func MetadataOf(labels, annotations map[string]string) Metadata {
	var m Metadata
	for i, k := range keys {
		from := annotations
		if k.Label {
			from = labels
		}
		if v, ok := from[k.Name]; ok {
			m.set(i, &v)
		}
	}
	for _, k := range []string{fleet.OwnerGVKAnnotation, fleet.OwnerNameAnnotation, fleet.OwnerNamespaceAnnotation} {
		m.SetHasOwner = m.SetHasOwner || annotations[k] != ""
	}
	return m
}

// Desired returns the ownership metadata that Fleet and Helm write for a set and a release.
func Desired(setID, releaseName, releaseNamespace string) Metadata {
	return Metadata{Hash: fleet.Hash(setID), SetID: setID, ManagedBy: fleet.ManagedByHelm,
		ReleaseName: releaseName, ReleaseNamespace: releaseNamespace}
}

// Release returns the Helm release that the annotations name as "namespace/name"; "" if they name none.
func (m Metadata) Release() string {
	if m.ReleaseName == "" {
		return ""
	}
	return m.ReleaseNamespace + "/" + m.ReleaseName
}

// Equal reports whether the five keys are set to the same values.
func (m Metadata) Equal(other Metadata) bool {
	m.SetHasOwner = other.SetHasOwner
	return m == other
}

// Values returns the values of the keys that are set, by the names of the keys.
func (m Metadata) Values() map[string]string {
	out := map[string]string{}
	for i, k := range keys {
		if v := m.get(i); v != nil {
			out[k.Name] = *v
		}
	}
	return out
}

// Mark sets the keys in an object. The error is that of an object whose labels or annotations are no map.
func (m Metadata) Mark(o object.Content) error {
	for i, k := range keys {
		if v := m.get(i); v != nil {
			if err := unstructured.SetNestedField(o, *v, "metadata", k.Field()+"s", k.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// FromValues is the inverse of Values. It ignores other keys.
func FromValues(values map[string]string) Metadata { return MetadataOf(values, values) }

// Change is a key with different values. Old or New is nil if the key is not set.
type Change struct {
	Key
	Old, New *string
}

// Changes lists the keys with different values, in the order of Keys.
func Changes(before, after Metadata) []Change {
	var out []Change
	for i, k := range keys {
		c := Change{Key: k, Old: before.get(i), New: after.get(i)}
		if !ptr.Equal(c.Old, c.New) {
			out = append(out, c)
		}
	}
	return out
}

// Undo returns m with the previous value of each key that has the written value. left has the keys with neither of the
// two: another program changed them after they were written. Their Old is the written value, their New the value in m.
func (m Metadata) Undo(written, previous Metadata) (undone Metadata, left []Change) {
	undone = m
	for i, k := range keys {
		now, before := m.get(i), previous.get(i)
		switch {
		case ptr.Equal(now, before):
		case ptr.Equal(now, written.get(i)):
			undone.set(i, before)
		default:
			left = append(left, Change{Key: k, Old: written.get(i), New: now})
		}
	}
	return undone, left
}

// NamesOwner reports whether a change names another set or release as the owner. The hash and the manager name none.
func (c Change) NamesOwner() bool {
	return !c.Label && c.New != nil
}

// TrustNamespace is the Namespace whose labels say which release records an administrator trusts. A label on the
// Namespace of the records would not do: a role with all rights in a namespace allows to write its Namespace.
const TrustNamespace = metav1.NamespaceSystem

// A label of TrustNamespace with the key TrustPrefix and the name of a namespace, and the value trusted, trusts the
// release records of that namespace for the objects of all namespaces.
const (
	TrustPrefix = "records.fleetdoctor.io/"
	trusted     = "trusted"
)

// TrustsRecords reports whether the release records of a namespace are trusted for the objects of all namespaces.
// labels are those of TrustNamespace. Who may write Secrets in a namespace of Fleet controls the agent.
func TrustsRecords(namespace string, labels map[string]string) bool {
	return fleet.IsSystemNamespace(namespace) || labels[TrustPrefix+namespace] == trusted
}

// TrustAdvice says how an administrator trusts the release records of a namespace.
func TrustAdvice(namespace string) string {
	return fmt.Sprintf("if you trust everybody who can write Secrets in namespace %s, label namespace %s %s%s=%s",
		namespace, TrustNamespace, TrustPrefix, namespace, trusted)
}

// Evidence confirms a release record. A record alone is no evidence: a user who may only create Secrets in one
// namespace can write a record that claims any object of the cluster, and any set. What it claims counts for the
// objects of its own namespace. For other objects, one of these confirms it:
//   - The record is trusted: a BundleDeployment names it, or TrustsRecords.
//   - An object names the release in its Helm annotations. Only a user who may write the object can set them, and Helm
//     writes them to all objects. It confirms the record for its own namespace or, if it is cluster-scoped, everywhere.
//
// A record that is not confirmed still counts as another owner that may exist. The zero value confirms nothing.
type Evidence struct {
	// Namespace is that of the record, Release the name of its release, "namespace/name".
	Namespace, Release string
	Trusted            bool
	// seen are the places of objects that name the release.
	seen map[string]bool
}

// Add adds an object of the release with its ownership metadata.
func (e *Evidence) Add(k object.Key, have Metadata) {
	if e.Trusted || e.Release == "" || have.Release() != e.Release {
		return
	}
	if e.seen == nil {
		e.seen = map[string]bool{}
	}
	e.seen[placeOf(k)] = true
}

// Confirms reports whether the record counts for an object.
func (e Evidence) Confirms(k object.Key) bool {
	if e.Trusted || e.seen[everywhere] {
		return true
	}
	place := placeOf(k)
	return place == e.Namespace || e.seen[place]
}

// Within reports whether who may write all objects of a namespace may write this one.
func Within(namespace string, k object.Key) bool { return placeOf(k) == namespace }

// Confirmed reports whether anything outside of its namespace confirms the record.
func (e Evidence) Confirmed() bool {
	elsewhere := len(e.seen)
	if e.seen[e.Namespace] {
		elsewhere--
	}
	return e.Trusted || elsewhere > 0
}

// everywhere is the place of cluster-scoped objects, except Namespaces.
const everywhere = ""

// placeOf returns where a user must have rights to write an object: its namespace, or the cluster. A Namespace is a
// place of its own, because a role in that namespace may allow to write it.
func placeOf(k object.Key) string {
	if k.Group == "" && k.Kind == "Namespace" {
		return "namespaces/" + k.Name
	}
	return k.Namespace
}

// Bundle identifies a bundle of the cluster.
type Bundle struct {
	// Deployment and Bundle are the BundleDeployment and the Bundle as "namespace/name", or the name if the namespace
	// is not known.
	Deployment, Bundle string
	// Release is its Helm release, "namespace/name"; "" if none is installed.
	Release string
	// Desired is the ownership metadata of its objects.
	Desired Metadata
}

// same reports whether two values are the same bundle. They may be of two revisions of its release.
func (b Bundle) same(other Bundle) bool {
	return b.Deployment == other.Deployment && b.Release == other.Release
}

// String names the bundle in a message.
func (b Bundle) String() string {
	if b.Deployment == "" {
		return "bundle " + b.Bundle
	}
	return "bundle deployment " + b.Deployment
}

// Owner is an owner that the ownership metadata of an object names, or another bundle that desires the object.
type Owner struct {
	Situation Situation
	// Bundles has the bundle that owns the object, or all bundles that share the set of the object. It is empty if the
	// owner is not a bundle of this cluster.
	Bundles []Bundle
	// SetID and Hash are those of the object, if they are not the desired ones.
	SetID, Hash string
	// Release is the Helm release that the annotations name, if it is not the release of the bundle.
	Release string
	// SameName is true if Release has the name of the bundle's release, and is not the bundle's.
	SameName bool
}

// Names lists the names that a user may use for the owner, the most specific first.
func (o Owner) Names() []string {
	var out []string
	if len(o.Bundles) == 1 {
		b := o.Bundles[0]
		for _, key := range []string{b.Deployment, b.Bundle} {
			out = append(out, key, key[strings.LastIndexByte(key, '/')+1:])
		}
		out = append(out, b.Desired.SetID, b.Desired.Hash, b.Release)
	}
	out = append(out, o.SetID, o.Hash, o.Release)
	return slices.DeleteFunc(out, func(name string) bool { return name == "" })
}

// Name is the first of Names; "" if nothing is known about the owner.
func (o Owner) Name() string { return cmp.Or(o.Names()...) }

// Exists reports whether the owner is on the cluster, or may be. Then an object is taken from it only with its name.
func (o Owner) Exists() bool { return answer(IfUnowned, o.Situation) == OnlyNamed }

// String names the owner in a message.
func (o Owner) String() string {
	switch {
	case len(o.Bundles) == 1:
		return o.Bundles[0].String()
	case len(o.Bundles) > 1:
		names := make([]string, len(o.Bundles))
		for i, b := range o.Bundles {
			names[i] = cmp.Or(b.Release, b.String())
		}
		return o.set() + ", which the releases " + strings.Join(names, " and ") + " share"
	case o.SetID != "" || o.Hash != "":
		return o.set()
	case o.SameName:
		return "Helm release " + o.Release + ", which is not the bundle's"
	case o.Release != "":
		return "Helm release " + o.Release
	}
	return "an unknown owner"
}

func (o Owner) set() string {
	if o.SetID == "" {
		return "a set without id (hash " + o.Hash + ")"
	}
	return fmt.Sprintf("set %q", o.SetID)
}

// Describe returns a predicate about the object that names the owner, for example "is owned by bundle deployment a/b".
func (o Owner) Describe() string {
	switch o.Situation {
	case Contested:
		return "is desired by " + o.String() + " too"
	case Undecided:
		return "has ownership metadata of " + o.String() +
			": it is not known whether that owner exists, because not every release record could be read"
	case SystemSet:
		return "has ownership metadata of " + o.String() +
			", which is not the set of a bundle: Fleet itself or another program applies it"
	case Differs:
		return "differs from what the bundle desires, or could not be compared"
	case LostRelease, UnknownID, UnknownHash:
		return "has ownership metadata of " + o.String() + ", which is not on this cluster any more"
	}
	return "is owned by " + o.String()
}

// Lost lists the keys that have a value of the owner's bundles before an update, and another value or none after it.
func (o Owner) Lost(before, after Metadata) []Change {
	return slices.DeleteFunc(Changes(before, after), func(c Change) bool {
		return c.Old == nil || !slices.ContainsFunc(o.Bundles, func(b Bundle) bool {
			return b.Desired.Values()[c.Name] == *c.Old
		})
	})
}
