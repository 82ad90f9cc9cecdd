// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Forms returns the encodings of a value that may occur in a text. Each form of a prefix of the value is a prefix of a
// form of the value.
func Forms(v string) []string {
	digits := hex.EncodeToString([]byte(v))
	return slices.Concat([]string{v, digits, strings.ToUpper(digits)}, base64Forms(v), escapedForms(v), singleLine(v))
}

// base64Forms returns the base64 forms of a value: the value alone, the same escaped for a URL, and the value within a
// longer encoded text. In a longer text, the value begins at one of three offsets in a base64 group.
func base64Forms(v string) []string {
	out := []string{url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(v)))}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding,
		base64.RawURLEncoding} {
		out = append(out, e.EncodeToString([]byte(v)))
	}
	for before := range 3 {
		out = append(out, embedded(base64.RawStdEncoding, v, before), embedded(base64.RawURLEncoding, v, before))
	}
	return out
}

// embedded returns the base64 characters that depend on the value alone if `before` bytes precede it in its group and
// any bytes follow it.
func embedded(e *base64.Encoding, v string, before int) string {
	text := e.EncodeToString([]byte(strings.Repeat("\x00", before) + v))
	first := []int{0, 2, 3}[before]
	if (before+len(v))%3 != 0 {
		text = text[:len(text)-1]
	}
	return text[min(first, len(text)):]
}

// escapedByte matches one escaped byte of a URL.
var escapedByte = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// escapedForms returns the value as JSON, YAML and Go write it in a string, and as HTML and URLs escape it.
func escapedForms(v string) []string {
	var out []string
	for _, escapeHTML := range []bool{true, false} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(escapeHTML)
		if err := e.Encode(v); err == nil {
			out = append(out, strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`))
		}
	}
	quoted := strconv.Quote(v)
	page := html.EscapeString(v)
	out = append(out, quoted[1:len(quoted)-1], strings.ReplaceAll(v, "'", "''"), page,
		strings.NewReplacer("&#34;", "&quot;", "&#39;", "&apos;").Replace(page))
	for _, address := range []string{url.QueryEscape(v), url.PathEscape(v)} {
		out = append(out, address, escapedByte.ReplaceAllStringFunc(address, strings.ToLower))
	}
	return out
}

// singleLine returns the forms of a multi-line value on one line.
func singleLine(v string) []string {
	if !strings.ContainsAny(v, "\r\n\t") {
		return nil
	}
	unix := strings.ReplaceAll(v, "\r\n", "\n")
	return []string{unix, strings.Join(strings.Fields(v), " "), strings.ReplaceAll(unix, "\n", " "),
		strings.ReplaceAll(unix, "\n", ""), strings.ReplaceAll(unix, "\n", `\n`)}
}

// number matches the number of a character, in hexadecimal or octal digits.
const number = `(?:U[0-9a-fA-F]{8}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|0?[0-3][0-7]{2})`

var (
	// escapedChar matches what stands for a character in a string of JSON, YAML, Go or a shell, and the end of a line
	// that continues on the next one.
	escapedChar   = regexp.MustCompile(`\\(?:` + number + `|\r?\n[ \t]*|.)|''`)
	escapedNumber = regexp.MustCompile(`^` + number + `$`)
)

var escapes = map[string]string{`\n`: "\n", `\r`: "\r", `\t`: "\t", `''`: "'"}

// unescapedChar returns the character for which an escape stands.
func unescapedChar(escape string) string {
	if plain, known := escapes[escape]; known {
		return plain
	}
	text, base := escape[1:], 16
	switch {
	case text[0] == '\n' || text[0] == '\r':
		return ""
	case len(text) < 3 || !escapedNumber.MatchString(text):
		return text
	case text[0] <= '9':
		base = 8
	}
	r, _ := strconv.ParseUint(strings.TrimLeft(text, "Uux"), base, 32) // the expression allows only digits of the base
	return string(rune(r))
}

// Unescaped returns the text without the escapes of strings, and without those of URLs and HTML, if it has any.
// Programs differ in the characters that they escape.
func Unescaped(text string) []string {
	var out []string
	if strings.Contains(text, `\`) || strings.Contains(text, "''") {
		out = append(out, escapedChar.ReplaceAllStringFunc(text, unescapedChar))
	}
	if escapedByte.MatchString(text) {
		for _, address := range []string{text, strings.ReplaceAll(text, "+", " ")} { // a path, a query
			out = append(out, escapedByte.ReplaceAllStringFunc(address, func(s string) string {
				b, _ := hex.DecodeString(s[1:]) // the regular expression allows only hexadecimal digits
				return string(b)
			}))
		}
	}
	if page := html.UnescapeString(text); page != text {
		out = append(out, page)
	}
	return out
}

// Values collects the values that must not be shown. The zero value is ready to use. A cluster may have very many
// values, so they are stored unchanged and only expanded into their forms if a text may quote them. Values may be added
// concurrently.
type Values struct {
	// Quotations are the texts of other programs that documents quote.
	Quotations Quotations

	mu         sync.Mutex // guards values
	values     map[string]value
	beginnings knownBeginnings
}

// AddPlain adds an unencoded value.
func (s *Values) AddPlain(v string) { s.add(v, value{stated: true, plain: true}) }

func (s *Values) add(v string, known value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = map[string]value{}
	}
	s.values[v] = s.values[v].and(known)
}

// AddText adds a text from a Secret: the whole text and, if it is YAML, each value in it, because a template may use
// the values one by one.
func (s *Values) AddText(text []byte) {
	s.AddPlain(string(text))
	LeavesOf(text, s.AddPlain)
}

// AddRaw adds the values of Secrets, given as JSON. It ignores a Secret that cannot be decoded, because its values
// cannot be shown either.
func (s *Values) AddRaw(secrets [][]byte) {
	for _, raw := range secrets {
		if c, _, err := object.Decode(raw); err == nil {
			s.AddSecret(c)
		}
	}
}

// AddKubeconfig adds the credentials in a kubeconfig. Its other parts are names and addresses.
func (s *Values) AddKubeconfig(text []byte) {
	var c struct {
		Users []struct {
			User map[string]any `json:"user"`
		} `json:"users"`
	}
	if yaml.Unmarshal(text, &c) != nil {
		return
	}
	for _, u := range c.Users {
		for _, key := range []string{"token", "password", "client-key-data", "auth-provider"} {
			Leaves(u.User[key], s.AddPlain)
		}
	}
}

// AddSecret adds the values of a Secret, given as decoded JSON: its data, the registry logins in it, and the data in
// annotations with a copy of the Secret, such as the one of kubectl apply. A value that is not a string, such as
// 12345678, is added as text.
func (s *Values) AddSecret(c map[string]any) {
	secretValues(c, func(v string, encoded bool) { s.add(v, value{encoded, true, true}) })
}

// AddQuoted is AddSecret for the values that the document may quote. The values in except are not secret. With
// helmValues, the Secret has Helm values: YAML of which a template may use each value.
func (s *Values) AddQuoted(c map[string]any, q *Quotes, except map[string]bool, helmValues bool) {
	quoted := func(v string, known value) {
		all := variants(v, known.encoded)
		if slices.ContainsFunc(all, q.mayQuote) && !slices.ContainsFunc(all, func(v string) bool { return except[v] }) {
			s.add(strings.Clone(v), known) // the value must not keep the object in memory
		}
	}
	quotable(c, helmValues, quoted)
}

// quotable calls add with the values of a Secret that a document may quote.
func quotable(c map[string]any, helmValues bool, add func(string, value)) {
	secretValues(c, func(v string, encoded bool) {
		add(v, value{encoded: encoded, plain: true})
		if !helmValues {
			return
		}
		text, _ := decodedValue(v, encoded) // Helm reads no damaged Secret
		LeavesOf([]byte(text), func(leaf string) { add(leaf, value{encoded: true}) })
	})
}

// Prepare computes in advance what the first Redactor needs of the values.
func (s *Values) Prepare() {
	for v := range s.values {
		s.beginnings.get(v)
	}
}

// BeginningsOf returns the beginnings of all values that AddQuoted adds of a Secret.
func BeginningsOf(c map[string]any, helmValues bool) Beginnings {
	var out Beginnings
	quotable(c, helmValues, func(v string, _ value) { out = append(out, beginningsOf(v)...) })
	return out.compact()
}

// prefixLength is the number of leading bytes of a value that are encoded to check whether a text may contain a form of
// the value. It is a multiple of a base64 group. It is long enough that the prefix still has MinLength bytes after one
// form has collapsed its blanks.
const prefixLength = 48

// beginning is how a form begins: its first MinLength bytes, and the next ones as far as it has them.
type beginning struct{ first, second [MinLength]byte }

// beginningOf returns the beginning of a form. ok is false if the form is too short to be hidden.
func beginningOf(form string) (b beginning, ok bool) {
	if len(form) < MinLength {
		return b, false
	}
	next := min(MinLength, len(form)-MinLength)
	return beginning{[MinLength]byte([]byte(form)), [MinLength]byte([]byte(form[next:]))}, true
}

// Beginnings are those of all forms of values. A text without any of them quotes none of the values.
type Beginnings []beginning

// beginningsOf returns the beginnings of a value, also of the decoded one.
func beginningsOf(v string) Beginnings {
	var out Beginnings
	add := func(form string) {
		if b, ok := beginningOf(form); ok {
			out = append(out, b)
		}
	}
	for _, variant := range variants(v, true) {
		add(variant)
		for _, form := range Forms(variant[:min(len(variant), prefixLength)]) {
			add(form)
		}
	}
	return out.compact()
}

func (b Beginnings) compact() Beginnings {
	slices.SortFunc(b, func(x, y beginning) int {
		return cmp.Or(bytes.Compare(x.first[:], y.first[:]), bytes.Compare(x.second[:], y.second[:]))
	})
	return slices.Clone(slices.Compact(b))
}

// knownBeginnings keeps the beginnings of values: computing them takes longer than everything else that is done with a
// value.
type knownBeginnings struct {
	mu    sync.Mutex // guards byKey
	byKey map[string]Beginnings
}

func (k *knownBeginnings) get(v string) Beginnings {
	k.mu.Lock()
	defer k.mu.Unlock()
	b, ok := k.byKey[v]
	if !ok {
		if k.byKey == nil {
			k.byKey = map[string]Beginnings{}
		}
		b = beginningsOf(v)
		k.byKey[v] = b
	}
	return b
}

// Quotes indexes the texts of a document, to find out which values of Secrets the document may quote.
type Quotes struct {
	fragments map[[MinLength]byte]bool // all substrings of MinLength bytes
}

// Add adds texts, and the texts without their escapes.
func (q *Quotes) Add(texts ...string) {
	if q.fragments == nil {
		q.fragments = map[[MinLength]byte]bool{}
	}
	for _, text := range texts {
		for _, t := range append(Unescaped(text), text) {
			for i := range len(t) - MinLength + 1 {
				q.fragments[[MinLength]byte([]byte(t[i:i+MinLength]))] = true
			}
		}
	}
}

// Empty says whether no text was added that is long enough to contain a value.
func (q *Quotes) Empty() bool { return len(q.fragments) == 0 }

// has says whether the texts contain how a form begins.
func (q *Quotes) has(form string) bool {
	b, ok := beginningOf(form)
	return ok && q.hasBeginning(b)
}

func (q *Quotes) hasBeginning(b beginning) bool { return q.fragments[b.first] && q.fragments[b.second] }

// mayQuote says whether the texts may contain a form of the value.
func (q *Quotes) mayQuote(v string) bool {
	return q.has(v) || slices.ContainsFunc(Forms(v[:min(len(v), prefixLength)]), q.has)
}

// MayQuote reports whether the texts may quote a value with one of the beginnings.
func (q *Quotes) MayQuote(b Beginnings) bool {
	return slices.ContainsFunc(b, q.hasBeginning)
}

// formsOf returns the forms of the values that the texts may contain.
func (q *Quotes) formsOf(values map[string]value, known *knownBeginnings) map[string]value {
	out := map[string]value{}
	if q.Empty() {
		return out
	}
	for text, stored := range values {
		if !q.MayQuote(known.get(text)) {
			continue
		}
		for _, v := range variants(text, stored.encoded) {
			if !q.mayQuote(v) {
				continue
			}
			for _, f := range Forms(v) {
				if q.has(f) {
					out[f] = out[f].and(value{stated: stored.stated, plain: stored.plain || f != v})
				}
			}
		}
	}
	return out
}
