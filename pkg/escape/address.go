// SPDX-License-Identifier: Apache-2.0

package escape

import (
	"net/url"
	"regexp"
	"strings"
)

// NoAddress replaces an address of which no part may be shown.
const NoAddress = "[address not shown]"

// Address returns the address of a server, a URL or HOST:PORT, without user, password, query and fragment. It returns
// NoAddress for a malformed address with an "@" or a query, because any part of it can belong to a password.
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
	// An "@" after the host is probably the end of a password that contains a slash or a question mark. client-go
	// escapes a "#" as part of the path.
	if err != nil || u.Host == "" {
		return NoAddress
	}
	if strings.Contains(u.RawQuery+u.Fragment, "@") || strings.ContainsAny(u.Path, "@?#") {
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

// WithoutCredentials removes user and password from the URLs in a text, and the values of credentials in their queries.
// It is for messages of libraries that quote an address.
func WithoutCredentials(text string) string {
	return tokenValue.ReplaceAllString(userInfo.ReplaceAllString(text, "://"), "${1}***")
}
