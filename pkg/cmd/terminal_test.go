// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// hostile acts on a terminal, and has a line that looks like a line of the program.
const hostile = "a\x1b[2J\u009b31m\u202eb\u2066c\u200f\u2028d\x7f\nerror: e"

// refusing is an API server that refuses every request with a given message.
func refusing(t *testing.T, message string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		if err := json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
			Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: message}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestTerminal checks that no argument and no message of a server that a verb prints acts on the terminal, or begins a
// line like a line of the program.
func TestTerminal(t *testing.T) {
	s := refusing(t, hostile)
	for _, args := range [][]string{
		{"audit", hostile},
		{"audit", "--" + hostile},
		{"audit", "gitrepo/" + hostile, "--snapshot", sick},
		{"audit", "--snapshot", "/not-there/" + hostile},
		{"audit", "--context", hostile},
		{"audit", "--server", s.URL},
		{"adopt", "--undo", "/not-there/" + hostile, "--snapshot", sick},
		{"owner", "configmap/" + hostile, "--snapshot", sick},
		{"preflight", "-f", "/not-there/" + hostile},
		{hostile},
		{"webhook", hostile},
		{"auditor", "status", "--server", s.URL},
		{"auditor", "uninstall", "--server", s.URL, "--yes"},
		{"webhook", "status", "--server", s.URL},
		{"webhook", "status", "--server", s.URL, "-o", "json"},
		{"webhook", "status", "--server", s.URL, "-o", "yaml"},
		{"webhook", "uninstall", "--server", s.URL, "--yes"},
	} {
		got := run(t, args...)
		out := got.out + got.errOut
		if strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
			t.Errorf("%q: %q", args, out)
		}
		if got.status == 0 || strings.Count("\n"+out, "\nerror: ") > 1 || strings.Contains(out, "\nerror: e") {
			t.Errorf("%q: status %d, %q", args, got.status, out)
		}
	}
}

// TestCredentialsInAddresses checks that no credential in the address of a server is printed, for every source of the
// address and every error.
func TestCredentialsInAddresses(t *testing.T) {
	const token = "invented-t0ken"
	s := refusing(t, "no")
	host := strings.TrimPrefix(s.URL, "http://")
	for _, address := range []string{
		"http://" + token + "@" + host,
		"http://somebody:" + token + "@" + host,
		"http://" + host + "/?token=" + token,
		"http://" + host + "/#" + token,
		"https://" + token + "@127.0.0.1:1",                    // no server answers
		"https://somebody:" + token + "%zz@127.0.0.1:1",        // malformed
		"https://somebody:12/" + token + "@127.0.0.1:1",        // a password with a slash
		"https://somebody:x " + token + "\x01@127.0.0.1:1",     // a password with blanks
		"https://somebody:12?x=" + token + "@127.0.0.1:1",      // a password with a question mark
		"somebody:" + token + "@127.0.0.1:1",                   // without a scheme
		"https://127.0.0.1:1/api?access_token=" + token,        // no server answers
		"ftp://somebody:" + token + "@127.0.0.1:1/?q=" + token, // not a scheme of an API server
	} {
		kubeconfig := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(kubeconfig, fmt.Appendf(nil,
			`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c",`+
				`"context":{"cluster":"c","user":"u"}}],`+
				`"users":[{"name":"u","user":{}}],"clusters":[{"name":"c",`+
				`"cluster":{"server":%q}}]}`, address), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, flag := range [][]string{{"--server", address}, {"--kubeconfig", kubeconfig}} {
			for _, verb := range [][]string{{"audit"}, {"audit", "-o", "json"}, {"adopt"}, {"owner", "configmap/a"},
				{"preflight"}, {"webhook", "status"}} {
				got := run(t, append(verb, flag...)...)
				if out := got.out + got.errOut; got.status == 0 || out == "" || strings.Contains(out, token) {
					t.Errorf("%q %q: status %d: %q", verb, flag, got.status, out)
				}
			}
		}
	}
}
