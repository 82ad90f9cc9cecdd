// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"
	"time"
)

var (
	// login matches the password in an address.
	login = regexp.MustCompile(`://[^\s:/@]*:([^\s@/]+)@`)
	// setting matches a line of a configuration file with one key and one value.
	setting = regexp.MustCompile(`(?m)^\s*(?:export\s+)?["']?([-.\w]+)["']?\s*[:=]\s*["']?([^\s"',;]+)["']?[,;]?\s*$`)
	// variable matches a line of a file with environment variables.
	variable = regexp.MustCompile(`^\s*(?:export\s+)?[A-Za-z_][A-Za-z0-9_.]*\s*=(.*)$`)
	// publicBlock matches what a PEM file shows to everybody.
	publicBlock = regexp.MustCompile(`-----BEGIN (?:[A-Z ]*CERTIFICATE[A-Z ]*|[A-Z ]*PUBLIC KEY)-----[^-]*-----END [A-Z ]+-----`)
)

// public reports whether a text, or what it encodes in base64, has only public blocks. The certificate of a CA is in many objects, as in the configuration
// of Fleet's controller, which nobody could decode with a mask in it.
func public(v string) bool {
	const begin, encoded = "-----BEGIN ", "LS0tLS1CRUdJTi"
	v = strings.TrimSpace(v)
	if strings.HasPrefix(v, encoded) {
		raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "=")) // as a word in a file, it has lost them
		if err != nil {
			return false
		}
		v = string(raw)
	}
	return strings.HasPrefix(v, begin) && strings.TrimSpace(publicBlock.ReplaceAllString(v, "")) == ""
}

// learnParts learns the parts of a value that other objects may have alone: the passwords in addresses and in lines of configuration files, the values
// of environment variables, the lines of private keys, and words that look like a key or a hash.
func (m *Masker) learnParts(v string) {
	if m.ready {
		return
	}
	for _, parts := range login.FindAllStringSubmatch(v, -1) {
		m.learn(parts[1])
		if plain, err := url.PathUnescape(parts[1]); err == nil {
			m.learn(plain)
		}
	}
	for _, parts := range setting.FindAllStringSubmatch(v, -1) {
		if sensitive.MatchString(parts[1]) {
			m.learn(parts[2])
		}
	}
	for _, value := range variables(v) {
		m.learn(value)
	}
	if !strings.ContainsAny(v, " \t\r\n") {
		return
	}
	for word := range strings.FieldsFuncSeq(publicBlock.ReplaceAllString(v, " "), separates) {
		if random(word) {
			m.learn(word)
		}
	}
}

// variables returns the values of environment variables, if a text has nothing else but comments. Each would be a value of its own if the Secret had
// them as keys.
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

const (
	// shortestKey is the length of the shortest word that random accepts.
	shortestKey = 16
	// ofChanges is the part of the neighbouring characters of a key that are of different classes, as 1/ofChanges of its length. Of random letters and
	// digits, it is 0.6; of words in camel case, it is at most 0.4.
	ofChanges = 2.2
)

// random reports whether a word looks like a key, a hash or base64, and not like a name: it has many changes between small letters, capitals, digits and
// other characters.
func random(word string) bool {
	word = strings.TrimRight(word, "=")
	if len(word) < shortestKey || strings.Contains(word, "://") {
		return false
	}
	var seen [4]bool
	changes, last := 0, -1
	for i := range len(word) {
		class := classOf(word[i])
		if seen[class] = true; i > 0 && class != last {
			changes++
		}
		last = class
	}
	return seen[digit] && (seen[small] || seen[capital]) && float64(changes) >= float64(len(word))/ofChanges
}

const (
	small = iota
	capital
	digit
	otherCharacter
)

func classOf(c byte) int {
	switch {
	case c >= 'a' && c <= 'z':
		return small
	case c >= 'A' && c <= 'Z':
		return capital
	case c >= '0' && c <= '9':
		return digit
	}
	return otherCharacter
}

// isTime reports whether a value is a time or a duration, which fields of Kubernetes and Fleet must have. It is masked in Secrets only.
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

// withoutLogins masks the passwords in the addresses of a text, whether a Secret has them or not. What a template computes stays.
func (m *Masker) withoutLogins(text string) string {
	if !strings.Contains(text, "://") || !strings.Contains(text, "@") {
		return text
	}
	return replaceGroup(login, text, func(password string) string {
		if strings.ContainsAny(password, "{}$()<>") || isToken(password) {
			return password
		}
		return m.token(password)
	})
}

// replaceGroup replaces the first group of each match.
func replaceGroup(of *regexp.Regexp, text string, by func(string) string) string {
	var out strings.Builder
	done := 0
	for _, at := range of.FindAllStringSubmatchIndex(text, -1) {
		out.WriteString(text[done:at[2]])
		out.WriteString(by(text[at[2]:at[3]]))
		done = at[3]
	}
	out.WriteString(text[done:])
	return out.String()
}
