// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

func TestNearest(t *testing.T) {
	for _, tc := range []struct{ word, known, want string }{
		{"namspace", "namespace name snapshot", "namespace"},
		{"guestbok", "guestbook ingress", "guestbook"},
		{"guestbokk", "guestbook guestbook-2 ingress", "guestbook guestbook-2"},
		{"Guestbook", "guestbook", "guestbook"},
		{"guestbook", "guestbook guestbook-2", ""},
		{"guest", "guestbook-guestbook ingress", "guestbook-guestbook"},
		{"imgae", "image page", "image"},
		{"yml", "yaml json", "yaml"},
		{"FD011", "FD101 FD111 FD704", "FD101 FD111"},
		{"x", "a b", ""},
		{"", "a b", ""},
		{"web", "db", ""},
		{"ab", "abc abd abe abf", "abc abd abe"},
		{"nothing", "", ""},
		{"abc", "abd abd", "abd"},
	} {
		got := cli.Nearest(tc.word, strings.Fields(tc.known))
		if !slices.Equal(got, strings.Fields(tc.want)) {
			t.Errorf("%q: %q, want %q", tc.word, got, tc.want)
		}
	}
}

// TestHint checks the question, in which names are quoted: they come from a cluster.
func TestHint(t *testing.T) {
	if got, want := cli.HintIn("bundle/", "gestbook", "",
		[]string{"guestbook"}), `Did you mean "bundle/guestbook"?`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := cli.Hint("gestbook", []string{"ingress"}); got != "" {
		t.Errorf("%q, want none", got)
	}
}
