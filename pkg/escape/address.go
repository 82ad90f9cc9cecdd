// SPDX-License-Identifier: Apache-2.0

package escape

import (
	"net/url"
	"regexp"
	"strings"
)

// NoAddress stands for an address of which no part may be shown.
const NoAddress = "[address not shown]"

// Address returns a server's address, a URL or HOST:PORT, without user, password, query and fragment. Of one that is malformed and
// has an "@" or a query, any part may be of a password: it returns NoAddress.
func Address(address string) string {
	if !strings.ContainsAny(address, "@?#%") {
		return address
	}
	schemeless := !strings.Contains(address, "://")
	full := address
	if schemeless {
		full = "https://" + address
	}
	u, err := url.Parse(full)
	// An "@" behind the host is most likely that of a password with a slash or a question mark in it. client-go escapes a "#" as part of the path.
	if err != nil || u.Host == "" || strings.Contains(u.RawQuery+u.Fragment, "@") || strings.ContainsAny(u.Path, "@?#") {
		return NoAddress
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	if schemeless {
		return strings.TrimPrefix(u.String(), "https://")
	}
	return u.String()
}

var (
	userInfo   = regexp.MustCompile(`://[^\s"]*@`)
	tokenValue = regexp.MustCompile(`(?i)([?&][a-z_-]*(?:token|password|secret|key)=)[^&\s"]*`)
)

// WithoutCredentials takes user and password out of the URLs in a text, and what their queries sign in with. It is for the messages of
// libraries that quote the address they were given.
func WithoutCredentials(text string) string {
	return tokenValue.ReplaceAllString(userInfo.ReplaceAllString(text, "://"), "${1}***")
}
