// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"strings"
)

// Heads reads who the manifest's objects are, with their metadata. It is Objects for who needs no more, at a fraction of the cost, within
// the same bounds: of a document in the plain form that Fleet's agent writes it parses nothing else, so that what is beside apiVersion, kind
// and metadata is missing in Raw, and need not even be YAML. Errors name neither the release nor what is in it.
func (r *Record) Heads() ([]Object, error) {
	out, err := r.read(headLimits, func(doc string) string {
		if head, ok := cut(doc); ok {
			return head
		}
		return doc
	})
	if err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	return out, nil
}

// breaks are what YAML takes for the end of a line, or skips, besides a line feed. Where one is, lines are not what they look like.
var breaks = []string{"\r", "\u0085", "\u2028", "\u2029", "\ufeff"}

// cut leaves of a document its apiVersion, kind and metadata, as they are written. ok is false where it cannot be sure what they are: the
// document is not a mapping of plain keys at the margin, has items, or has anything but block mappings, block sequences and scalars in it.
func cut(doc string) (head string, ok bool) {
	for _, b := range breaks {
		if strings.Contains(doc, b) {
			return "", false
		}
	}
	var out strings.Builder
	s := scanner{text: none}
	keep, begun := false, false
	for line := range strings.Lines(doc) {
		whole := strings.TrimSuffix(line, "\n")
		text := strings.TrimLeft(whole, " ")
		indent := len(whole) - len(text)
		if s.outside(text, indent) {
			switch {
			case strings.Contains(text, "\t"):
				return "", false
			case indent == 0 && isEntry(text), indent > 0:
				if !begun {
					return "", false
				}
			default:
				key := rootKey(text)
				if key == "" || key == "items" {
					return "", false
				}
				keep, begun = key == "apiVersion" || key == "kind" || key == "metadata", true
			}
		}
		if !s.line(text, indent) {
			return "", false
		}
		if keep {
			out.WriteString(line)
		}
	}
	return out.String(), s.quote == 0
}

// rootKey is the key that a line at the margin begins with, "" where it begins with anything but a plain one of letters and digits.
func rootKey(text string) string {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9' && i > 0:
		case c == ':' && (i+1 == len(text) || text[i+1] == ' '):
			return text[:i]
		default:
			return ""
		}
	}
	return ""
}

// isEntry says whether a line begins with the dash of a sequence.
func isEntry(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }
