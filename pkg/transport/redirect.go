// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// RedirectError means that a server redirected a request, and that the redirect was not followed.
type RedirectError struct {
	Method string
	// From and To are scheme, host and port. To is empty if the answer has no valid address.
	From, To string
}

// Error implements error.
func (e *RedirectError) Error() string {
	to := "to an invalid address"
	if e.To != "" {
		to = fmt.Sprintf("to %q", e.To)
	}
	return fmt.Sprintf("%s redirects this %s request %s, and the redirect is not followed; check the server address "+
		"in the kubeconfig (--server) and the "+
		"proxy", e.From, e.Method, to)
}

// redirects are the status codes that net/http follows.
var redirects = map[int]bool{http.StatusMovedPermanently: true, http.StatusFound: true, http.StatusSeeOther: true,
	http.StatusTemporaryRedirect: true, http.StatusPermanentRedirect: true}

// refuseRedirect returns an error for a redirect to another server or scheme. It refuses each redirect of a request
// that writes, because net/http would send the body again or change the request to a read.
func refuseRedirect(req *http.Request, resp *http.Response) error {
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

// ports are the default ports of schemes.
var ports = map[string]string{"http": "80", "https": "443"}

// origin is the scheme, host and port of an address, without user, path and query.
func origin(u *url.URL) string {
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	if port == "" {
		port = ports[scheme]
	}
	return scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
