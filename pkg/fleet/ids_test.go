// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strings"
	"testing"
)

// The values of docs/fleet-behavior.md, 1.1 to 1.4.

func TestSafeConcat(t *testing.T) {
	a56 := strings.Repeat("a", 56)
	for _, tc := range []struct {
		parts []string
		want  string
	}{
		{[]string{strings.Repeat("a", 63)}, strings.Repeat("a", 63)},
		{[]string{strings.Repeat("a", 64)}, strings.Repeat("a", 57) + "-ffe05"},
		{[]string{strings.Repeat("a", 32), strings.Repeat("a", 32)}, strings.Repeat("a", 32) + "-" +
			strings.Repeat("a", 24) + "-da5ed"},
		{[]string{a56 + "-aaaaaaa"}, a56 + "-768c62"},
		{[]string{"default", strings.Repeat("a", 48) + "-" + strings.Repeat("b", 12)}, "default-" +
			strings.Repeat("a", 48) + "-2bf489"},
	} {
		got := SafeConcat(tc.parts...)
		if got != tc.want {
			t.Errorf("SafeConcat(%q) = %q, want %q", tc.parts, got, tc.want)
		}
	}
	// the 57th byte is neither a lower-case letter nor a digit: the second form
	for _, c := range []string{"-", ".", "A"} {
		if got := SafeConcat(a56 + c + "aaaaaaa"); len(got) != 63 || got[:57] != a56+"-" {
			t.Errorf("57th byte %q: %q", c, got)
		}
	}
}

func TestSetIDAndHash(t *testing.T) {
	const long = "a-very-long-gitrepo-name-with-a-long-path-inside-fdba4"
	for _, tc := range []struct{ bd, scope, id, hash string }{
		{"my-bundle", "", "default-my-bundle", "593bcc0742ec790a181ae012e9f57834f021fe92"},
		{"my-bundle", "cattle-fleet-system", "default-my-bundle-cattle-fleet-system",
			"d2b35a70ecb196f51ba62aebe4b459720203d3cd"},
		{"guestbook", "", "default-guestbook", "c5c68538ff9800def965853a87784a250ad1f566"},
		{"guestbook", "cattle-fleet-system", "default-guestbook-cattle-fleet-system",
			"5fb24259dd98dea039931b04c4a0eec961e30f65"},
		{"test-repo-multi-cluster-helm", "", "default-test-repo-multi-cluster-helm",
			"7cef916537f04846ba9563ae5ff736b178b00beb"},
		{"fleet-agent-local", "", "fleet-agent-bootstrap", "f399d0b310fbfb28e9667312fdc7a33954e2b8c8"},
		{"fleet-agent-local", "custom-ns", "fleet-agent-bootstrap-custom-ns",
			"f2a91156e1c600f16a40a499ac245e569c211420"},
		{"fleet-agent-tools", "", "fleet-agent-bootstrap", "f399d0b310fbfb28e9667312fdc7a33954e2b8c8"},
		{long, "cattle-fleet-local-system", "default-a-very-long-gitrepo-name-with-a-long-path-inside-b1f7d4",
			"89ed821b1abc5e643bc260444d50558eb8cd88a4"},
	} {
		id := SetID(tc.bd, tc.scope)
		if id != tc.id || Hash(id) != tc.hash {
			t.Errorf("%s in scope %q: id %q, hash %s; want %q, %s", tc.bd, tc.scope, id, Hash(id), tc.id, tc.hash)
		}
	}
}

func TestHelmReleaseName(t *testing.T) {
	digits := strings.Repeat("1234567890", 5)
	for in, want := range map[string]string{
		"test-repo/single/helm":           "test-repo-single-helm",
		"repo/apps/my_app":                "repo-apps-my-app-d9b93c17",
		"Simple/Path":                     "simple-path-9c53c395",
		"bundle.name.example.com":         "bundle-name-example-com-645ef821",
		"long-name-test-0.App_ ":          "long-name-test-0-app-5bf6b3fb",
		"long-name-test--App_-_12.factor": "long-name-test-app-12-factor-0efbac37",
		digits + "123a":                   "12345678901234567890123456789012345678901234567-fdba4",
		digits[:46] + "-1234567":          "1234567890123456789012345678901234567890123456-d0bce",
		"@@":                              "2058c65b",
	} {
		if got := HelmReleaseName(in); got != want {
			t.Errorf("HelmReleaseName(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLimit(t *testing.T) {
	for _, tc := range []struct {
		s    string
		n    int
		want string
	}{{"12345678", 7, "1-25d55"}, {"123456789", 8, "12-25f9e"}, {"1-3456789", 8, "1-9b657"}, {"1234567", 6, "123456"}} {
		if got := limit(tc.s, tc.n); got != tc.want {
			t.Errorf("limit(%q, %d) = %q, want %q", tc.s, tc.n, got, tc.want)
		}
	}
}

// TestScopeOfSet checks that the scope in a set id is found, and only if the set id has one.
func TestScopeOfSet(t *testing.T) {
	long := strings.Repeat("a", 40)
	for _, tc := range []struct {
		setID, name string
		candidates  []string
		scope       string
		ok          bool
	}{
		{"default-web", "web", nil, "", true},
		{"default-web-agents", "web", nil, "agents", true},
		{"default-web-agents", "web-agents", nil, "", true},
		{"fleet-agent-bootstrap", "fleet-agent-local", nil, "", true},
		{"fleet-agent-bootstrap-agents", "fleet-agent-local", nil, "agents", true},
		{"default-shop", "web", nil, "", false},
		{"default-webshop", "web", nil, "", false},
		{"", "web", nil, "", false},
		{SetID(long, "cattle-fleet-local-system"), long, nil, "", false}, // shortened
		{SetID(long, "cattle-fleet-local-system"), long, []string{"other", "cattle-fleet-local-system"},
			"cattle-fleet-local-system", true},
	} {
		scope, ok := ScopeOfSet(tc.setID, tc.name, tc.candidates...)
		if ok != tc.ok || ok && scope != tc.scope {
			t.Errorf("%s of %s: %q, %v", tc.setID, tc.name, scope, ok)
		}
	}
}
