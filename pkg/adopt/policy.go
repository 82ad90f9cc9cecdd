// SPDX-License-Identifier: Apache-2.0

package adopt

// Policy says which unowned objects may be adopted without naming whom they are taken from.
type Policy string

// The policies. Unmarked takes what carries no foreign mark; IfUnowned also what belongs to an owner that is not on this cluster any more.
const (
	Unmarked  Policy = "unmarked"
	IfUnowned Policy = "if-unowned"
)

// Policies lists the policies, the default first.
var Policies = []Policy{IfUnowned, Unmarked}

// Situation is what the marks of an unowned object say of it, seen from the bundle that wants it. It is a row of the truth table.
type Situation string

// The situations. Of several that hold for one object, the strictest decides.
const (
	NoMark        Situation = "NoMark"
	OwnRelease    Situation = "OwnRelease"
	OwnID         Situation = "OwnID"
	LivingRelease Situation = "LivingRelease"
	LostRelease   Situation = "LostRelease"
	KnownID       Situation = "KnownID"
	UnknownID     Situation = "UnknownID"
	KnownHash     Situation = "KnownHash"
	UnknownHash   Situation = "UnknownHash"
	SystemSet     Situation = "SystemSet"
	Contested     Situation = "Contested"
	Undecided     Situation = "Undecided"
)

// Answer is what a policy says to a situation.
type Answer string

// The answers. OnlyNamed needs --dangerous-take-from to name who holds the object.
const (
	Take      Answer = "take"
	Leave     Answer = "leave"
	OnlyNamed Answer = "only with --dangerous-take-from"
)

// Rule is one row of the truth table.
type Rule struct {
	Situation Situation
	// Says describes the situation in the words of the documentation.
	Says string
	// Answers holds what each policy says.
	Answers map[Policy]Answer
}

// TruthTable is what every policy says to every situation. It is the policy: nothing else decides, and the documentation is made from it.
func TruthTable() []Rule {
	row := func(s Situation, unmarked, ifUnowned Answer, says string) Rule {
		return Rule{s, says, map[Policy]Answer{Unmarked: unmarked, IfUnowned: ifUnowned}}
	}
	return []Rule{
		row(NoMark, Take, Take, "no mark at all, or `app.kubernetes.io/managed-by` alone, which names nobody"),
		row(OwnRelease, Take, Take, "Helm's marks of this release, which is the bundle's or not there yet, neither id nor hash: what `helm.takeOwnership` leaves behind"),
		row(OwnID, Take, Take, "this set's id without its hash"),
		row(LivingRelease, OnlyNamed, OnlyNamed, "Helm's marks of another release that exists, or of one of this name that is not the bundle's"),
		row(LostRelease, Leave, Take, "Helm's marks of another release that does not exist"),
		row(KnownID, OnlyNamed, OnlyNamed, "another set's id without a hash, and a release here has that set"),
		row(UnknownID, Leave, Take, "another set's id without a hash, and no release here has that set"),
		row(KnownHash, OnlyNamed, OnlyNamed, "the hash of a set that a release here has"),
		row(UnknownHash, Leave, Take, "the hash of a set that no release here has"),
		row(SystemSet, OnlyNamed, OnlyNamed, "a set of Fleet's own, or of another program that uses the same marks (Rancher, K3s)"),
		row(Contested, OnlyNamed, OnlyNamed, "another bundle of this cluster wants the object too"),
		row(Undecided, OnlyNamed, OnlyNamed, "an owner of whom nothing is known here, while not every release record could be read"),
	}
}

// answer looks a situation up. What is not in the table is taken from nobody.
func answer(p Policy, s Situation) Answer {
	for _, r := range TruthTable() {
		if a, ok := r.Answers[p]; ok && r.Situation == s {
			return a
		}
	}
	return OnlyNamed
}
