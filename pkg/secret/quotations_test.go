// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
)

// quoted returns a text as a document quotes it, if the Secrets of all namespaces but "unread" were read.
func quoted(s *secret.Values, text string, places ...secret.Place) string {
	ref := s.Quotations.Add(text, places...)
	s.Quotations.Searched([]string{text}, func(p secret.Place) string {
		if p.Namespace == "unread" {
			return "those of namespace unread"
		}
		return ""
	})
	return shown(s, "refused: "+ref)
}

// TestQuotations checks what is shown of a text of another program.
func TestQuotations(t *testing.T) {
	const value = "invented-password"
	many := strings.Repeat("x", 590)
	for _, tc := range []struct{ name, text, want string }{
		{"one line", "ConfigMap exists", "ConfigMap exists"},
		{"some lines", "a\n\n  b:\n- c\r\n", "a b: - c"},
		{"more lines", "1\n2\n3\n4", "1 2 3 …"},
		{"a long line", strings.Repeat("ä", 601), strings.Repeat("ä", 600) + "…"},
		{"a value", "the password " + value + " is not valid", "the password *** is not valid"},
		{"a value in base64", "data.password: " + encoded(value), "data.password: ***"},
		{"a value on two lines", "the invented-\nline is not valid", "the *** is not valid"},
		{"a value at the end of what is shown", many + " " + value + " follows", many + " *** follo…"},
		{"a value behind what is shown", "1\n2\n3\n" + value, "1 2 3 …"},
		{"the credentials of an address", "cloning https://user:token@git.example.com/a: EOF",
			"cloning https://***@git.example.com/a: EOF"},
		{"an object", `Object 'Kind' is missing in '{"data":{"a":"b"}}' of x`,
			"Object 'Kind' is missing in '{…}' of x"},
		{"an object in a quoted text", `value "{\"data\":{}}": x`, `value "{…}": x`},
		{"an object that does not end", `in {"data": "b`, "in {…}"},
		{"a map of Go", `Invalid value: map[string]interface {}{"a":1}: x`,
			`Invalid value: map[string]interface {}{…}: x`},
		{"the input of a decoder", "in #10 byte of ...|:\"b\"}|..., bigger context ...|{\"a\":\"b\"}|...",
			"in #10 byte of …"},
		{"a template", `at <{{ .Values.a }}>: nil`, `at <{{ .Values.a }}>: nil`},
	} {
		var s secret.Values
		s.AddPlain(value)
		s.AddPlain("invented-\nline")
		if got := quoted(&s, tc.text); got != "refused: "+tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, "refused: "+tc.want)
		}
	}
}

// TestQuotationsWithheld checks that a text is not shown if Secrets that it may quote were not read.
func TestQuotationsWithheld(t *testing.T) {
	var s secret.Values
	const withheld = "refused: (its text is not shown: it may have values of Secrets that were not read, those of "
	if got := quoted(&s, "text", secret.Place{Namespace: "read"},
		secret.Place{Namespace: "unread"}); got != withheld+"namespace unread)" {
		t.Error(got)
	}
	if got := quoted(&s, "other", secret.Place{Namespace: "read"}); got != "refused: other" {
		t.Error(got)
	}
	// In a text that was added later, no value was searched for.
	if got := shown(&s, "refused: "+s.Quotations.Add("later")); got != withheld+"all namespaces)" {
		t.Error(got)
	}
	// A text of the cluster can look like a reference.
	for _, forged := range []string{"\uFDD099\uFDD1", "\uFDD099999999999999999999\uFDD1"} {
		if got := shown(&s, "a"+forged+"b"); got != "ab" {
			t.Errorf("%q", got)
		}
	}
}

// TestHelmValues checks that each of the Helm values in a Secret is hidden.
func TestQuotedHelmValues(t *testing.T) {
	const text = "user invented-user, password invented-password (" + "aW52ZW50ZWQtcGFzc3dvcmQ=), key 12345678"
	for name, values := range map[string]string{
		"YAML": "database:\n  user: invented-user\n  password: invented-password\n  key: 12345678\n",
		"JSON": `{"database":{"user":"invented-user","password":"invented-password","key":12345678},"control":"` +
			"\x7f" + `"}`,
	} {
		for _, field := range []string{"data", "stringData"} {
			content := values
			if field == "data" {
				content = encoded(values)
			}
			var quotes secret.Quotes
			quotes.Add(text)
			var s secret.Values
			s.AddQuoted(map[string]any{field: map[string]any{"values": content}}, &quotes, nil, true)
			if got := shown(&s, text); got != "user ***, password *** (***), key ***" {
				t.Errorf("%s in %s: %q", name, field, got)
			}
		}
	}
}

// TestHelmWords checks that a Helm value that may be a word in any sentence is only hidden as a word. The name of a
// field may have it as a part.
func TestHelmWords(t *testing.T) {
	const field = ".spec.affinity.preferredDuringSchedulingIgnoredDuringExecution"
	const text = field + ` differs: Ignore, x="Ignore", .data.Ignore, ` + "SWdub3Jl"
	var quotes secret.Quotes
	quotes.Add(text)
	var s secret.Values
	s.AddQuoted(map[string]any{"stringData": map[string]any{"values": "policy: Ignore\n"}}, &quotes, nil, true)
	if got, want := shown(&s, text), field+` differs: ***, x="***", .data.***, ***`; got != want {
		t.Errorf("shown as %q, want %q", got, want)
	}
	s.AddSecret(map[string]any{"stringData": map[string]any{"policy": "Ignore"}})
	if got := shown(&s, text); strings.Contains(got, "Ignore") {
		t.Errorf("a value of its own is shown as %q", got)
	}
}

// TestMaskedSecret checks which Secrets have values that another program masked.
func TestMaskedSecret(t *testing.T) {
	for content, want := range map[string]bool{
		`{"data":{"a":"` + encoded("***") + `"}}`:             true,
		`{"data":{"a":"***HIDDEN***"}}`:                       false,
		`{"stringData":{"a":"[REDACTED]"}}`:                   true,
		`{"data":{"a":"","b":"` + encoded("invented") + `"}}`: false,
	} {
		if got := secret.MaskedSecret(decoded(t, content)); got != want {
			t.Errorf("%s: %v, want %v", content, got, want)
		}
	}
}
