// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"crypto/md5"  // not for security: Fleet makes names with it
	"crypto/sha1" // not for security: it is the label's value
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

const (
	setIDPrefix    = "default" // hard-coded in every agent; not the defaultNamespace option
	agentPrefix    = "fleet-agent"
	agentSetID     = "fleet-agent-bootstrap"
	maxName        = 64 // SafeConcat shortens names of this many bytes and more
	maxReleaseName = 53 // Helm's limit
	// DefaultNamespace is where a release goes that names no namespace.
	DefaultNamespace = "default"
)

// SetID returns the id of the set of objects that a BundleDeployment deploys. scope is the agent's AGENT_SCOPE, usually empty.
// Every BundleDeployment whose name starts with "fleet-agent" gets the agent's own id, whoever made it.
// Source: docs/fleet-behavior.md, 1.1.
func SetID(bundleDeployment, scope string) string {
	parts := []string{setIDPrefix, bundleDeployment}
	if IsAgentBundle(bundleDeployment) {
		parts = []string{agentSetID}
	}
	if scope != "" {
		parts = append(parts, scope)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return SafeConcat(parts...)
}

// ScopeOfSet returns the agent scope with which SetID makes a set id of a BundleDeployment. A long set id is shortened and does not show its
// scope: then only one of the candidates can be found. ok is false where no scope is found.
func ScopeOfSet(setID, bundleDeployment string, candidates ...string) (scope string, ok bool) {
	for _, c := range append([]string{""}, candidates...) {
		if SetID(bundleDeployment, c) == setID {
			return c, true
		}
	}
	scope, ok = strings.CutPrefix(setID, SetID(bundleDeployment, "")+"-")
	return scope, ok && len(setID) < maxName-1 // a shortened one has just that length
}

// IsAgentBundle says whether Fleet takes a BundleDeployment of that name for its agent's own.
func IsAgentBundle(bundleDeployment string) bool {
	return strings.HasPrefix(bundleDeployment, agentPrefix)
}

// Hash returns the value of HashLabel for a set id of an agent: 40 hexadecimal digits.
// Source: docs/fleet-behavior.md, 1.2; the agent sets none of the owner annotations that would enter it.
func Hash(setID string) string { return HashOf(setID, "", "", "") }

// HashOf returns the hash of a set that may have an owner, as the sets of Fleet's controllers do.
func HashOf(setID, ownerGVK, ownerName, ownerNamespace string) string {
	sum := sha1.Sum([]byte(setID + ownerGVK + ownerName + ownerNamespace))
	return hex.EncodeToString(sum[:])
}

// IsBundleSet says whether a set id may be that of a bundle. Other ids belong to other programs that use the same labels and annotations, such as Rancher and K3s.
func IsBundleSet(setID string) bool { return strings.HasPrefix(setID, setIDPrefix+"-") }

// IsFleetsOwnSet says whether a set id belongs to Fleet itself: what its controllers and its agent's installation apply.
func IsFleetsOwnSet(setID string) bool {
	return strings.HasPrefix(setID, "fleet-bootstrap") || strings.HasPrefix(setID, agentSetID) || setID == "fleet-manage-agent"
}

// SafeConcat joins parts with "-" and shortens the result to 63 bytes where it has 64 or more. It works on bytes, not on characters.
func SafeConcat(parts ...string) string {
	name := strings.Join(parts, "-")
	if len(name) < maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	digest := hex.EncodeToString(sum[:])
	if c := name[maxName-8]; 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
		return name[:maxName-7] + "-" + digest[:5]
	}
	return name[:maxName-8] + "-" + digest[:6]
}

var (
	releaseUnclean = regexp.MustCompile(`[^a-zA-Z0-9-]+`)
	releaseDashes  = regexp.MustCompile(`-+`)
	releaseValid   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
)

// HelmReleaseName turns any name into one that Helm takes: at most 53 bytes of a-z, 0-9 and "-". Source: docs/fleet-behavior.md, 1.4.
func HelmReleaseName(name string) string {
	s := strings.ReplaceAll(name, "/", "-")
	if s != strings.ToLower(s) || releaseUnclean.MatchString(s) {
		s += "-" + md5Hex(s)[:8]
	}
	s = releaseUnclean.ReplaceAllString(strings.ToLower(s), "-")
	s = strings.Trim(releaseDashes.ReplaceAllString(s, "-"), "-")
	if !releaseValid.MatchString(s) {
		return md5Hex(name)[:24]
	}
	return limit(s, maxReleaseName)
}

// limit shortens s to n bytes, the last of them a digest of what was cut.
func limit(s string, n int) string {
	const digest = 5
	if len(s) <= n {
		return s
	}
	if n <= digest+1 {
		return s[:n]
	}
	k := n - digest - 1
	sep := "-"
	if s[k-1] == '-' {
		sep = ""
	}
	return s[:k] + sep + md5Hex(s)[:digest]
}

func md5Hex(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}
