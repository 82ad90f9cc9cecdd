// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"cmp"
	"slices"
)

// Policy defines which unowned objects may get another owner although the user does not name the present owner.
type Policy string

// The policies.
const (
	// TakeUnmarked allows objects without metadata of another owner.
	TakeUnmarked Policy = "unmarked"
	// IfUnowned also allows objects of an owner that is not on the cluster any more.
	IfUnowned Policy = "if-unowned"
	// IfNoDiff allows what IfUnowned allows, of objects that are already as the bundle desires them.
	IfNoDiff Policy = "if-no-diff"
)

// Policies lists the policies, the default first.
var Policies = []Policy{IfUnowned, TakeUnmarked, IfNoDiff}

// Situation is one row of the truth table: what is known about an owner of an object or about its fields, from the view
// of a bundle that desires the object. The table describes each situation.
type Situation string

// The situations. If several apply to an object, the strictest answer counts.
const (
	NoMetadata      Situation = "NoMark"
	OwnRelease      Situation = "OwnRelease"
	OwnID           Situation = "OwnID"
	ExistingRelease Situation = "LivingRelease"
	LostRelease     Situation = "LostRelease"
	KnownID         Situation = "KnownID"
	UnknownID       Situation = "UnknownID"
	KnownHash       Situation = "KnownHash"
	UnknownHash     Situation = "UnknownHash"
	SystemSet       Situation = "SystemSet"
	Contested       Situation = "Contested"
	Undecided       Situation = "Undecided"
	Differs         Situation = "Differs"
)

// Row is the plain name of the situation. Two situations have an older value in documents.
func (s Situation) Row() string {
	switch s {
	case NoMetadata:
		return "NoMetadata"
	case ExistingRelease:
		return "ExistingRelease"
	}
	return string(s)
}

// Answer is the answer of a policy to a situation.
type Answer string

// The answers. OnlyNamed allows the change if --dangerous-take-from names the present owner.
const (
	Take      Answer = "take"
	Leave     Answer = "leave"
	OnlyNamed Answer = "only with --dangerous-take-from"
)

// Rule is one row of the truth table.
type Rule struct {
	Situation Situation
	// Description is for the documentation.
	Description string
	Answers     map[Policy]Answer
}

// TruthTable is the answer of each policy to each situation. docs/verbs/adopt.md is generated from it.
var TruthTable = []Rule{
	row(NoMetadata, Take, Take, "no ownership metadata, or `app.kubernetes.io/managed-by` alone, which names no owner"),
	row(OwnRelease, Take, Take,
		"Helm's label and annotations of this release, which is the bundle's or does not exist yet, without id and "+
			"hash: the effect of "+
			"`helm.takeOwnership`"),
	row(OwnID, Take, Take, "this set's id without its hash"),
	row(ExistingRelease, OnlyNamed, OnlyNamed,
		"Helm's annotations of another release that exists, or of a release with this name that is not the bundle's"),
	row(LostRelease, Leave, Take, "Helm's annotations of another release that does not exist"),
	row(KnownID, OnlyNamed, OnlyNamed, "another set's id without a hash, and a release on this cluster has that set"),
	row(UnknownID, Leave, Take, "another set's id without a hash, and no release on this cluster has that set"),
	row(KnownHash, OnlyNamed, OnlyNamed, "the hash of a set that a release on this cluster has"),
	row(UnknownHash, Leave, Take, "the hash of a set that no release on this cluster has"),
	row(SystemSet, OnlyNamed, OnlyNamed,
		"a set of Fleet itself, or of another program that uses the same label and annotations (Rancher, K3s)"),
	row(Contested, OnlyNamed, OnlyNamed, "a second bundle of this cluster that desires it"),
	row(Undecided, OnlyNamed, OnlyNamed, "an owner that is not known, because not every release record could be read"),
	{Differs, "another value than the bundle in a field that the bundle states, or fields that could not be compared",
		map[Policy]Answer{TakeUnmarked: Take, IfUnowned: Take, IfNoDiff: Leave}},
}

// row is a row about an owner. The policy if-no-diff gives the same answers about owners as if-unowned.
func row(s Situation, unmarked, ifUnowned Answer, description string) Rule {
	return Rule{s, description, map[Policy]Answer{TakeUnmarked: unmarked, IfUnowned: ifUnowned, IfNoDiff: ifUnowned}}
}

// answer finds the answer in the table. For a policy or a situation that is not in the table it is OnlyNamed.
func answer(p Policy, s Situation) Answer {
	i := slices.IndexFunc(TruthTable, func(r Rule) bool { return r.Situation == s })
	if i < 0 {
		return OnlyNamed
	}
	return cmp.Or(TruthTable[i].Answers[p], OnlyNamed)
}
