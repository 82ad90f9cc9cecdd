// SPDX-License-Identifier: Apache-2.0

package files

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// jsonReader reads JSON documents one after the other, or in an array.
type jsonReader struct {
	budget  *Budget
	in      io.Reader
	lines   int   // that were read
	left    int64 // bytes of the object until it is too large
	dec     *jsontext.Decoder
	body    []byte // of the last document, to use its memory again
	scratch []byte
}

func newJSONReader(b *Budget, in io.Reader) *jsonReader {
	j := &jsonReader{budget: b, in: in, left: b.object()}
	j.dec = jsontext.NewDecoder(readFunc(j.read), jsontext.AllowInvalidUTF8(true))
	return j
}

// read reads the stream, counts lines and limits one object.
func (j *jsonReader) read(p []byte) (int, error) {
	if j.left <= 0 {
		return 0, errTooLarge
	}
	n, err := j.in.Read(p[:min(int64(len(p)), j.left)])
	j.left -= int64(n)
	j.lines += bytes.Count(p[:n], []byte("\n"))
	return n, err
}

// line is the line of what is decoded next.
func (j *jsonReader) line() int {
	next := bytes.TrimLeft(j.dec.UnreadBuffer(), " \t\r\n,:")
	return j.lines + 1 - bytes.Count(next, []byte("\n"))
}

// errorLine is the line of an error.
func (j *jsonReader) errorLine(err error) int {
	unread := j.dec.UnreadBuffer()
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		before := int(syntax.ByteOffset - j.dec.InputOffset())
		unread = unread[max(min(before, len(unread)), 0):]
	}
	return j.lines + 1 - bytes.Count(unread, []byte("\n"))
}

// next reads the next object into d. It skips brackets, and returns false for a value that is not an object. At the end
// the error is io.EOF.
func (j *jsonReader) next(d *Document) (bool, error) {
	for {
		j.left = j.budget.object()
		kind := j.dec.PeekKind()
		d.line = j.line()
		switch kind {
		case jsontext.KindBeginObject:
			return true, j.object(d)
		case jsontext.KindBeginArray, jsontext.KindEndArray, jsontext.KindInvalid:
			if _, err := j.dec.ReadToken(); err != nil {
				return true, err
			}
		default:
			return false, j.dec.SkipValue()
		}
	}
}

// object reads an object into d. The body of a damaged one has the members before the damage.
func (j *jsonReader) object(d *Document) error {
	j.body = append(j.body[:0], '{')
	err := object.Members(j.dec, func(name jsontext.Value) error { return j.member(d, name) })
	j.body = append(j.body, '}')
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		d.Body = bytes.Clone(j.body)
		return err
	}
	d.Body, err = j.compact(j.body)
	return err
}

// member reads the value of a member.
func (j *jsonReader) member(d *Document, name jsontext.Value) error {
	begin := len(j.body)
	if begin > 1 {
		j.body = append(j.body, ',')
	}
	j.body = append(append(j.body, name...), ':')
	isItems := string(name) == `"items"`
	kind := j.dec.PeekKind()
	if isItems && (kind == jsontext.KindBeginArray || kind == jsontext.KindNull) {
		j.body, d.Listed = j.body[:begin], true
		if kind == jsontext.KindNull { // some clients write null for an empty list
			return j.dec.SkipValue()
		}
		return object.Elements(j.dec, func() error { return j.item(d) })
	}
	value, err := j.dec.ReadValue()
	if err != nil {
		j.body = j.body[:begin]
		return err
	}
	j.body = append(j.body, value...)
	return nil
}

// item reads an item of a document.
func (j *jsonReader) item(d *Document) error {
	j.left = j.budget.object()
	line := j.line()
	value, err := j.dec.ReadValue()
	if err != nil {
		return err
	}
	raw, err := j.compact(value)
	if err != nil {
		return err
	}
	d.Items = append(d.Items, Item{Raw: raw, line: line})
	return j.budget.Spend(ObjectCost)
}

// compact returns a valid JSON value without white space.
func (j *jsonReader) compact(value jsontext.Value) (out []byte, err error) {
	j.scratch, err = jsontext.AppendFormat(j.scratch[:0], value, jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	return bytes.Clone(j.scratch), err
}

// Document is one document of a file, as compact JSON. Its items are separate from its other members, because the kind
// of a List often comes after its items, and because the items of a List of 200 MB must not be in memory twice.
type Document struct {
	File string // the name of the file without folders
	Path string // the displayed name of the file
	// Body has the members without the items. It is empty if they could not be read.
	Body   []byte
	Items  []Item
	Listed bool // it has a list of items, which may be empty
	// Damaged is true if a part of it could not be read, which is a gap already.
	Damaged bool
	// Last is true if it is YAML and the file ends with it: it may be truncated without being damaged. Torn is true if
	// its last line has no end, Open if it ends with its items.
	Last, Torn, Open bool

	number, line int // of the document in the file, and of its first line, from 1
}

// Item is an item of a List.
type Item struct {
	Raw  []byte
	line int
}

// Place is the place of the document.
func (d *Document) Place() string { return d.place(d.line) }

// ItemPlace is the place of the item with an index.
func (d *Document) ItemPlace(i int) string {
	return fmt.Sprintf("%s, item %d", d.place(d.Items[i].line), i+1)
}

// place is the place of a line of the document.
func (d *Document) place(line int) string {
	s := fmt.Sprintf("%s, line %d", d.Path, line)
	if d.number > 1 {
		s += fmt.Sprintf(" (document %d)", d.number)
	}
	return s
}

// file is a file, or an entry of an archive, that is being read.
type file struct {
	name     string // displayed name
	base     string // name without folders
	explicit bool   // it is the argument itself
	inner    bool   // it is from an archive
	number   int    // of the last document
	found    bool   // it has objects
	others   bool   // it has other content
}

// document returns the next document of the file.
func (f *file) document(line int) *Document {
	f.number++
	return &Document{File: f.base, Path: f.name, number: f.number, line: line}
}

// visit receives a file of an archive. refused is the reason why it is not read, "" if it is read.
type visit func(name, refused string, in io.Reader) error

// entry visits a file of an archive. A link to another name in the archive loses nothing, because that file is read.
func (v visit) entry(name string, mode fs.FileMode, link string, in io.Reader) error {
	slashed := strings.ReplaceAll(name, `\`, "/")
	name = path.Clean(strings.TrimPrefix(slashed, "./"))
	switch {
	case mode.IsDir():
		return nil
	case strings.Contains("/"+slashed+"/", "/../") || !filepath.IsLocal(name):
		return v(name, "name", nil)
	case mode.IsRegular() && link == "":
		return v(name, "", in)
	case link == "":
		return v(name, "special file", nil)
	case path.IsAbs(link) || !filepath.IsLocal(path.Join(path.Dir(name), link)):
		return v(name, "link", nil)
	}
	return nil
}

// readTar visits the files of a tar archive. Package tar does not report an archive that is cut between two files. Such
// an archive lacks the zeros at its end.
func readTar(in io.Reader, v visit) error {
	zeros := 0 // at the end of what was read
	tr := tar.NewReader(readFunc(func(p []byte) (int, error) {
		n, err := in.Read(p)
		if text := len(bytes.TrimRight(p[:n], "\x00")); text > 0 {
			zeros = -text
		}
		zeros += n
		return n, err
	}))
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) && zeros >= 512 {
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // entry checks the names
			return err
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if err := v.entry(h.Name, h.FileInfo().Mode(), h.Linkname, tr); err != nil {
			return err
		}
	}
}

// readZip visits the files of a zip archive. Package zip holds its list of files in memory, which is limited like an
// object.
func readZip(b *Budget, reader io.ReaderAt, length int64, v visit) error {
	directory := &boundedAt{reader: reader, left: b.object()}
	z, err := zip.NewReader(directory, length)
	if directory.left < 0 {
		return errTooLarge
	}
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // entry checks the names
		return err
	}
	directory.left = math.MaxInt64
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			in = io.NopCloser(readFunc(func([]byte) (int, error) { return 0, err }))
		}
		if err := v.entry(f.Name, f.Mode(), "", b.reader(in)); err != nil {
			return err
		}
	}
	return nil
}

// boundedAt limits how much is read.
type boundedAt struct {
	reader io.ReaderAt
	left   int64
}

func (b *boundedAt) ReadAt(p []byte, offset int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, zip.ErrFormat
	}
	return b.reader.ReadAt(p, offset)
}

// DefaultLimit is the default of the limit: 2 GiB.
const DefaultLimit = 2 << 30

// The bytes with which a file, an object and a kind count in addition, because each needs memory or time of its own.
// Each byte of YAML counts yamlCost times, because its parser needs more of both.
const (
	fileCost   = 8 << 10
	ObjectCost = 512
	KindCost   = 64 << 10
	yamlCost   = 4
	nodeCost   = 128 // a scalar, list or map of YAML, compared with the limit of one object
)

// Budget is the only limit: the bytes of all paths together, after decompression. A limit for each file would not limit
// a snapshot of many files.
type Budget struct {
	ended       func() error // the Err of the context
	limit, left int64
}

// Spend counts n bytes. The error ends the reading of all paths. It is returned once: what was read is still kept.
func (b *Budget) Spend(n int64) error {
	ended := b.left < 0
	if b.left -= n; b.left >= 0 || ended {
		return nil
	}
	const text = "the snapshot needs more than the limit of %s; capture fewer kinds, or JSON instead of YAML"
	return stop{failure(fmt.Sprintf(text, size(b.limit)))}
}

// object is the limit of one object in bytes, 64 MiB by default.
func (b *Budget) object() int64 { return b.limit / 32 }

// readFunc implements io.Reader.
type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// reader counts what is read from a stream, until the limit is reached or the context ends.
func (b *Budget) reader(in io.Reader) io.Reader {
	return readFunc(func(p []byte) (int, error) {
		if err := b.ended(); err != nil {
			return 0, err
		}
		if b.left <= 0 {
			b.left = 0
			return 0, b.Spend(1)
		}
		n, err := in.Read(p[:min(int64(len(p)), b.left)])
		b.left -= int64(n)
		if err != nil {
			err = cmp.Or(b.ended(), err)
		}
		return n, err
	})
}

// size formats a limit: "2 GiB".
func size(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if shift := 30 - 10*i; n >= 1<<shift && n%(1<<shift) == 0 {
			return fmt.Sprintf("%d %s", n>>shift, unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
