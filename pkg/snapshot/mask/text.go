// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"hash/maphash"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
)

const (
	fragment = redact.MinLength
	// filterBits is the size of the filter of fragments, as a power of two, in bits.
	filterBits = 22
	// longestBeginning is the maximum length of the beginnings of forms that are compared before the forms of a value are made. All certificates have
	// the same first 28 bytes.
	longestBeginning = 64
	// maxCached is the number of values with cached forms, smallValue the maximum length of such a value.
	maxCached, smallValue = 4096, 256
)

// index finds values in text, in every form. It has hashes of the beginnings of all forms, and makes the forms of a value when its beginning is found.
type index struct {
	values []string
	seed   maphash.Seed
	// filter has hashes of the first bytes of forms, lengths the lengths of the beginnings with these first bytes, and beginnings the values by the
	// hashes of these beginnings.
	filter     []uint64
	lengths    map[uint64][]int
	beginnings map[uint64][]int32
	cache      map[int32][]form
}

// form is an encoding of a value, and its replacement.
type form struct {
	text, token string
	word        bool // the value looks like a word, which a key may be
}

// add adds a value.
func (x *index) add(v string) {
	if x.lengths == nil {
		x.seed, x.filter = maphash.MakeSeed(), make([]uint64, 1<<filterBits/64)
		x.lengths, x.beginnings, x.cache = map[uint64][]int{}, map[uint64][]int32{}, map[int32][]form{}
	}
	id := int32(len(x.values))
	x.values = append(x.values, v)
	for _, f := range redact.Forms(v[:min(len(v), redact.PrefixLength)]) {
		if len(f) < fragment {
			continue
		}
		head, length := headOf(f), min(len(f), longestBeginning)
		at := hashOf(head)
		x.filter[at/64] |= 1 << (at % 64)
		if !slices.Contains(x.lengths[head], length) {
			x.lengths[head] = append(x.lengths[head], length)
		}
		hash := maphash.String(x.seed, f[:length])
		if !slices.Contains(x.beginnings[hash], id) {
			x.beginnings[hash] = append(x.beginnings[hash], id)
		}
	}
}

func headOf(text string) uint64 {
	var head uint64
	for i := range fragment {
		head |= uint64(text[i]) << (8 * i)
	}
	return head
}

func hashOf(head uint64) uint64 { return head * 0x9E3779B97F4A7C15 >> (64 - filterBits) }

// replace replaces the values in a text. It reports whether there were any.
func (m *Masker) replace(text string) (string, bool) { return m.replaceIn(text, false) }

// plainWord matches a value that looks like a word or a file name.
var plainWord = regexp.MustCompile(`^[A-Za-z._-]+$`)

// replaceIn replaces the values in a text. In a key, it does not replace words.
func (m *Masker) replaceIn(text string, key bool) (string, bool) {
	x := &m.index
	if len(x.values) == 0 || len(text) < fragment {
		return text, false
	}
	var out strings.Builder
	done := 0 // what was copied
	head := headOf(text) << 8
	for i := 0; i+fragment <= len(text); i++ {
		head = head>>8&^(0xff<<(8*(fragment-1))) | uint64(text[i+fragment-1])<<(8*(fragment-1))
		if at := hashOf(head); x.filter[at/64]&(1<<(at%64)) == 0 || i < done {
			continue
		}
		if f := m.longest(text[i:], x.lengths[head]); f.text != "" && (!key || !f.word) {
			out.WriteString(text[done:i])
			out.WriteString(f.token)
			done = i + len(f.text)
		}
	}
	if done == 0 {
		return text, false
	}
	out.WriteString(text[done:])
	return out.String(), true
}

// longest returns the longest form of a value with which a text begins. lengths are those of the beginnings to compare.
func (m *Masker) longest(text string, lengths []int) form {
	var out form
	for _, length := range lengths {
		if length > len(text) {
			continue
		}
		for _, id := range m.index.beginnings[maphash.String(m.index.seed, text[:length])] {
			for _, f := range m.formsOfID(id) {
				if len(f.text) > len(out.text) && strings.HasPrefix(text, f.text) {
					out = f
				}
			}
		}
	}
	return out
}

func (m *Masker) formsOfID(id int32) []form {
	x := &m.index
	if forms, ok := x.cache[id]; ok {
		return forms
	}
	v := x.values[id]
	forms := m.formsOf(v)
	if len(v) <= smallValue {
		if len(x.cache) >= maxCached {
			clear(x.cache)
		}
		x.cache[id] = forms
	}
	return forms
}

// formsOf returns the forms of a value with their replacements. The base64 of a value becomes the base64 of its token, as a template would write it.
func (m *Masker) formsOf(v string) []form {
	token := m.token(v)
	encoded := map[string]string{}
	for _, f := range redact.Embedded(v) {
		encoded[f] = m.filler(v, len(f))
	}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		encoded[e.EncodeToString([]byte(v))] = e.EncodeToString([]byte(token))
	}
	var out []form
	word := plainWord.MatchString(v)
	for _, f := range redact.Forms(v) {
		if len(f) < fragment {
			continue
		}
		by, ok := encoded[f]
		if !ok {
			by = token
		}
		out = append(out, form{f, by, word})
	}
	return out
}

// text masks the values in a text. A text with a value in an encoding that cannot be replaced in place is masked as a whole.
func (m *Masker) text(text string) string {
	if !m.ready {
		return text
	}
	out, _ := m.replace(text)
	out = m.withoutLogins(out)
	if m.hides(out, maxLayers) {
		return m.token(text)
	}
	if packed := strings.TrimSpace(text); strings.HasPrefix(packed, "H4sI") {
		if data, err := base64.StdEncoding.DecodeString(packed); err == nil && m.packs(data) {
			return m.token(text)
		}
	}
	return out
}

const (
	// maxUnpacked limits the size of decompressed data, in bytes.
	maxUnpacked = 64 << 20
	// maxLayers limits how often compressed data is decompressed, and encoded text is decoded.
	maxLayers = 4
)

// packs reports whether compressed data may have a value of a Secret. Data that cannot be decompressed may have one.
func (m *Masker) packs(data []byte) bool { return m.packsWithin(data, maxLayers) }

func (m *Masker) packsWithin(data []byte, layers int) bool {
	plain, err := unpack(data)
	if err != nil || layers == 0 {
		return true
	}
	if isPacked(plain) {
		return m.packsWithin(plain, layers-1)
	}
	_, found := m.replace(string(plain))
	return found || m.hides(string(plain), layers-1) || bytes.Contains(plain, []byte("kind: Secret")) || bytes.Contains(plain, []byte(`"kind":"Secret"`))
}

func isPacked(data []byte) bool { return bytes.HasPrefix(data, []byte{0x1f, 0x8b}) }

func unpack(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(z, maxUnpacked+1))
	if err == nil && len(out) > maxUnpacked {
		err = io.ErrShortBuffer
	}
	return out, err
}

func pack(data []byte, level int) []byte {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, level)
	if err != nil {
		return nil // the levels are constants
	}
	_, _ = z.Write(data) // a buffer returns no error
	_ = z.Close()
	return out.Bytes()
}
