// SPDX-License-Identifier: Apache-2.0

package redact

import "bytes"

// Masked reports whether a value is a usual replacement for the value of a Secret, as programs that capture clusters write it.
func Masked(v []byte) bool {
	text := bytes.ToLower(bytes.Trim(v, `"<>[]() `))
	return len(bytes.Trim(text, "*")) == 0 || len(bytes.Trim(text, "x")) == 0 || bytes.Contains(text, []byte("redacted")) || bytes.Contains(text, []byte("masked"))
}
