// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// Learn learns the values of a Secret, given as decoded JSON: its data, and their parts that other objects may have
// alone. With helmValues, the data are Helm values: a template may write each of them into other objects.
func (m *Masker) Learn(secret map[string]any, helmValues bool) {
	eachValue(secret, func(_, text string, encoded bool) {
		if plain, ok := decodedValue(text, encoded); ok {
			text = plain
		}
		m.learn(text)
		m.learnParts(text)
		if helmValues {
			m.learnHelmValues(text)
		}
	})
}

// learnHelmValues learns each text in Helm values. A quantity is not learned, because API servers write the same
// quantity in other words.
func (m *Masker) learnHelmValues(text string) {
	LeavesOf([]byte(text), func(leaf string) {
		leaf = strings.TrimSpace(leaf)
		if _, err := resource.ParseQuantity(leaf); err != nil && m.isSecret(leaf) {
			m.index.AddWord(leaf)
		}
	})
}

// onlyMask matches a value that a program which captures clusters wrote instead of another one.
var onlyMask = regexp.MustCompile(`(?i)^[\W_x]*(redacted|masked)?[\W_]*$`)

// learn learns a value, unless it is short, public or a name.
func (m *Masker) learn(v string) {
	if v = strings.TrimSpace(v); m.isSecret(v) {
		m.index.Add(v)
	}
}

// isSecret reports whether a value is searched for.
func (m *Masker) isSecret(v string) bool {
	switch {
	case len(v) < MinLength, isTime(v), m.named(v), public(v), isToken(v):
		return false
	}
	return !m.Partial || !onlyMask.MatchString(v)
}

var (
	// setting matches a line of a configuration file with one key and one value.
	setting = regexp.MustCompile(`(?m)^\s*(?:export\s+)?["']?([-.\w]+)["']?\s*[:=]\s*["']?([^\s"',;]+)["']?[,;]?\s*$`)
	// variable matches a line of a file with environment variables.
	variable = regexp.MustCompile(`^\s*(?:export\s+)?[A-Za-z_][A-Za-z0-9_.]*\s*=(.*)$`)
	// publicBlock matches what a PEM file shows to everybody.
	publicBlock = regexp.MustCompile(`-----BEGIN (?:[A-Z ]*CERTIFICATE[A-Z ]*|[A-Z ]*PUBLIC KEY)-----[^-]*` +
		`-----END [A-Z ]+-----`)
)

// learnParts learns the parts of a value that other objects may have alone: the credentials of addresses, the values of
// sensitive keys in configuration files, the values of environment variables, the lines of private keys, the
// credentials of registries, and words that look like a key or a hash.
func (m *Masker) learnParts(v string) {
	escape.ReplaceCredentials(v, func(credential string) string {
		plain := escape.Unescaped(credential)
		for _, text := range []string{credential, plain} {
			m.learn(text)
			_, password, _ := strings.Cut(text, ":")
			m.learn(password)
		}
		return credential
	})
	if strings.Contains(v, "PRIVATE KEY-----") { // an indented block of a key has other line breaks
		for line := range strings.Lines(publicBlock.ReplaceAllString(v, "\n")) {
			if line = strings.TrimSpace(line); len(line) >= escape.ShortestKey && !strings.HasPrefix(line, "-----") {
				m.learn(line)
			}
		}
	}
	if !strings.ContainsAny(v, " \t\r\n{:=") {
		return
	}
	m.learnConfiguration(v)
	for _, value := range variables(v) {
		m.learn(value)
	}
	for word := range strings.FieldsFuncSeq(publicBlock.ReplaceAllString(v, " "), separates) {
		if escape.IsRandom(word) {
			m.learn(word)
		}
	}
}

// learnConfiguration learns the values of sensitive keys in a file with settings, in YAML or in JSON.
func (m *Masker) learnConfiguration(text string) {
	for _, parts := range setting.FindAllStringSubmatch(text, -1) {
		if escape.IsSecretName(parts[1]) {
			m.learn(parts[2])
		}
	}
	m.learnSensitive(Decoded([]byte(text)), false)
}

// learnSensitive learns the texts below sensitive keys. The logins of registries are pairs in base64.
func (m *Masker) learnSensitive(v any, below bool) {
	switch v := v.(type) {
	case map[string]any:
		named, _ := v["name"].(string) // an environment variable
		for key, e := range v {
			if key == "value" {
				key = named
			}
			m.learnSensitive(e, below || escape.IsSecretName(key))
		}
	case []any:
		for _, e := range v {
			m.learnSensitive(e, below)
		}
	case string, json.Number:
		if !below {
			return
		}
		text := fmt.Sprint(v)
		m.learn(text)
		decodedLogin(text, m.learn)
	}
}

// public reports whether a text, or what it encodes in base64, has only public blocks. The certificate of a CA is in
// many objects, as in the configuration of Fleet's controller, which nobody could decode with a mask in it.
func public(v string) bool {
	const begin, encoded = "-----BEGIN ", "LS0tLS1CRUdJTi"
	if strings.HasPrefix(v, encoded) {
		// as a word in a file, it has lost them
		raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
		if err != nil {
			return false
		}
		v = string(raw)
	}
	return strings.HasPrefix(v, begin) && strings.TrimSpace(publicBlock.ReplaceAllString(v, "")) == ""
}

// variables returns the values of environment variables, if a text has nothing else but comments. Each would be a value
// of its own if the Secret had them as keys.
func variables(v string) []string {
	var out []string
	for line := range strings.Lines(v) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		parts := variable.FindStringSubmatch(line)
		if parts == nil {
			return nil
		}
		out = append(out, strings.Trim(strings.TrimSpace(parts[1]), `"'`))
	}
	return out
}

// separates reports whether a character separates words in configuration files.
func separates(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`,;:=.()[]{}<>|&", r) }

// isTime reports whether a value is a time or a duration, which fields of Kubernetes and Fleet must have. It is masked
// in Secrets only.
func isTime(v string) bool {
	if v == "" || v[0] < '0' || v[0] > '9' {
		return false
	}
	if _, err := time.ParseDuration(v); err == nil {
		return true
	}
	_, err := time.Parse(time.RFC3339, v)
	return err == nil
}
