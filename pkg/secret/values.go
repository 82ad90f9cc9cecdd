// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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
		if inner := SecretIn(v); inner != nil {
			delete(inner, "metadata") // no nested copies
			secretValues(inner, add)
		}
	}
}

// SecretIn returns the Secret in an annotation's value, which is JSON; nil if the value is not a Secret.
func SecretIn(annotation any) map[string]any {
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
