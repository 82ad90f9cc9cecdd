// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// yamlReader reads YAML documents. The parser needs hundreds of bytes for each scalar, which is too much for a List of
// 50 MB. The items of a List in the form of kubectl are therefore parsed one by one: they are between the line "items:"
// and the next key, and begin with "- " at the beginning of a line.
type yamlReader struct {
	budget *Budget
	report *Report
	json   *converter
	file   *file
	use    func(*Document) error
	doc    *Document
	body   piece // the document without its items
	item   piece
	state  itemState
}

type itemState int

const (
	outside itemState = iota // before or after the items
	atItems                  // after the line "items:"
	inItems
)

// piece is a part of a document.
type piece struct {
	text []byte
	line int // in the file, of its first line; 0 if its lines do not follow each other
}

// read reads the documents of a file. The error is that of the stream or of use.
func (y *yamlReader) read(in *bufio.Reader) error {
	number := 0
	err := y.lines(in, &number)
	if err == nil {
		return nil
	}
	err = placed{fmt.Sprintf("line %d", number), err}
	if y.doc == nil {
		return err
	}
	y.doc.Damaged = true
	return errors.Join(err, y.use(y.doc))
}

// lines reads the lines of a file, and sets number to the number of the last line.
func (y *yamlReader) lines(in *bufio.Reader, number *int) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, int(y.budget.object()/yamlCost))
	lines.Split(wholeLines)
	for *number = 1; lines.Scan(); *number++ {
		line := lines.Bytes()
		if isMarker(line) {
			if err := y.end(); err != nil {
				return err
			}
			line = append([]byte("   "), line[3:]...)
		}
		if err := y.next(line, *number); err != nil {
			return err
		}
	}
	if lines.Err() != nil || y.doc == nil {
		return lines.Err()
	}
	y.doc.Last = true
	return y.end()
}

// wholeLines splits a text into lines with their ends.
func wholeLines(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i+1], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// isMarker reports whether a line separates documents.
func isMarker(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return false
	}
	return len(line) == 3 || bytes.IndexByte([]byte(" \t\r\n"), line[3]) >= 0
}

// next adds a line to its piece.
func (y *yamlReader) next(line []byte, number int) error {
	text := bytes.TrimSpace(line)
	blank := len(text) == 0 || text[0] == '#'
	if y.doc == nil {
		if blank || line[0] == '%' { // a directive
			return nil
		}
		y.doc = y.file.document(number)
		y.state, y.body = outside, piece{y.body.text[:0], number}
	}
	if len(text) == 0 || text[0] != '#' { // the end of a comment proves nothing
		begin := y.body.text
		if len(begin) == 0 {
			begin = line
		}
		flow := bytes.HasPrefix(bytes.TrimLeft(begin, " "), []byte("{"))
		y.doc.Torn = line[len(line)-1] != '\n' && !flow // a map in flow style has an end
	}
	begins := bytes.HasPrefix(line, []byte("- "))
	inside := blank || line[0] == ' '
	switch {
	case begins && y.state != outside:
		if err := y.endItem(); err != nil {
			return err
		}
		y.state, y.item.line, y.body.line = inItems, number, 0
		return y.keep(&y.item, line)
	case y.state == inItems && inside:
		return y.keep(&y.item, line)
	case y.state == inItems:
		if err := y.endItem(); err != nil {
			return err
		}
		y.state = outside
	case y.state == atItems && !blank:
		y.state = outside
	case !y.doc.Listed && string(bytes.TrimRight(line, " \r\n")) == "items:":
		y.state = atItems
	}
	return y.keep(&y.body, line)
}

func (y *yamlReader) keep(p *piece, line []byte) error {
	if int64(len(p.text)+len(line)) > y.budget.object()/yamlCost {
		return errTooLarge
	}
	p.text = append(p.text, line...)
	return nil
}

// endItem converts the item that was read, if there is one.
func (y *yamlReader) endItem() error {
	if y.state != inItems {
		return nil
	}
	y.doc.Listed = true
	raw, err := y.convert(y.item)
	y.item.text = y.item.text[:0]
	if stops(err) {
		return err
	}
	if err != nil {
		where := fmt.Sprintf("%s, item %d", y.doc.place(y.item.line), len(y.doc.Items)+1)
		y.report.Damaged(where, reason(err))
		y.doc.Damaged = true
		return nil
	}
	// The piece is a list of one item.
	y.doc.Items = append(y.doc.Items, Item{Raw: raw[1 : len(raw)-1], line: y.item.line})
	return y.budget.Spend(ObjectCost)
}

// end converts the document that was read, if there is one.
func (y *yamlReader) end() error {
	d := y.doc
	if d == nil {
		return nil
	}
	d.Open = y.state == inItems
	if err := y.endItem(); err != nil {
		return err
	}
	err := y.members(d)
	if stops(err) {
		return err
	}
	y.doc = nil
	if err != nil {
		y.report.Damaged(d.Place(), reason(err))
		d.Damaged, d.Body = true, nil
	}
	return y.use(d)
}

// members converts the members of a document. It reads items that are not in the form of kubectl.
func (y *yamlReader) members(d *Document) error {
	raw, err := y.convert(y.body)
	if err != nil {
		return err
	}
	if raw[0] != '{' && d.Listed {
		return errNoYAML
	}
	if raw[0] != '{' {
		return nil
	}
	if !d.Listed && !bytes.Contains(raw, []byte(`"items":`)) {
		d.Body = raw
		return nil
	}
	members := *d
	members.Items, members.Listed = nil, false
	if _, err := newJSONReader(y.budget, bytes.NewReader(raw)).next(&members); err != nil {
		return err
	}
	d.Body = members.Body
	if !d.Listed {
		d.Items, d.Listed = members.Items, members.Listed
		for i := range d.Items {
			d.Items[i].line = d.line
		}
		return nil
	}
	if len(members.Items) > 0 || !members.Listed { // the line "items:" was no key
		return errNoYAML
	}
	return nil
}

// inError finds the line in an error of the parser. No other part of the error may be displayed, because it quotes the
// text.
var inError = regexp.MustCompile(`line (\d+):`)

// separators are texts of which one begins, ends or separates each scalar, list or map.
var separators = []string{"\n", ",", ":", "[", "{", "- ", "? "}

// convert converts a piece of YAML to JSON.
func (y *yamlReader) convert(p piece) ([]byte, error) {
	nodes := 0
	for _, s := range separators {
		nodes += bytes.Count(p.text, []byte(s))
	}
	if int64(nodes)*nodeCost > y.budget.object() {
		return nil, errTooLarge
	}
	if err := y.budget.Spend(int64(len(p.text)) * (yamlCost - 1)); err != nil {
		return nil, err
	}
	var root yaml.Node
	err := yaml.Unmarshal(p.text, &root)
	if err == nil {
		raw, err := y.json.convert(&root)
		return raw, located(err, p.line, y.json.bad)
	}
	m := inError.FindStringSubmatch(err.Error())
	if m == nil {
		return nil, errNoYAML
	}
	line, _ := strconv.Atoi(m[1])
	return nil, located(errNoYAML, p.line, line)
}

// located adds a line of a piece, which begins at a line of the file, to the reason of an error.
func located(err error, begin, line int) error {
	if err == nil || begin == 0 {
		return err
	}
	return failure(fmt.Sprintf("%s, near line %d", reason(err), begin+max(line, 1)-1))
}
