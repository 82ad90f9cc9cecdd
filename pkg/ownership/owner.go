// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Bundle identifies a bundle of this cluster that has a Helm release, or would have one.
type Bundle struct {
	// Deployment and Bundle are "namespace/name" of its BundleDeployment and its Bundle, or names alone where the namespace is not known.
	Deployment, Bundle string
	// Release is its Helm release, "namespace/name"; "" if none is installed.
	Release string
	// Desired is the ownership metadata that its objects should have.
	Desired Metadata
}

// same says whether two values, which may be of two revisions of a release, are the same bundle.
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
	// Bundles has the bundle that owns the object, or all that share the set that the object has; none if the owner is no bundle of this cluster.
	Bundles []Bundle
	// SetID and Hash are those of the object, if they are of another set.
	SetID, Hash string
	// Release is the Helm release that the annotations name, if it is another one.
	Release string
	// SameName says that the release has the name of the bundle's own release.
	SameName bool
}

// Names lists the names by which a user may call the owner, the best first.
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

// Name is the best name by which a user may call the owner; "" if nothing is known about it.
func (o Owner) Name() string {
	if names := o.Names(); len(names) > 0 {
		return names[0]
	}
	return ""
}

// Exists says whether the owner is on the cluster, as far as is known. No policy allows to take an object from it then.
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
	return "an owner of which nothing is known here"
}

func (o Owner) set() string {
	if o.SetID == "" {
		return "a set without id (hash " + o.Hash + ")"
	}
	return fmt.Sprintf("set %q", o.SetID)
}

// Says returns what is known about the owner: a clause whose subject is the object.
func (o Owner) Says() string {
	switch o.Situation {
	case Contested:
		return "is desired by " + o.String() + " too"
	case Undecided:
		return "has ownership metadata of " + o.String() + ", and not every release record could be read: whether that owner exists is not known"
	case SystemSet:
		return "has ownership metadata of " + o.String() + ", which belongs to no bundle: Fleet itself or another program applies it"
	case LostRelease, UnknownID, UnknownHash:
		return "has ownership metadata of " + o.String() + ", which is not on this cluster any more"
	}
	return "is owned by " + o.String()
}

// Conflict is an owner from which a policy does not allow to take an object.
type Conflict struct {
	Owner
	// AllowedBy is the policy that would allow it; "" if none does.
	AllowedBy Policy
}

// RefusalError is the error of a policy that does not allow a change of owner.
type RefusalError struct {
	Result
	// Conflicts are all owners that are in the way.
	Conflicts []Conflict
}

// Error implements error.
func (r *RefusalError) Error() string {
	says := make([]string, len(r.Conflicts))
	for i, c := range r.Conflicts {
		says[i] = c.Says()
	}
	return fmt.Sprintf("%s %s", r.Object, strings.Join(says, "; "))
}

// Decide applies a policy. takeFrom lists names of owners from which the object may be taken. The situation is the one that decides. The error
// is a *RefusalError.
func (r Result) Decide(p Policy, takeFrom []string) (Situation, error) {
	if len(r.Owners) == 0 {
		return r.own(), nil
	}
	refusal := &RefusalError{Result: r}
	for _, o := range r.Owners {
		if slices.ContainsFunc(o.Names(), func(name string) bool { return slices.Contains(takeFrom, name) }) {
			continue
		}
		switch answer(p, o.Situation) {
		case Leave:
			refusal.Conflicts = append(refusal.Conflicts, Conflict{o, IfUnowned})
		case OnlyNamed:
			refusal.Conflicts = append(refusal.Conflicts, Conflict{Owner: o})
		}
	}
	if len(refusal.Conflicts) == 0 {
		return r.Owners[0].Situation, nil
	}
	return refusal.Conflicts[0].Situation, refusal
}

// own is the situation of an object that no other owner has.
func (r Result) own() Situation {
	switch r.Class {
	case HelmOnly:
		return OwnRelease
	case HashStripped, Inconsistent:
		return OwnID
	}
	return NoMark
}
