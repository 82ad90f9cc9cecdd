// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// scalar reads the scalar that begins with text in the current line. Its further lines are indented more than column.
func (r *reader) scalar(text string, column int) {
	switch text[0] {
	case '"', '\'':
		r.quoted(text[1:], text[0], column)
	case '|':
		r.literal(text[1:], column)
	case '{', '[':
		if text != "{}" && text != "[]" {
			r.fail(errUnusual)
		}
		r.put(text)
	default:
		r.plain(text, column)
	}
	r.nextLine()
}

// plain reads a plain scalar.
func (r *reader) plain(text string, column int) {
	line, indent := r.peek()
	folded := indent > column && indent < len(line) && line[indent] != '#'
	kind := typeOf(text)
	if !isPlain(text) || !folded && kind == isUnsure {
		r.fail(errUnusual)
		return
	}
	if !folded && kind == isJSON {
		r.put(text)
		return
	}
	r.put(`"`)
	r.escape(text)
	for indent > column && indent < len(line) && line[indent] != '#' { // what has a space in it is text
		if !isPlainLine(line[indent:]) {
			r.fail(errUnusual)
			return
		}
		r.put(" ")
		r.escape(line[indent:])
		r.next += len(line) + 1
		r.count(0)
		line, indent = r.peek()
	}
	r.put(`"`)
}

// isPlain says whether a text can be a plain scalar, or its first line.
func isPlain(text string) bool {
	return strings.IndexByte("?:,[]{}#&*!|>'\"%@` ", text[0]) < 0 && !isEntry(text) && isPlainLine(text)
}

// isPlainLine says whether a text can be a line of a plain scalar.
func isPlainLine(text string) bool {
	last := len(text) - 1
	for i := range len(text) {
		switch text[i] {
		case ':':
			if i == last || text[i+1] == ' ' {
				return false
			}
		case '#':
			if i > 0 && text[i-1] == ' ' {
				return false
			}
		}
	}
	return text[last] != ' '
}

// quoted reads a quoted scalar. text is what follows its first quote.
func (r *reader) quoted(text string, quote byte, column int) {
	r.put(`"`)
	for {
		end := closingQuote(text, quote)
		if end >= 0 {
			if r.unquote(text[:end], quote); end+1 < len(text) {
				r.fail(errUnusual)
			}
			break
		}
		line, indent := r.peek()
		if text = strings.TrimRight(text, " "); strings.HasSuffix(text, `\`) || indent <= column || indent == len(line) {
			r.fail(errUnusual)
			break
		}
		r.unquote(text, quote)
		r.put(" ")
		text = line[indent:]
		r.next += len(line) + 1
		r.count(0)
	}
	r.put(`"`)
}

// closingQuote finds the quote that ends a text, -1 where none does.
func closingQuote(text string, quote byte) int {
	for i := 0; i < len(text); i++ {
		switch {
		case quote == '"' && text[i] == '\\':
			i++
		case quote == '\'' && strings.HasPrefix(text[i:], "''"):
			i++
		case text[i] == quote:
			return i
		}
	}
	return -1
}

// unquote writes text that stands between quotes.
func (r *reader) unquote(text string, quote byte) {
	special := `\`
	if quote == '\'' {
		special = `''`
	}
	for {
		i := strings.Index(text, special)
		if i < 0 {
			r.escape(text)
			return
		}
		r.escape(text[:i])
		if text = text[i+1:]; quote == '\'' {
			r.escape("'")
			text = text[1:]
			continue
		}
		c, length := unescape(text)
		if length == 0 {
			r.fail(errUnusual)
			return
		}
		if text = text[length:]; c == '\u2028' || c == '\u2029' {
			r.put(fmt.Sprintf(`\u%04x`, c))
			continue
		}
		r.escape(string(c))
	}
}

// escapes are the characters that stand behind a backslash, and what each stands for.
var escapes = map[byte]rune{'0': 0, 'a': '\a', 'b': '\b', 't': '\t', 'n': '\n', 'v': '\v', 'f': '\f', 'r': '\r', 'e': 0x1B, ' ': ' ', '"': '"',
	'\'': '\'', '\\': '\\', 'N': 0x85, '_': 0xA0, 'L': '\u2028', 'P': '\u2029'}

// unescape reads the escape sequence behind a backslash, and returns its length, which is 0 where it is not valid.
func unescape(text string) (c rune, length int) {
	if text == "" {
		return 0, 0
	}
	digits := 0
	switch text[0] {
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		c, ok := escapes[text[0]]
		if !ok {
			return 0, 0
		}
		return c, 1
	}
	n, err := strconv.ParseUint(text[1:min(1+digits, len(text))], 16, 32)
	if err != nil || len(text) < 1+digits || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		return 0, 0
	}
	return rune(n), 1 + digits
}

// literal reads a literal block scalar. header is what follows its indicator in the line.
func (r *reader) literal(header string, column int) {
	indent := 0 // of the text; 0 where it is not known yet
	if header != "" && header[0] >= '1' && header[0] <= '9' {
		indent, header = column+int(header[0]-'0'), header[1:]
	}
	if header != "" && header != "-" && header != "+" {
		r.fail(errUnusual)
		return
	}
	r.put(`"`)
	feeds, empty := 0, true // line feeds that are not written yet
	for r.next < len(r.doc) {
		line, spaces := r.peek()
		blank := spaces == len(line)
		switch {
		case indent == 0 && blank && spaces > 0, indent == 0 && !blank && spaces <= column:
			r.fail(errUnusual)
			return
		case indent == 0 && !blank:
			indent = spaces
		}
		if !blank && spaces < indent {
			break
		}
		if blank && spaces <= indent {
			feeds++
		} else {
			r.feed(feeds)
			r.escape(line[indent:])
			feeds, empty = 1, false
		}
		r.next += len(line) + 1
		r.count(0)
	}
	if empty {
		r.fail(errUnusual)
	}
	switch header {
	case "":
		r.feed(1)
	case "+":
		r.feed(feeds)
	}
	r.put(`"`)
}

// feed writes line feeds.
func (r *reader) feed(n int) {
	for range n {
		r.put(`\n`)
	}
}

// escape writes text as part of a JSON string, with the escapes of encoding/json.
func (r *reader) escape(text string) {
	if r.skip {
		return
	}
	done := 0
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' {
			continue
		}
		r.out = append(r.out, text[done:i]...)
		done = i + 1
		if short := strings.IndexByte("\b\f\n\r\t\"\\", c); short >= 0 {
			r.out = append(r.out, '\\', `bfnrt"\`[short])
		} else {
			r.out = fmt.Appendf(r.out, `\u%04x`, c)
		}
	}
	r.out = append(r.out, text[done:]...)
}

// scalarType is what a plain scalar stands for.
type scalarType int

const (
	isText scalarType = iota
	// isJSON is a truth value, null or a number that JSON writes with the same characters.
	isJSON
	// isUnsure is anything else that may not be text.
	isUnsure
)

// typeOf tells a plain scalar's type by the rules of YAML 1.1.
func typeOf(text string) scalarType {
	switch c := text[0]; {
	case c >= '0' && c <= '9', c == '+', c == '-', c == '.':
		return numberType(text)
	case strings.IndexByte("yYnNtTfFoO~", c) < 0, len(text) > len("false"):
		return isText
	}
	switch text {
	case "true", "false", "null":
		return isJSON
	}
	switch strings.ToLower(text) {
	case "true", "false", "null", "~", "y", "n", "yes", "no", "on", "off":
		return isUnsure
	}
	return isText
}

// numberType is typeOf for a text that begins like a number.
func numberType(text string) scalarType {
	number := strings.TrimLeft(text[:1], "+-") + text[1:]
	if number == "" {
		return isText
	}
	if c := number[0]; c == '.' && (len(number) == 1 || strings.IndexByte("0123456789_iInN", number[1]) < 0) {
		return isText // ".inf", ".nan" and ".5" are numbers
	} else if c != '.' && c != '_' && (c < '0' || c > '9') {
		return isText
	}
	dots, exponents, signs, others := 0, 0, 0, 0
	for i := range len(number) {
		switch c := number[i]; c {
		case '.':
			dots++
		case 'e', 'E':
			exponents++
		case '+', '-':
			signs++
		case '_':
			return isUnsure
		default:
			if c < '0' || c > '9' {
				others++
			}
		}
	}
	switch {
	case number[0] == '.', number[0] == '0' && len(number) > 1 && strings.IndexByte("xXoObB", number[1]) >= 0:
		return isUnsure
	case others > 0, dots > 1, exponents > 1, exponents == 0 && signs > 0:
		return isText
	case exponents > 0, text[0] == '+', text == "-0":
		return isUnsure
	}
	// A number keeps its digits where they are fewer than an integer, or a float of 64 bits, can have.
	whole, fraction, isFraction := strings.Cut(number, ".")
	if whole != "0" && whole[0] == '0' || !isFraction && len(whole) > 18 ||
		isFraction && (len(number) > 16 || fraction == "" || len(fraction) > 6 || strings.HasSuffix(fraction, "0")) {
		return isUnsure
	}
	return isJSON
}
