// SPDX-License-Identifier: Apache-2.0

package input

import (
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// TestHideCredentials checks that credentials in the address are still used, and that the address, which errors of
// libraries quote, does not have them.
func TestHideCredentials(t *testing.T) {
	for name, tc := range map[string]struct {
		host, token                   string
		wantHost, wantUser, wantToken string
	}{
		"nothing": {host: "https://example.com:6443/k8s", wantHost: "https://example.com:6443/k8s"},
		"user and password": {host: "https://somebody:open-sesame@example.com", wantHost: "https://example.com",
			wantUser: "somebody:open-sesame"},
		"a token as user": {host: "https://open-sesame@example.com", wantHost: "https://example.com",
			wantUser: "open-sesame:"},
		"without a scheme": {host: "somebody:open-sesame@example.com:6443", wantHost: "example.com:6443",
			wantUser: "somebody:open-sesame"},
		"another credential": {host: "https://somebody:open-sesame@example.com", token: "a",
			wantHost: "https://example.com", wantToken: "a", wantUser: ":"},
		"a query": {host: "https://example.com/?token=open-sesame", wantHost: "https://example.com/",
			wantUser: ":"},
	} {
		c := &rest.Config{Host: tc.host, BearerToken: tc.token}
		if err := HideCredentials(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if user := strings.TrimPrefix(c.Username+":"+c.Password, ":"); c.Host != tc.wantHost ||
			user != strings.TrimPrefix(tc.wantUser, ":") || c.BearerToken != tc.wantToken {
			t.Errorf("%s: host %s, user %q, token %q", name, c.Host, user, c.BearerToken)
		}
	}
	if err := HideCredentials(&rest.Config{Host: "https://somebody:open%zzsesame@example.com"}); err == nil ||
		strings.Contains(err.Error(), "sesame") {
		t.Errorf("a malformed address: error %v", err)
	}
}
