// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// AddSecret adds the values of a Secret, given as decoded JSON: its data, the registry logins in it, and the data in annotations with a copy of
// the Secret, such as the one of kubectl apply. A value that is not a string, such as 12345678, is added as text.
func (s *Secrets) AddSecret(c map[string]any) { secretValues(c, s.Add, s.AddPlain) }

// Quotes indexes the texts of a document, to find out which values of Secrets the document may quote.
type Quotes struct{ texts fragments }

// Add adds texts.
func (q *Quotes) Add(texts ...string) {
	if q.texts == nil {
		q.texts = fragments{}
	}
	for _, text := range texts {
		q.texts.addUnescaped(text)
	}
}

// Empty says whether no text was added that is long enough to contain a value.
func (q *Quotes) Empty() bool { return len(q.texts) == 0 }

// AddQuoted is AddSecret for the values that the document may quote. The values in except are not secret.
func (s *Secrets) AddQuoted(c map[string]any, q *Quotes, except map[string]bool) {
	add := func(stored bool, put func(string)) func(string) {
		return func(v string) {
			quoted, public := false, false
			variants(v, stored, func(v string) { quoted, public = quoted || q.texts.mayQuote(v), public || except[v] })
			if quoted && !public {
				put(strings.Clone(v)) // the value must not keep the object in memory
			}
		}
	}
	if s.others == nil {
		s.others = &Secrets{}
	}
	secretValues(c, add(true, s.others.Add), add(false, s.others.AddPlain))
}

// tokenType is the type of the Secrets of service accounts. The value of their key "namespace" is a name, not a secret.
const tokenType = "kubernetes.io/service-account-token"

// secretValues calls stored with each base64 value and plain with each unencoded value.
func secretValues(c map[string]any, stored, plain func(string)) {
	data, _ := c["data"].(map[string]any)
	for key, v := range data {
		if v == nil || key == "namespace" && c["type"] == tokenType {
			continue
		}
		text := fmt.Sprint(v)
		stored(text)
		if b, err := base64.StdEncoding.DecodeString(text); err == nil {
			registryLogins(key, b, plain)
		}
	}
	data, _ = c["stringData"].(map[string]any)
	for key, v := range data {
		if v != nil {
			text := fmt.Sprint(v)
			plain(text)
			registryLogins(key, []byte(text), plain)
		}
	}
	meta, _ := c["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	for _, v := range annotations {
		if inner := SecretIn(v); inner != nil {
			delete(inner, "metadata") // no nested copies
			secretValues(inner, stored, plain)
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
	if err != nil {
		return nil
	}
	_, data := inner["data"].(map[string]any)
	_, stringData := inner["stringData"].(map[string]any)
	if !data && !stringData {
		return nil
	}
	return inner
}

// registryLogins calls f with each text of a registry login, from .dockerconfigjson or the older .dockercfg. The decoded field auth is
// USER:PASSWORD.
func registryLogins(key string, value []byte, f func(string)) {
	var logins map[string]map[string]any
	switch key {
	case ".dockerconfigjson", "config.json":
		var config struct {
			Auths map[string]map[string]any `json:"auths"`
		}
		if json.Unmarshal(value, &config) != nil {
			return
		}
		logins = config.Auths
	case ".dockercfg":
		if json.Unmarshal(value, &logins) != nil {
			return
		}
	}
	for _, login := range logins {
		for name, v := range login {
			text, _ := v.(string)
			f(text)
			if b, err := base64.StdEncoding.DecodeString(text); name == "auth" && err == nil {
				_, password, _ := strings.Cut(string(b), ":")
				f(string(b))
				f(password)
			}
		}
	}
}
