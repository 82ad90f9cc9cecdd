// SPDX-License-Identifier: Apache-2.0

package ownership

import "slices"

// Choose returns the index of the bundle to which an object belongs, of several that desire it. The bundles are ordered by release, and of a
// release the newest revision is first. have is the object's metadata, and before what an update replaces. ok is false if the metadata does
// not tell.
//
// A set's id is no secret: whoever may write a release record in one namespace can state the set of a release in another. So of several
// releases with the set that the object has, Choose returns the one that the Helm annotations name, or none.
func Choose(bundles []Bundle, have, before Metadata) (index int, ok bool) {
	release, ok := bundles[0].Release, true
	if slices.ContainsFunc(bundles, func(b Bundle) bool { return b.Release != release }) {
		release, ok = chooseRelease(bundles, have, before)
	}
	if !ok {
		return 0, false
	}
	// Of the revisions it is the one whose set the object has, or had. So metadata of the deployed revision is not changed for one that Helm
	// has begun to deploy, which may fail.
	for _, m := range []Metadata{have, before} {
		for _, matches := range []func(Bundle) bool{
			func(b Bundle) bool { return m.Hash == b.Desired.Hash },
			func(b Bundle) bool { return m.SetID == b.Desired.SetID },
		} {
			if i := slices.IndexFunc(bundles, func(b Bundle) bool { return b.Release == release && matches(b) }); i >= 0 {
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
			return is, true // even if another bundle has the set: then nothing is written
		}
		return only(sets, was)
	}
	// Fleet looks at the hash, and so at the one that the update removes.
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

// only returns the release that is named, or else the single one.
func only(releases []string, named string) (string, bool) {
	if slices.Contains(releases, named) {
		return named, true
	}
	return releases[0], len(releases) == 1
}

// named returns the release that the Helm annotations name, if it is of one of the bundles.
func named(bundles []Bundle, m Metadata) string {
	if slices.ContainsFunc(bundles, func(b Bundle) bool { return b.Release == m.Release() }) {
		return m.Release()
	}
	return ""
}

// releasesOf returns the releases with the set that the metadata names, by the hash or else by the id.
func releasesOf(bundles []Bundle, m Metadata) []string {
	for _, matches := range []func(Bundle) bool{
		func(b Bundle) bool { return m.Hash == b.Desired.Hash },
		func(b Bundle) bool { return m.SetID == b.Desired.SetID },
	} {
		var out []string
		for _, b := range bundles {
			if matches(b) {
				out = append(out, b.Release)
			}
		}
		if len(out) > 0 {
			return slices.Compact(out)
		}
	}
	return nil
}
