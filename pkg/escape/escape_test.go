// SPDX-License-Identifier: Apache-2.0

package escape_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// texts are possible names, messages and arguments.
var texts = []string{
	"plain", "größe 見る 🔑", "tab\tand\nline\r\n", "\x1b[2J\x1b]0;title\a", "\u009b31m", "\x7f\x00\x01",
	"\u202eevil\u2066x\u2069\u200e\u200f\u061c",
	"\u2028\u2029\u0085", "\ufeff\u200d\u00ad", "\U000e0001\U000e0041\U0001d173", `\x010:0000202e\x02 \u202e \\u202e`,
	"pay\ufe0fment\u034f\u115f\u3164\uffa0\u17b4\u180b\U000e0100",
	"\u202e" + `\x010:0000202e\x02`, "multi\n\u2028line\n", "- : #\u202e",
}

// foreign finds a character that must not reach a terminal.
func foreign(s string) string {
	for _, r := range s {
		if r != '\n' && r != '\t' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) ||
			unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' ||
			unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)) {
			return fmt.Sprintf("%U", r)
		}
	}
	return ""
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{"a\tb\nc\x1b[1m\u202e\u0085\x9b": "a\tb\nc\ufffd[1m\ufffd\ufffd\ufffd",
		"größe 見る 🔑": "größe 見る 🔑"} {
		if got := escape.Text(in); got != want {
			t.Errorf("Text(%q) is %q, want %q", in, got, want)
		}
		if got, want := escape.Line(in), strings.ReplaceAll(want, "\n", "\ufffd"); got != want {
			t.Errorf("Line(%q) is %q, want %q", in, got, want)
		}
		var b bytes.Buffer
		if n, err := fmt.Fprint(escape.TextWriter(&b), in); err != nil || n != len(in) || b.String() != want {
			t.Errorf("%d bytes of %q written: %q, error %v", n, in, &b, err)
		}
	}
}

// TestDocuments checks that no document has a character that must not reach a terminal, and that each decodes to the
// encoded value.
func TestDocuments(t *testing.T) {
	for _, s := range texts {
		document := map[string]any{"text": s, "key " + s: []any{map[string]any{"in": s}, "x" + s, 1.0, nil, true}}
		var b bytes.Buffer
		if err := escape.EncodeJSON(&b, document, "  "); err != nil {
			t.Fatal(err)
		}
		out, err := escape.EncodeYAML(document)
		if err != nil {
			t.Fatal(err)
		}
		for format, printed := range map[string]string{"JSON": b.String(), "YAML": string(out)} {
			if at := foreign(printed); at != "" {
				t.Errorf("%q: the %s has %s: %q", s, format, at, printed)
			}
		}
		var fromJSON, fromYAML any
		if err := json.Unmarshal(b.Bytes(), &fromJSON); err != nil {
			t.Errorf("%q: %v", s, err)
		}
		if err := yaml.Unmarshal(out, &fromYAML); err != nil {
			t.Errorf("%q: %v in %q", s, err, out)
		}
		for format, got := range map[string]any{"JSON": fromJSON, "YAML": fromYAML} {
			if diff := cmp.Diff(any(document), got); diff != "" {
				t.Errorf("%q: the %s decodes to another value (-want +got):\n%s", s, format, diff)
			}
		}
	}
}

// TestEscapes checks the escapes of characters that are not printable.
func TestEscapes(t *testing.T) {
	var b bytes.Buffer
	fmt.Fprint(escape.JSONWriter(&b), "{\n  \"a\": \"\u202e\U000e0001é\"\n}\n")
	if want := "{\n  \"a\": \"\\u202e\\udb40\\udc01é\"\n}\n"; b.String() != want {
		t.Errorf("JSON %q, want %q", &b, want)
	}
	out, err := escape.EncodeYAML(map[string]string{"a": "\u202e\U000e0001é", "b": "plain"})
	if want := "a: \"\\u202e\\U000e0001é\"\nb: plain\n"; err != nil || string(out) != want {
		t.Errorf("YAML %q, error %v, want %q", out, err, want)
	}
}

func FuzzDocuments(f *testing.F) {
	for _, s := range texts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "")
		out, err := escape.EncodeYAML([]string{s})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := yaml.Unmarshal(out, &got); err != nil || len(got) != 1 || got[0] != s {
			t.Errorf("%q became %q by way of %q: %v", s, got, out, err)
		}
		if at := foreign(string(out)); at != "" {
			t.Errorf("%q: the YAML has %s: %q", s, at, out)
		}
	})
}

// FuzzIndent checks that the indented JSON is that of encoding/json.
func FuzzIndent(f *testing.F) {
	for _, s := range []string{`{}`, `[]`, `null`, `-0.5e+10`, `"text"`, `[[],{},[{}],1,"a,b:{[\"\\"]`,
		`{"b":{"a":[1,2,{"c":[]}]},"a":"\u202e \u0001<&>","":{}}`, ` [ 1 , { "a" : [ ] } ] `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var want, got bytes.Buffer
		e := json.NewEncoder(escape.JSONWriter(&want))
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if e.Encode(json.RawMessage(raw)) != nil || !utf8.Valid(raw) {
			return // this is not JSON
		}
		if err := escape.EncodeJSON(&got, json.RawMessage(raw), "  "); err != nil || got.String() != want.String() {
			t.Errorf("%q became %q, not %q: %v", raw, &got, &want, err)
		}
	})
}
