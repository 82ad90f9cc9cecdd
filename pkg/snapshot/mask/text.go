// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"regexp"
	"strings"
)

// Text masks the values of Secrets in a text, and the credentials in addresses, which need not be values of Secrets. A
// word with a value in another encoding, and a compressed one, is masked as a whole. If that does not hide the value,
// the text is.
func (o *Object) Text(text string) string {
	out := o.withoutLogins(o.index.Replace(text, o.Token))
	if !o.hides(out) {
		return out
	}
	out = word.ReplaceAllStringFunc(out, func(w string) string {
		if o.hides(w) {
			return o.Token(w)
		}
		return w
	})
	if o.hides(out) {
		return o.Token(text)
	}
	return out
}

var word = regexp.MustCompile(`\S+`)

// hides reports whether a text has a value in another encoding.
func (o *Object) hides(text string) bool {
	d := decoding{index: o.index, budget: decodedPerByte*len(text) + 1<<10}
	return d.hides(text, maxLayers)
}

// withoutLogins masks the credentials in the addresses of a text.
func (o *Object) withoutLogins(text string) string {
	var out strings.Builder
	done := 0
	for _, at := range loginsAt(text) {
		if isToken(text[at[0]:at[1]]) {
			continue
		}
		out.WriteString(text[done:at[0]])
		out.WriteString(o.Token(text[at[0]:at[1]]))
		done = at[1]
	}
	out.WriteString(text[done:])
	return out.String()
}
