// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"regexp"
	"strings"
)

// login matches what may be the credentials in an address. They may have any character that an address has no place
// for.
var login = regexp.MustCompile("://([^\\s\"'`]+)@([^\\s\"'`@]*)")

// logins returns the credentials in the addresses of a text.
func logins(text string) []string {
	var out []string
	replaceLogins(text, func(login string) string {
		out = append(out, login)
		return login
	})
	return out
}

// replaceLogins replaces the credentials in the addresses of a text.
func replaceLogins(text string, replace func(login string) string) string {
	if !strings.Contains(text, "://") || !strings.Contains(text, "@") {
		return text
	}
	return login.ReplaceAllStringFunc(text, func(address string) string {
		parts := login.FindStringSubmatch(address)
		if !isLogin(parts[1], parts[2]) {
			return address
		}
		return "://" + replace(parts[1]) + "@" + parts[2]
	})
}

// isLogin reports whether a text before "@" has credentials. An address without credentials may have "@" in its path:
// before the digest of an image, or before a name.
func isLogin(before, after string) bool {
	if strings.HasPrefix(after, "sha256:") || strings.HasPrefix(after, "sha512:") || before == "git" {
		return false
	}
	return strings.Contains(before, ":") || !strings.Contains(before, "/")
}
