// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
)

// document is a document of some texts and names. published adds the text that the program wrote.
type document struct {
	texts, names []string
	published    func(*secret.Published)
}

// Texts implements secret.Document.
func (d document) Texts(add func(...string)) { add(d.texts...) }

// Names implements secret.Document.
func (d document) Names(add func(...string)) { add(d.names...) }

// Published implements secret.Document.
func (d document) Published(p *secret.Published) {
	if d.published != nil {
		d.published(p)
	}
}

// shown returns a text as a document with this text alone shows it.
func shown(s *secret.Values, text string) string {
	return s.Redactor(document{texts: []string{text}})(text)
}

// decoded is a Secret as JSON.
func decoded(t *testing.T, content string) map[string]any {
	t.Helper()
	out, _, err := object.Decode([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func encoded(v string) string { return base64.StdEncoding.EncodeToString([]byte(v)) }

// TestForms checks that a value is hidden in each form in which a text may contain it.
func TestForms(t *testing.T) {
	const value = `inv"ented<pass>'word/+é 1`
	quoted := func(v string) string { return strings.Trim(strconv.Quote(v), `"`) }
	marshalled := func(v string) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Trim(string(raw), `"`)
	}
	const long = "invented first line of a value that is longer than its prefix\nthe second line\r\n" +
		"\tand the third line"
	for name, form := range map[string]string{
		"literal":                       value,
		"hexadecimal":                   hex.EncodeToString([]byte(value)),
		"hexadecimal, capitals":         strings.ToUpper(hex.EncodeToString([]byte(value))),
		"base64":                        encoded(value),
		"base64 without padding":        base64.RawStdEncoding.EncodeToString([]byte(value)),
		"base64 for URLs":               base64.URLEncoding.EncodeToString([]byte(value)),
		"base64, escaped for a URL":     url.QueryEscape(encoded(value)),
		"JSON":                          marshalled(value),
		"JSON without escapes for HTML": strings.ReplaceAll(value, `"`, `\"`),
		"Go":                            quoted(value),
		"YAML in single quotes":         strings.ReplaceAll(value, "'", "''"),
		"HTML":                          html.EscapeString(value),
		"HTML with named quotes": strings.NewReplacer("&#34;", "&quot;", "&#39;", "&apos;").
			Replace(html.EscapeString(value)),
		"URL query":                       url.QueryEscape(value),
		"URL path":                        url.PathEscape(value),
		"URL query with lowercase digits": strings.ReplaceAll(url.QueryEscape(value), "%2F", "%2f"),
		"lines":                           long,
		"lines, JSON":                     marshalled(long),
		"lines, Unix line ends":           strings.ReplaceAll(long, "\r\n", "\n"),
		"lines joined by blanks":          strings.Join(strings.Fields(long), " "),
		"lines, base64":                   encoded(long),
	} {
		var s secret.Values
		s.AddPlain(value)
		s.AddPlain(long)
		got := shown(&s, "before "+form+" after")
		if rest := strings.NewReplacer("***", "", "%3D", "", "=", "").Replace(got); rest != "before  after" &&
			got != "***" {
			t.Errorf("%s: %q is shown as %q", name, form, got)
		}
	}
}

// TestEmbeddedBase64 checks that a value in a longer text is hidden if that text is encoded, at each offset in a base64
// group.
func TestEmbeddedBase64(t *testing.T) {
	const value = "invented-password"
	for _, before := range []string{"", "u", "u:", "us:", "user:"} {
		for _, after := range []string{"", "\n", "\n\n", ";x=y"} {
			for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
				var s secret.Values
				s.AddPlain(value)
				got := shown(&s, e.EncodeToString([]byte(before+value+after)))
				if around := e.EncodedLen(len(before)) + e.EncodedLen(len(after)); !strings.Contains(got, "***") ||
					len(got) > len("***")+around+2 {
					t.Errorf("%q: shown as %q", before+value+after, got)
				}
			}
		}
	}
}

// TestAddSecret checks which values of a Secret are hidden. Each text is hidden completely or shown unchanged.
func TestAddSecret(t *testing.T) {
	const user, password = "invented-user", "invented-password"
	login := `{"auth":"` + encoded(user+":"+password) + `","email":"invented@example.com"}`
	for name, tc := range map[string]struct {
		secret        string
		hidden, shown []string
	}{
		"data": {`{"data":{"key":"` + encoded(password) + `"}}`,
			[]string{password, encoded(password)}, []string{user, "key"}},
		"data that is not base64": {`{"data":{"key":"not base64: invented"}}`, []string{"not base64: invented"},
			nil},
		"data with surrounding blanks": {`{"data":{"key":"` + encoded(password+"\n") + `"}}`, []string{password}, nil},
		"data that is base64 twice": {`{"data":{"key":"` + encoded(encoded(password)) + `"}}`,
			[]string{encoded(password)}, nil},
		"stringData": {`{"stringData":{"key":"` + password + `"}}`,
			[]string{password, encoded(password)}, nil},
		"a number": {`{"stringData":{"pin":12345678}}`, []string{"12345678"}, nil},
		"null": {`{"data":{"key":null},"stringData":{"key":null}}`, nil,
			[]string{"null", "<nil>"}},
		"short values": {`{"data":{"a":"` + encoded("true") + `"},"stringData":{"b":"12345"}}`, nil,
			[]string{"true", "12345"}},
		"the namespace of a token": {`{"type":"kubernetes.io/service-account-token","data":{"namespace":"` +
			encoded("guestbook") + `","token":"` + encoded(password) + `"}}`,
			[]string{password}, []string{"guestbook"}},
		"a namespace that is not of a token": {`{"type":"Opaque","data":{"namespace":"` + encoded("guestbook") + `"}}`,
			[]string{"guestbook"}, nil},
		"the annotation of kubectl apply": {`{"metadata":{"annotations":{` +
			`"kubectl.kubernetes.io/last-applied-configuration":` +
			strconv.Quote(`{"kind":"Secret","data":{"key":"`+encoded(password)+`"},"stringData":{`+
				`"other":"`+user+`"}}`) + `}}}`, []string{password, user}, nil},
		"another annotation with a Secret": {`{"metadata":{"annotations":{"example.com/copy":` +
			strconv.Quote(`{"stringData":{"key":"`+password+`"}}`) + `}}}`, []string{password}, nil},
		"an annotation that is not a Secret": {`{"metadata":{"annotations":{"example.com/note":"invented-note",` +
			`"example.com/json":"{\"metadata\":1}"}}}`, nil,
			[]string{"invented-note"}},
		"a Secret in a Secret in an annotation": {`{"metadata":{"annotations":{"a":` +
			strconv.Quote(`{"data":{},"metadata":{"annotations":{"b":`+strconv.Quote(`{"stringData":{`+
				`"c":"`+password+`"}}`)+`}}}`) + `}}}`,
			nil, []string{password}}, // programs store only one copy
		".dockerconfigjson": {`{"data":{".dockerconfigjson":"` +
			encoded(`{"auths":{"registry.example.com":`+login+`}}`) + `"}}`,
			[]string{password, user + ":" + password, "invented@example.com"}, []string{"registry.example.com"}},
		"config.json in stringData": {`{"stringData":{"config.json":` +
			strconv.Quote(`{"auths":{"registry.example.com":`+login+`}}`) + `}}`, []string{password}, nil},
		".dockercfg": {`{"data":{".dockercfg":"` + encoded(`{"registry.example.com":`+login+`}`) +
			`"}}`, []string{password}, nil},
		".dockercfg that is not JSON": {`{"data":{".dockercfg":"` + encoded("invented text") + `","config.json":"` +
			encoded("[]") + `"}}`, []string{"invented text"}, nil},
	} {
		var s secret.Values
		s.AddSecret(decoded(t, tc.secret))
		for _, text := range tc.hidden {
			if got := shown(&s, "it is "+text+"."); got != "it is ***." {
				t.Errorf("%s: %q is shown as %q", name, text, got)
			}
		}
		for _, text := range tc.shown {
			if got := shown(&s, "it is "+text+"."); got != "it is "+text+"." {
				t.Errorf("%s: %q is shown as %q", name, text, got)
			}
		}
	}
}

// TestTexts checks that secret values are hidden in the texts that reports quote: environment variables, addresses,
// Helm values.
func TestTexts(t *testing.T) {
	var s secret.Values
	s.AddPlain("invented-password")
	s.AddPlain("p@ss/w:rd 1")
	s.AddSecret(map[string]any{"data": map[string]any{"token": encoded("invented-token")}})
	s.AddText([]byte("database:\n  password: invented-value\n  port: 54321098\n  hosts: [invented-host]\n" +
		"  ssl: true\n"))
	s.AddText([]byte("{not: yaml: at all"))
	for text, want := range map[string]string{
		`env DB_PASSWORD: "invented-password" → "x"`:              `env DB_PASSWORD: "***" → "x"`,
		"postgres://app:invented-password@db.example.com/app":     "postgres://app:***@db.example.com/app",
		"https://example.com/?token=" + encoded("invented-token"): "https://example.com/?token=***",
		// Programs differ in the characters that they escape: if an escaped value is left, nothing of the text is
		// shown.
		"postgres://app:p%40ss%2Fw%3Ard%201@db.example.com/app": "***",
		"https://example.com/?token=%69nvented%2Dtoken":         "***",
		"a &#105;nvented-token in HTML":                         "***",
		`a \U00000069nvented\x2dtoken in YAML`:                  "***",
		"an inven\\\n  ted-token on two lines of YAML":          "***",
		`an \151nvented-token in a shell`:                       "***",
		`a \151nvented-tolken`:                                  `a \151nvented-tolken`,
		"values: invented-value, invented-host":                 "values: ***, ***",
		"port 54321098":                                         "port ***",
		"ssl: true":                                             "ssl: true",
		"{not: yaml: at all":                                    "***",
		"password: invented-passwor":                            "password: invented-passwor",
		"":                                                      "",
	} {
		if got := shown(&s, text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// TestLongestFirst checks that a value that contains another one is hidden completely.
func TestLongestFirst(t *testing.T) {
	var s secret.Values
	s.AddPlain("invented")
	s.AddPlain("invented-password")
	if got := shown(&s, "invented-password, invented"); got != "***, ***" {
		t.Errorf("shown as %q", got)
	}
}

// TestNames checks that a value that is a name in the document is shown, and a value that is only part of a name is
// not.
func TestNames(t *testing.T) {
	var s secret.Values
	for _, v := range []string{"guestbook", "fleet-local/guestbook", "frontend", "default"} {
		s.AddPlain(v)
	}
	text := "guestbook fleet-local/guestbook frontend default"
	got := s.Redactor(document{texts: []string{text}, names: []string{"fleet-local/guestbook", "frontend-2"}})(text)
	if want := "guestbook fleet-local/guestbook *** ***"; got != want {
		t.Errorf("shown as %q, want %q", got, want)
	}
}

// TestAddQuoted checks which values of a Secret that no bundle states are hidden: those that the document quotes,
// except for public words and for text that the program wrote.
func TestAddQuoted(t *testing.T) {
	content := decoded(t, `{"data":{"a":"`+encoded("invented-password")+`","b":"`+encoded("Deployment")+`",`+
		`"c":"`+encoded("is not ready")+`","d":"`+encoded("[invented")+`"},
		"stringData":{"e":"invented-plain","f":".spec.replicas","g":"not in any text"}}`)
	d := document{
		texts: []string{`Deployment web is not ready: "invented-password", invented-plain, .spec.replicas, .data[` +
			`"[invented"]`},
		published: func(p *secret.Published) {
			p.Sentence(`Deployment web is not ready: "invented-password", .data["invented-plain"]`,
				[]string{`.data["invented-plain"]`, ".data"})
			p.Path(".spec.replicas")
			p.Path(`.data["[invented"]`)
		},
	}
	var quotes secret.Quotes
	if !quotes.Empty() {
		t.Error("quotes without a text are not empty")
	}
	if quotes.Add("short"); !quotes.Empty() {
		t.Error("a text that is shorter than any value can be quoted")
	}
	quotes.Add(d.texts...)
	if quotes.Empty() {
		t.Error("no text was added")
	}
	var s secret.Values
	s.AddQuoted(content, &quotes, map[string]bool{"Deployment": true}, false)
	want := `Deployment web is not ready: "***", ***, .spec.replicas, .data["***"]`
	if got := s.Redactor(d)(d.texts[0]); got != want {
		t.Errorf("shown as %q, want %q", got, want)
	}
	// The same value in a bundle is hidden, whatever the program wrote.
	s.AddPlain("is not ready")
	if got := s.Redactor(d)(d.texts[0]); !strings.HasPrefix(got, "Deployment web ***: ") {
		t.Errorf("with a Secret of a bundle: shown as %q", got)
	}
	if got := shown(&s, "not in any text"); got != "not in any text" {
		t.Errorf("a value that was not quoted was kept: %q", got)
	}
}

// TestInAnnotation checks which annotations contain a Secret.
func TestInAnnotation(t *testing.T) {
	for annotation, want := range map[any]bool{
		`{"kind":"Secret","data":{"a":"b"}}`: true,
		`{"stringData":{}}`:                  true,
		`{"data":"text"}`:                    false,
		`{"kind":"ConfigMap"}`:               false,
		`"data"`:                             false,
		`{"data":`:                           false,
		"":                                   false,
		5:                                    false,
	} {
		if got := secret.InAnnotation(annotation) != nil; got != want {
			t.Errorf("%v: a Secret: %v, want %v", annotation, got, want)
		}
	}
}
