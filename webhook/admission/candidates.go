// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// chooseRevision chooses the revision that an object names as its owner, or named before. If only one release desires the
// object, it is a revision of that.
//
// A set id is public, and anybody who may write a release record can state one, but not in the namespace of another
// release. So of several releases that state the set of the object the one counts that the Helm annotations name, else
// none.
func chooseRevision(candidates []desired.Release, have, had ownership.Marks) (desired.Release, bool) {
	if len(candidates) == 1 {
		return candidates[0], true
	}
	name, ok := candidates[0].Release(), true
	if slices.ContainsFunc(candidates, func(r desired.Release) bool { return r.Release() != name }) {
		name, ok = chooseRelease(candidates, have, had)
	}
	if !ok {
		return desired.Release{}, false
	}
	others := func(r desired.Release) bool { return r.Release() != name }
	return matching(slices.DeleteFunc(slices.Clone(candidates), others), have, had), true
}

// chooseRelease chooses one of several releases.
func chooseRelease(candidates []desired.Release, have, had ownership.Marks) (name string, ok bool) {
	is, was := namedRelease(candidates, have), namedRelease(candidates, had)
	if sets := withSet(candidates, have); len(sets) > 0 {
		if is != "" {
			return is, true // also if the set is that of another: then nothing is written
		}
		return oneOf(sets, was)
	}
	// Fleet goes by the hash, also by the one that the request removes.
	if sets := withSet(candidates, ownership.Marks{Hash: had.Hash}); len(sets) > 0 {
		if was != "" {
			return was, slices.Contains(sets, was)
		}
		return oneOf(sets, is)
	}
	if is != "" {
		return is, true
	}
	if sets := withSet(candidates, had); len(sets) > 0 && was == "" {
		return oneOf(sets, "")
	}
	return was, was != ""
}

// oneOf chooses the named one of some releases, or the only one.
func oneOf(releases []string, named string) (string, bool) {
	if slices.Contains(releases, named) {
		return named, true
	}
	return releases[0], len(releases) == 1
}

// namedRelease is the candidate that the Helm annotations name; empty if they name none.
func namedRelease(candidates []desired.Release, m ownership.Marks) string {
	if slices.ContainsFunc(candidates, func(r desired.Release) bool { return r.Metadata.Release() == m.Release() }) {
		return m.Release()
	}
	return ""
}

// withSet returns the releases with the set that the metadata states, by the hash, else by the id.
func withSet(candidates []desired.Release, m ownership.Marks) []string {
	var byHash, byID []string
	for _, r := range candidates {
		if r.Metadata.Hash == m.Hash {
			byHash = append(byHash, r.Release())
		}
		if r.Metadata.SetID == m.SetID {
			byID = append(byID, r.Release())
		}
	}
	if len(byHash) > 0 {
		byID = byHash
	}
	return slices.Compact(byID) // the revisions of a release follow each other
}

// matching chooses one of a release's revisions, the newest first: the one whose set the object has, or had. So an object
// that agrees with the deployed revision is not changed for one that Helm has begun to deploy, and may never finish.
func matching(revisions []desired.Release, have, had ownership.Marks) desired.Release {
	for _, m := range []ownership.Marks{have, had} {
		for _, same := range []func(r desired.Release) bool{
			func(r desired.Release) bool { return r.Metadata.Hash == m.Hash },
			func(r desired.Release) bool { return r.Metadata.SetID == m.SetID },
		} {
			if i := slices.IndexFunc(revisions, same); i >= 0 {
				return revisions[i]
			}
		}
	}
	return revisions[0]
}
