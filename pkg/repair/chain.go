// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// chain is the running digest of the header and the lines of objects of a receipt. Each of these lines ends with the
// sha256 of the previous digest and of its own text. So every prefix of the file can be verified, and a line that was
// changed, added, removed or moved is detected. The digest is not signed: a person who rewrites all lines can compute
// it again.
type chain struct{ last string }

const chainField = `,"chain":"`

// seal adds the digest as the last field of a line, which is a JSON object without its closing brace.
func (c *chain) seal(text []byte) []byte {
	sum := sha256.Sum256(slices.Concat([]byte(c.last), text))
	c.last = hex.EncodeToString(sum[:])
	return slices.Concat(text, []byte(chainField+c.last+`"}`))
}

// verify says whether seal wrote the line, after the same lines.
func (c *chain) verify(line []byte) bool {
	line = bytes.TrimSpace(line)
	i := bytes.LastIndex(line, []byte(chainField))
	return i >= 0 && bytes.Equal(c.seal(line[:i]), line)
}
