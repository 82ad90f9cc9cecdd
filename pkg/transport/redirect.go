// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// RedirectError says that a server redirected a request, and that the redirect was not followed.
type RedirectError struct {
	Method string
	// From and To are scheme and host; To is empty where the answer names no address.
	From, To string
}

// Error implements error.
func (e *RedirectError) Error() string {
	to := "to an address that cannot be parsed"
	if e.To != "" {
		to = fmt.Sprintf("to %q", e.To)
	}
	return fmt.Sprintf("%s redirects this %s request %s, and the redirect is not followed; check the server address in the kubeconfig (--server) and the "+
		"proxy", e.From, e.Method, to)
}

// redirects are the statuses that net/http follows.
var redirects = map[int]bool{http.StatusMovedPermanently: true, http.StatusFound: true, http.StatusSeeOther: true,
	http.StatusTemporaryRedirect: true, http.StatusPermanentRedirect: true}

// leadsAway returns an error where net/http would follow a redirect that it must not: to another server or another scheme; and anywhere for
// a request that writes, because its body would be sent again, or the request would become one that reads.
func leadsAway(req *http.Request, resp *http.Response) error {
	location := resp.Header.Get("Location")
	if !redirects[resp.StatusCode] || location == "" {
		return nil
	}
	e := &RedirectError{Method: req.Method, From: origin(req.URL)}
	to, err := req.URL.Parse(location)
	if err != nil {
		return e
	}
	e.To = origin(to)
	if e.To == e.From && (req.Method == http.MethodGet || req.Method == http.MethodHead) {
		return nil
	}
	return e
}

// ports are those of schemes, where an address states none.
var ports = map[string]string{"http": "80", "https": "443"}

// origin is an address's scheme, host and port: no user, no path, no query.
func origin(u *url.URL) string {
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	if port == "" {
		port = ports[scheme]
	}
	return scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
