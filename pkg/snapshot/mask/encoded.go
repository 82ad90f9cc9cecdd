// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
)

// maxDecoded limits the size of a text that is decoded, in bytes. No object of an API server is larger; data that was compressed can be.
const maxDecoded = 16 << 20

// hides reports whether a text has a value of a Secret in more than one encoding, such as the base64 of base64 or JSON in JSON.
func (m *Masker) hides(text string, layers int) bool {
	if layers <= 0 || len(text) < fragment || len(text) > maxDecoded {
		return false
	}
	plain := redact.Unescaped(text)
	if strings.Contains(text, `\`) {
		plain = append(plain, withoutBackslashes(text))
	}
	for _, p := range append(plain, decodedRuns(text)...) {
		if isPacked([]byte(p)) {
			if data, err := unpack([]byte(p)); err == nil {
				p = string(data)
			}
		}
		if _, found := m.replace(p); found || m.hides(p, layers-1) {
			return true
		}
	}
	return false
}

// escapedChar matches a character that JSON, YAML, Go or a shell escapes.
var escapedChar = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|.)`)

// withoutBackslashes removes one layer of escapes.
func withoutBackslashes(text string) string {
	return escapedChar.ReplaceAllStringFunc(text, func(s string) string {
		switch c := s[1:]; {
		case len(c) == 5 && c[0] == 'u':
			r, _ := strconv.ParseUint(c[1:], 16, 16) // the regular expression allows only hexadecimal digits
			return string(rune(r))
		case c == "n":
			return "\n"
		case c == "r":
			return "\r"
		case c == "t":
			return "\t"
		default:
			return c
		}
	})
}

// shortestRun is the length of the shortest base64 of a form of a value, without padding.
const shortestRun = (fragment*8 + 5) / 6

// decodedRuns returns what the parts of a text that may be base64 encode. The whole text may have line breaks.
func decodedRuns(text string) []string {
	var out []string
	if data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text)); err == nil {
		return append(out, string(data))
	}
	for run := range strings.FieldsFuncSeq(text, notBase64) {
		if len(run) < shortestRun {
			continue
		}
		if len(run)%4 == 1 {
			run = run[:len(run)-1]
		}
		e := base64.RawStdEncoding
		if strings.ContainsAny(run, "-_") {
			e = base64.RawURLEncoding
		}
		if data, err := e.DecodeString(run); err == nil {
			out = append(out, string(data))
		}
	}
	return out
}

func notBase64(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '+' && r != '/' && r != '-' && r != '_'
}
