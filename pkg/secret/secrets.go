// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

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

func (s *Values) add(v string, of value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = map[string]value{}
	}
	s.values[v] = s.values[v].and(of)
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
	quoted := func(v string, of value) {
		all := variants(v, of.encoded)
		if slices.ContainsFunc(all, q.mayQuote) && !slices.ContainsFunc(all, func(v string) bool { return except[v] }) {
			s.add(strings.Clone(v), of) // the value must not keep the object in memory
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
