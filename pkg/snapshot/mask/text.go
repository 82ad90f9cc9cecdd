// SPDX-License-Identifier: Apache-2.0

package mask

import "regexp"

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
	return replaceLogins(text, func(login string) string {
		if isToken(login) {
			return login
		}
		return o.Token(login)
	})
}
