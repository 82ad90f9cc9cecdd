// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
)

const (
	// maxLayers limits how often a text is decoded.
	maxLayers = 2
	// decodedPerByte limits the size of everything that a text is decoded to, compared with its own.
	decodedPerByte = 16
)

// decoding searches for values in what a text encodes.
type decoding struct {
	index  *Index
	budget int // bytes that may still be decoded
}

// hides reports whether a text has a value in another encoding, or may have one: it is compressed, or encoded so often
// that it is not decoded.
func (d *decoding) hides(text string, layers int) bool {
	if len(text) < MinLength || d.index.Len() == 0 {
		return false
	}
	for _, decode := range decoders {
		for _, plain := range decode(text) {
			if d.budget -= len(plain); d.budget < 0 {
				return true
			}
			if d.index.Has(plain) || isCompressed(plain) {
				return true
			}
			if layers > 1 && d.hides(plain, layers-1) {
				return true
			}
		}
	}
	return false
}

// compressed are the first bytes of compressed data: gzip, bzip2, xz, zstd.
var compressed = []string{"\x1f\x8b\x08", "BZh", "\xfd7zXZ\x00", "\x28\xb5\x2f\xfd"}

// zlib are the first two bytes of zlib. Other data may begin with them too.
var zlib = []string{"\x78\x01", "\x78\x5e", "\x78\x9c", "\x78\xda"}

func isCompressed(plain string) bool {
	begins := func(magic string) bool { return strings.HasPrefix(plain, magic) }
	if slices.ContainsFunc(compressed, begins) {
		return true
	}
	return len(plain) >= 32 && !isText(plain) && slices.ContainsFunc(zlib, begins)
}

// isText reports whether the beginning of a text has no control characters.
func isText(plain string) bool {
	return !strings.ContainsFunc(plain[:min(len(plain), 64)], func(r rune) bool {
		return r == unicode.ReplacementChar || r < ' ' && !strings.ContainsRune("\n\r\t", r)
	})
}

// decoders return what a text encodes, each in one encoding; nothing if it does not use the encoding.
var decoders = []func(string) []string{Unescaped, fromBase64, fromBase32, fromHex, fromUTF16}

// alphabet is the set of the characters of an encoding.
type alphabet [256]bool

func alphabetOf(characters string) *alphabet {
	var a alphabet
	for i := range len(characters) {
		a[characters[i]] = true
	}
	return &a
}

const capitals, small = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"

var (
	base64Digits = alphabetOf(capitals + small + "0123456789+/-_=")
	base32Digits = alphabetOf(capitals + "234567=")
	hexDigits    = alphabetOf("0123456789abcdefABCDEF")
)

// runs returns the parts of a text that consist of the characters of an encoding, and the whole text if only line
// breaks interrupt them.
func runs(text string, in *alphabet, shortestRun int) []string {
	var out []string
	begin := -1
	for i := 0; i <= len(text); i++ {
		if i < len(text) && in[text[i]] {
			if begin < 0 {
				begin = i
			}
			continue
		}
		if begin >= 0 && i-begin >= shortestRun {
			out = append(out, text[begin:i])
		}
		begin = -1
	}
	if len(out) > 1 {
		if joined := strings.Join(strings.Fields(text), ""); joined == strings.Join(out, "") {
			return []string{joined}
		}
	}
	return out
}

// fromBase64 decodes the parts of a text that may be base64, each from four positions: a longer text may precede it.
func fromBase64(text string) []string {
	var out []string
	for _, run := range runs(text, base64Digits, (MinLength*8+5)/6) {
		run = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(run, "="))
		for begin := range min(4, len(run)) {
			part := run[begin:]
			if len(part)%4 == 1 {
				part = part[:len(part)-1]
			}
			if plain, err := base64.RawStdEncoding.DecodeString(part); err == nil {
				out = append(out, string(plain))
			}
		}
	}
	return out
}

// fromBase32 decodes the parts of a text that may be base32.
func fromBase32(text string) []string {
	var out []string
	for _, run := range runs(text, base32Digits, (MinLength*8+4)/5) {
		run = strings.TrimRight(run, "=")
		for len(run) > 0 {
			if plain, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(run); err == nil {
				out = append(out, string(plain))
				break
			}
			run = run[:len(run)-1]
		}
	}
	return out
}

// fromHex decodes the parts of a text that may be hexadecimal digits.
func fromHex(text string) []string {
	var out []string
	for _, run := range runs(text, hexDigits, 2*MinLength) {
		for begin := range 2 {
			part := run[begin:]
			if plain, err := hex.DecodeString(part[:len(part)/2*2]); err == nil {
				out = append(out, string(plain))
			}
		}
	}
	return out
}

// fromUTF16 returns a text without zero bytes: UTF-16 has one with each ASCII character.
func fromUTF16(text string) []string {
	if !strings.Contains(text, "\x00") {
		return nil
	}
	return []string{string(bytes.ReplaceAll([]byte(text), []byte{0}, nil))}
}
