// SPDX-License-Identifier: Apache-2.0

package watched

import (
	"bytes"
	"encoding/base64"
)

const (
	// leastBase64 is the length of text in base64 that is worth decoding.
	leastBase64 = 4 << 10
	// maxLayers is how often a text is decoded: release records are encoded twice.
	maxLayers = 2
)

// decoded is an object whose longest text in base64 is kept decoded: compressed data in it cannot be compressed again,
// but its encoding needs three quarters more.
type decoded struct {
	before, data, after []byte
	layers              int
}

// decode decodes the longest text of an object that is in base64.
func decode(raw []byte) decoded {
	start, end := longestText(raw)
	out := decoded{before: raw[:start], data: raw[start:end], after: raw[end:]}
	for out.layers < maxLayers && len(out.data) >= leastBase64 {
		plain, err := base64.StdEncoding.Strict().AppendDecode(nil, out.data)
		if err != nil || bytes.ContainsAny(out.data, "\r\n") { // the decoder ignores line breaks
			break
		}
		out.data = plain
		out.layers++
	}
	return out
}

// longestText returns the position of the longest text between two quotation marks.
func longestText(raw []byte) (start, end int) {
	from := 0
	for i, c := range raw {
		if c != '"' {
			continue
		}
		if i-from > end-start {
			start, end = from, i
		}
		from = i + 1
	}
	return start, end
}

// appendTo appends the object.
func (d decoded) appendTo(to []byte) []byte {
	data := d.data
	for range d.layers {
		data = base64.StdEncoding.AppendEncode(nil, data)
	}
	return append(append(append(to, d.before...), data...), d.after...)
}
