// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"regexp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// Text masks the values of Secrets in a text, and the credentials in addresses, which need not be values of Secrets. A
// word with a value in another encoding, and a compressed one, is masked as a whole. If that does not hide the value,
// the text is.
func (o *ObjectMask) Text(text string) string {
	out := escape.ReplaceCredentials(o.index.Replace(text, o.Token), o.again)
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
func (o *ObjectMask) hides(text string) bool {
	d := decoding{index: o.index, budget: decodedPerByte*len(text) + 1<<10}
	return d.hides(text, maxLayers)
}

// again is Token for a text that may be masked already.
func (o *ObjectMask) again(text string) string {
	if isToken(text) {
		return text
	}
	return o.Token(text)
}
