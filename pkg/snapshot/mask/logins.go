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
	for _, at := range loginsAt(text) {
		out = append(out, text[at[0]:at[1]])
	}
	return out
}

// loginsAt returns where the credentials in the addresses of a text are.
func loginsAt(text string) (out [][2]int) {
	if !strings.Contains(text, "://") || !strings.Contains(text, "@") {
		return nil
	}
	for _, at := range login.FindAllStringSubmatchIndex(text, -1) {
		if isLogin(text[at[2]:at[3]], text[at[4]:at[5]]) {
			out = append(out, [2]int{at[2], at[3]})
		}
	}
	return out
}

// isLogin reports whether a text before "@" has credentials. An address without credentials may have "@" in its path:
// before the digest of an image, or before a name.
func isLogin(before, after string) bool {
	if strings.HasPrefix(after, "sha256:") || strings.HasPrefix(after, "sha512:") || before == "git" {
		return false
	}
	return strings.Contains(before, ":") || !strings.Contains(before, "/")
}
