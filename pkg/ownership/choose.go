// SPDX-License-Identifier: Apache-2.0

package ownership

import "slices"

// sameSet are the comparisons of a set: by the hash, which Fleet compares, and then by the id.
var sameSet = []func(Metadata, Bundle) bool{
	func(m Metadata, b Bundle) bool { return m.Hash == b.Desired.Hash },
	func(m Metadata, b Bundle) bool { return m.SetID == b.Desired.SetID },
}

// Choose returns the index of the bundle that owns an object, or should own it, of several bundles that desire it. The
// bundles are ordered by release; of a release the newest revision is first. have is the metadata of the object, and
// before is the metadata that an update replaces. ok is false if the metadata does not identify one bundle.
//
// Set ids are not secret: a user who may write release records in one namespace can state the set of a release in
// another namespace. If several releases have the set of the object, Choose returns only the one that the Helm
// annotations name.
func Choose(bundles []Bundle, have, before Metadata) (index int, ok bool) {
	release, ok := bundles[0].Release, true
	if slices.ContainsFunc(bundles, func(b Bundle) bool { return b.Release != release }) {
		release, ok = chooseRelease(bundles, have, before)
	}
	if !ok {
		return 0, false
	}
	// Choose the revision with the set of the object. The metadata must not change from the deployed revision to a
	// pending one, because the upgrade may fail.
	for _, m := range []Metadata{have, before} {
		for _, same := range sameSet {
			if i := slices.IndexFunc(bundles, func(b Bundle) bool {
				return b.Release == release && same(m, b)
			}); i >= 0 {
				return i, true
			}
		}
	}
	return slices.IndexFunc(bundles, func(b Bundle) bool { return b.Release == release }), true
}

func chooseRelease(bundles []Bundle, have, before Metadata) (release string, ok bool) {
	is, was := named(bundles, have), named(bundles, before)
	if sets := releasesOf(bundles, have); len(sets) > 0 {
		if is != "" {
			return is, true // also if another bundle has the set: Evaluate finds that one
		}
		return only(sets, was)
	}
	// Fleet compares the hash, so the hash that the update removes is next.
	if sets := releasesOf(bundles, Metadata{Hash: before.Hash}); len(sets) > 0 {
		if was != "" {
			return was, slices.Contains(sets, was)
		}
		return only(sets, is)
	}
	if is != "" {
		return is, true
	}
	if sets := releasesOf(bundles, before); len(sets) > 0 && was == "" {
		return only(sets, "")
	}
	return was, was != ""
}

// only returns the named release if it is in the list, and otherwise the first; ok is false if there are others.
func only(releases []string, named string) (release string, ok bool) {
	if slices.Contains(releases, named) {
		return named, true
	}
	return releases[0], len(releases) == 1
}

// named returns the release that the Helm annotations name; "" if none of the bundles has it.
func named(bundles []Bundle, m Metadata) string {
	if slices.ContainsFunc(bundles, func(b Bundle) bool { return b.Release == m.Release() }) {
		return m.Release()
	}
	return ""
}

// releasesOf returns the releases with the set that the metadata names, by the hash or else by the id.
func releasesOf(bundles []Bundle, m Metadata) []string {
	for _, same := range sameSet {
		var out []string
		for _, b := range bundles {
			if same(m, b) {
				out = append(out, b.Release)
			}
		}
		if len(out) > 0 {
			return slices.Compact(out)
		}
	}
	return nil
}
