// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"bytes"
)

// MaskPrefix is the beginning of the text with which the verb snapshot replaces the value of a Secret.
const MaskPrefix = "hmac_"

// Masked reports whether a value is a usual replacement for the value of a Secret, as programs that capture clusters
// write it.
func Masked(v []byte) bool {
	text := bytes.ToLower(bytes.Trim(v, `"<>[]() `))
	if len(bytes.Trim(text, "*")) == 0 || len(bytes.Trim(text, "x")) == 0 {
		return true
	}
	return bytes.Contains(text, []byte("redacted")) || bytes.Contains(text, []byte("masked"))
}

// MaskedSecret reports whether a value of a Secret, given as decoded JSON, is such a replacement.
func MaskedSecret(c map[string]any) bool {
	masked := false
	secretValues(c, func(v string, encoded bool) {
		if plain, ok := decodedValue(v, encoded); ok {
			v = plain
		}
		masked = masked || v != "" && Masked([]byte(v))
	})
	return masked
}
