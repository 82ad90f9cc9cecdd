// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

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
