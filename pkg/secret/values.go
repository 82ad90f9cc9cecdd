// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// value is what is known about a value.
type value struct {
	encoded bool // it is base64, as in the data of a Secret
	stated  bool // a bundle states it; otherwise any user can choose it
	plain   bool // it is found in the middle of a word too
}

// and returns what is known about a value from two places.
func (v value) and(o value) value {
	return value{
		encoded: v.encoded || o.encoded,
		stated:  v.stated || o.stated,
		plain:   v.plain || o.plain,
	}
}

// variants returns the value, the value without surrounding blanks (a file often ends with a newline that a program
// drops), and the same of the decoded value if it is base64.
func variants(v string, encoded bool) []string {
	out := []string{v, strings.TrimSpace(v)}
	if plain, ok := decodedValue(v, encoded); ok && encoded {
		out = append(out, plain, strings.TrimSpace(plain))
	}
	return slices.Compact(slices.DeleteFunc(out, func(v string) bool { return len(v) < MinLength }))
}

// tokenType is the type of the Secrets of service accounts. The value of their key "namespace" is a name, not a secret.
const tokenType = "kubernetes.io/service-account-token"

// eachValue calls f with each value in the data of a Secret, and with whether it is base64. A value that is not a
// string, as a manifest may have it, is passed as text.
func eachValue(c map[string]any, f func(key, v string, encoded bool)) {
	for _, field := range []string{"data", "stringData"} {
		values, _ := c[field].(map[string]any)
		for key, v := range values {
			if v != nil {
				f(key, fmt.Sprint(v), field == "data")
			}
		}
	}
}

// decodedValue returns a value without its base64. If the base64 is damaged, ok is false, and the value ends before the
// damage.
func decodedValue(v string, encoded bool) (plain string, ok bool) {
	if !encoded {
		return v, true
	}
	b, err := base64.StdEncoding.DecodeString(v)
	return string(b), err == nil
}

// secretValues calls add with each value of a Secret.
func secretValues(c map[string]any, add func(v string, encoded bool)) {
	eachValue(c, func(key, v string, encoded bool) {
		if encoded && key == "namespace" && c["type"] == tokenType {
			return
		}
		add(v, encoded)
		plain, _ := decodedValue(v, encoded) // the part before damaged base64 may be a registry login
		registryLogins(key, []byte(plain), func(v string) { add(v, false) })
	})
	meta, _ := c["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	for _, v := range annotations {
		if inner := InAnnotation(v); inner != nil {
			delete(inner, "metadata") // no nested copies
			secretValues(inner, add)
		}
	}
}

// InAnnotation returns the Secret in an annotation's value, which is JSON; nil if the value is not a Secret.
func InAnnotation(annotation any) map[string]any {
	text, _ := annotation.(string)
	if !strings.Contains(text, "ata\"") { // of data or stringData
		return nil
	}
	inner, _, err := object.Decode([]byte(text))
	if err != nil || !hasData(inner) {
		return nil
	}
	return inner
}

// hasData reports whether an object has data as a Secret has.
func hasData(c map[string]any) bool {
	_, data := c["data"].(map[string]any)
	_, stringData := c["stringData"].(map[string]any)
	return data || stringData
}

// registryLogins calls f with each text of a registry login, from .dockerconfigjson or the older .dockercfg. The
// decoded field auth is USER:PASSWORD.
func registryLogins(key string, value []byte, f func(string)) {
	var config struct {
		Auths map[string]map[string]any `json:"auths"`
	}
	var into any = &config
	switch key {
	case ".dockerconfigjson", "config.json":
	case ".dockercfg":
		into = &config.Auths
	default:
		return
	}
	if json.Unmarshal(value, into) != nil {
		return
	}
	for _, login := range config.Auths {
		for name, v := range login {
			text, _ := v.(string)
			f(text)
			if name == "auth" {
				decodedLogin(text, f)
			}
		}
	}
}

// decodedLogin calls f with USER:PASSWORD, if a text is that in base64, and with the password.
func decodedLogin(text string, f func(string)) {
	if login, ok := decodedValue(text, true); ok {
		_, password, _ := strings.Cut(login, ":")
		f(login)
		f(password)
	}
}

// LeavesOf calls f with each string and number in a text that is YAML or JSON.
func LeavesOf(text []byte, f func(string)) { Leaves(Decoded(text), f) }

// Decoded decodes a text that is YAML or JSON, with numbers as json.Number; nil if it is neither.
func Decoded(text []byte) any {
	numbers := func(d *json.Decoder) *json.Decoder {
		d.UseNumber() // a password may be a number
		return d
	}
	var v any
	if json.Valid(text) { // YAML excludes control characters that JSON permits
		_ = numbers(json.NewDecoder(bytes.NewReader(text))).Decode(&v) // it is valid
		return v
	}
	if yaml.Unmarshal(text, &v, numbers) != nil {
		return nil
	}
	return v
}

// Leaves calls f with each string and number in decoded JSON.
func Leaves(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case json.Number:
		f(v.String())
	case []any:
		for _, e := range v {
			Leaves(e, f)
		}
	case map[string]any:
		for _, e := range v {
			Leaves(e, f)
		}
	}
}

const (
	// MinLength is the minimum length in bytes of a value that is searched for in other text. Shorter values, such as
	// "true" or "1", occur everywhere.
	MinLength = 6
	// longestPrefix is the length in bytes of the prefixes that are looked up. What follows is compared.
	longestPrefix = 64
	// maxSame is the number of values with the same prefix that are compared.
	maxSame = 16
	// filterBits is the size of the filter, as a power of two, in bits.
	filterBits = 22
)

// Index finds values in a text. At each position, it looks up at most one prefix of each length, and compares at most
// maxSame values: the time is linear in the length of the text, whatever the values are.
type Index struct {
	known  map[string]bool  // true for a value that is only found between other characters than letters and digits
	filter []uint64         // has hashes of the first bytes of all values
	heads  map[string][]int // the lengths of the prefixes that begin with these bytes, longest first
	same   map[string][]string
}

// NewIndex returns an index without values.
func NewIndex() *Index {
	return &Index{filter: make([]uint64, 1<<filterBits/64), known: map[string]bool{}, heads: map[string][]int{},
		same: map[string][]string{}}
}

// Len is the number of values.
func (x *Index) Len() int { return len(x.known) }

// Known reports whether a text is a value.
func (x *Index) Known(text string) bool {
	_, known := x.known[text]
	return known
}

// letters matches a value that may be a word in any sentence.
var letters = regexp.MustCompile(`^[A-Za-z]+$`)

// AddWord adds a value that any user can choose, such as a Helm value. Of letters alone, it is only found as a word.
func (x *Index) AddWord(v string) {
	if x.Known(v) {
		return
	}
	x.Add(v)
	x.known[v] = letters.MatchString(v)
}

// Add adds a value of at least MinLength bytes.
func (x *Index) Add(v string) {
	known := x.Known(v)
	v = strings.Clone(v)
	x.known[v] = false
	if known {
		return
	}
	head, prefix := v[:MinLength], v[:min(len(v), longestPrefix)]
	bit := filterOf(headOf(head))
	x.filter[bit/64] |= 1 << (bit % 64)
	if lengths := x.heads[head]; !slices.Contains(lengths, len(prefix)) {
		x.heads[head] = append(lengths, len(prefix))
		slices.SortFunc(x.heads[head], func(a, b int) int { return b - a })
	}
	if len(x.same[prefix]) <= maxSame {
		x.same[prefix] = append(x.same[prefix], v)
	}
}

func headOf(text string) uint64 {
	var head uint64
	for i := range MinLength {
		head |= uint64(text[i]) << (8 * i)
	}
	return head
}

func filterOf(head uint64) uint64 { return head * 0x9E3779B97F4A7C15 >> (64 - filterBits) }

// Replace replaces the values in a text by what mask returns.
func (x *Index) Replace(text string, mask func(v string) string) string {
	var out strings.Builder
	done := 0
	for {
		v, index := x.find(text, done)
		if v == "" {
			break
		}
		out.WriteString(text[done:index])
		out.WriteString(mask(v))
		done = index + len(v)
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

// Has reports whether a value is in a text.
func (x *Index) Has(text string) bool {
	v, _ := x.find(text, 0)
	return v != ""
}

// find returns the first value in a text at or after begin, and where it is; "" if there is none. The longest of the
// values that begin at one position counts. If too many have the same prefix, the rest of the text counts as the value.
func (x *Index) find(text string, begin int) (v string, index int) {
	if len(x.known) == 0 || len(text)-begin < MinLength {
		return "", 0
	}
	head := headOf(text[begin:]) << 8
	for i := begin; i+MinLength <= len(text); i++ {
		head = head>>8&^(0xff<<(8*(MinLength-1))) | uint64(text[i+MinLength-1])<<(8*(MinLength-1))
		if bit := filterOf(head); x.filter[bit/64]&(1<<(bit%64)) == 0 {
			continue
		}
		if v := x.at(text[i:]); v != "" && (!x.known[v] || isWord(text, i, i+len(v))) {
			return v, i
		}
	}
	return "", 0
}

// at returns the longest value with which a text begins.
func (x *Index) at(text string) string {
	for _, length := range x.heads[text[:MinLength]] {
		if length > len(text) {
			continue
		}
		found := ""
		same := x.same[text[:length]]
		if len(same) > maxSame {
			return text
		}
		for _, v := range same {
			if len(v) > len(found) && strings.HasPrefix(text, v) {
				found = v
			}
		}
		if found != "" {
			return found
		}
	}
	return ""
}

// isWord reports whether no letter and no digit is next to a part of a text.
func isWord(text string, begin, end int) bool {
	return !alphanumeric(text, begin-1) && !alphanumeric(text, end)
}

// alphanumeric reports whether a text has a letter or a digit of ASCII at a place.
func alphanumeric(text string, index int) bool {
	if index < 0 || index >= len(text) {
		return false
	}
	r := rune(text[index])
	return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
