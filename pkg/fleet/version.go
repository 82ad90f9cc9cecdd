// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"regexp"
	"strconv"
)

// Version is a version of Fleet, 0.Minor.Patch. Pre is true if it is a pre-release.
type Version struct {
	Minor, Patch int
	Pre          bool
}

// The minor versions between which the rules are known. Source: docs/supported-versions.md.
const (
	OldestKnown = 10
	NewestKnown = 16
)

// version finds the version in the tag of an image: "v0.14.3", "v0.16.0-rc.1", or "v105.0.0-up0.12.0" for images of
// Rancher.
var version = regexp.MustCompile(`(?:^v?|up)0\.(\d+)\.(\d+)(-)?`)

// ParseVersion reads the version in the tag of an image; ok is false if the tag has none, such as "dev".
// Source: docs/fleet-behavior.md, 8.3.
func ParseVersion(tag string) (v Version, ok bool) {
	m := version.FindStringSubmatch(tag)
	if m == nil {
		return Version{}, false
	}
	minor, minorErr := strconv.Atoi(m[1])
	patch, patchErr := strconv.Atoi(m[2])
	return Version{Minor: minor, Patch: patch, Pre: m[3] != ""}, minorErr == nil && patchErr == nil
}

// ParseBuild is ParseVersion, and also reads the tag "dev", which Fleet's build gives to images of its main branch:
// their version is newer than every known one. A prediction for them is better than none, but no finding is based on
// it.
func ParseBuild(tag string) (v Version, ok bool) {
	if tag == "dev" {
		return Version{Minor: NewestKnown + 1}, true
	}
	return ParseVersion(tag)
}

// Before reports whether the version is older than the release 0.minor.patch.
func (v Version) Before(minor, patch int) bool {
	switch {
	case v.Minor != minor:
		return v.Minor < minor
	case v.Patch != patch:
		return v.Patch < patch
	}
	return v.Pre
}

// CollectsByBundleName reports whether an agent of this version compares the name of a release with the name of its
// BundleDeployment, and not with the release name that it computed. If the two differ, the agent uninstalls the release
// that it has just installed. Source: docs/fleet-behavior.md, 1.6.
func (v Version) CollectsByBundleName() bool {
	return v.Before(15, 6) || v.Minor == 16 && v.Before(16, 1)
}
