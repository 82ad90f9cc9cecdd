// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Use receives a document. It reports whether the document has objects. The error ends the reading of all paths.
type Use func(*Document) (bool, error)

// reader reads one file after the other, so that the same files always give the same snapshot.
type reader struct {
	budget *Budget
	report *Report
	use    Use
	conv   *converter
	// buffers are those of nested streams: a file, its decompressed data, a file of this archive.
	buffers []*bufio.Reader
	depth   int
}

// sniffed is the number of bytes at the beginning of a file that are examined to find its format.
const sniffed = 64 << 10

// buffered calls read with a buffer for a stream. The buffers are used again.
func (r *reader) buffered(in io.Reader, read func(*bufio.Reader) error) error {
	if len(r.buffers) == r.depth {
		r.buffers = append(r.buffers, bufio.NewReaderSize(nil, sniffed))
	}
	br := r.buffers[r.depth]
	br.Reset(in)
	r.depth++
	defer func() { r.depth-- }()
	return read(br)
}

var (
	// documentNames matches names of files that have documents.
	documentNames = regexp.MustCompile(`(?i)\.(json|jsonl|ndjson|yaml|yml)(\.gz)?$`)
	// documentStart matches another file that has documents: fleet dump writes names without an extension.
	documentStart = regexp.MustCompile(`^[\[\s]*\{\s*"(apiVersion|kind|items|metadata)"|(?m:^(apiVersion|kind|items):)`)
	jsonStart     = regexp.MustCompile(`^\s*[{\[]`)
	// skipped matches names of logs, and of the files that macOS adds to an archive.
	skipped = regexp.MustCompile(`^\._|(?i)\.log(\.[0-9]+)?$`)
)

// read reads a file of any format. What cannot be read is a gap. The error ends the reading of all paths.
func (r *reader) read(f *file, in io.Reader) error {
	if skipped.MatchString(f.base) {
		r.report.other.Add(f.name)
		return nil
	}
	err := r.buffered(in, func(br *bufio.Reader) error { return r.content(f, br, in) })
	_, limit := errors.AsType[failure](err)
	if err != nil && (limit || !stops(err)) {
		r.report.cut(f.name, err)
	}
	if stops(err) {
		return err
	}
	return nil
}

// content reads a file of any format. The error is that of the stream, or ends the reading of all paths.
func (r *reader) content(f *file, br *bufio.Reader, raw io.Reader) error {
	head, err := br.Peek(sniffed)
	if len(head) == 0 && !errors.Is(err, io.EOF) {
		return err
	}
	isZip := bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06"))
	isTar := len(head) > 262 && string(head[257:262]) == "ustar"
	_, unpacked := raw.(*gzip.Reader)
	switch {
	case f.inner && (isZip || isTar):
		r.report.refused.Add(f.name + " (archive)")
		return nil
	case isZip:
		return r.zip(f, br, raw)
	case isTar:
		last := "its beginning"
		if err := readTar(br, r.visit(f, &last)); err != nil {
			return placed{"after " + last, err}
		}
		return nil
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}) && !unpacked:
		gz, err := gzip.NewReader(br)
		if err != nil {
			return err
		}
		return r.buffered(r.budget.reader(gz), func(br *bufio.Reader) error { return r.content(f, br, gz) })
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")), bytes.HasPrefix(head, []byte("\xff\xfe")):
		// PowerShell writes the output of kubectl in UTF-16 with a byte order mark.
		return r.buffered(transform.NewReader(br, unicode.BOMOverride(transform.Nop)), func(br *bufio.Reader) error {
			head, _ := br.Peek(sniffed)
			return r.documents(f, br, head)
		})
	}
	return r.documents(f, br, head)
}

// zip reads a zip archive. Its list of files is at its end, so an archive from a pipe has to be held in memory.
func (r *reader) zip(f *file, br *bufio.Reader, raw io.Reader) error {
	last := "its beginning"
	if disk, ok := raw.(*onDisk); ok {
		return readZip(r.budget, disk.at, disk.size, r.visit(f, &last))
	}
	held, err := io.ReadAll(br)
	if err != nil {
		return err
	}
	return readZip(r.budget, bytes.NewReader(held), int64(len(held)), r.visit(f, &last))
}

// onDisk is a file that can be read at any offset.
type onDisk struct {
	io.Reader
	at   io.ReaderAt
	size int64
}

// visit reads the files of an archive. It sets last to the name of the last file.
func (r *reader) visit(f *file, last *string) visit {
	return func(name, refused string, in io.Reader) error {
		*last = Shown(name)
		inner := &file{name: f.name + ": " + *last, base: path.Base(name), inner: true}
		if err := r.budget.Spend(fileCost); err != nil {
			return err
		}
		if refused != "" {
			r.report.refused.Add(fmt.Sprintf("%s (%s)", inner.name, refused))
			return nil
		}
		return r.read(inner, in)
	}
}

// documents reads a file that is not an archive. Like kubectl, it reads a file that begins with a bracket as JSON.
func (r *reader) documents(f *file, br *bufio.Reader, head []byte) error {
	var err error
	named := f.explicit || documentNames.MatchString(f.base)
	isJSON := jsonStart.Match(head) && !bytes.Contains(head, []byte("\n---")) // which separates documents of YAML
	switch {
	case !named && !documentStart.Match(head):
	case isJSON:
		err = r.json(f, br)
	default:
		y := &yamlReader{budget: r.budget, report: r.report, json: r.conv, file: f}
		y.use = func(d *Document) error { return r.found(f, d) }
		err = y.read(br)
	}
	if err != nil {
		return err
	}
	if f.explicit && !f.found {
		r.report.Damaged(f.name, "it has no Kubernetes objects")
		return nil
	}
	if f.others || !f.found {
		r.report.other.Add(f.name)
	}
	return nil
}

// found passes a document on.
func (r *reader) found(f *file, d *Document) error {
	// People write a file of one object without the end of its last line.
	d.Torn = d.Torn && (d.number > 1 || d.Listed)
	used, err := r.use(d)
	f.found = f.found || used || d.Damaged
	f.others = f.others || !used && !d.Damaged
	if err != nil {
		return stop{err}
	}
	return r.budget.Spend(ObjectCost)
}

// json reads JSON documents. An error ends the file.
func (r *reader) json(f *file, br *bufio.Reader) error {
	j := newJSONReader(r.budget, br)
	for {
		d := f.document(0)
		isObject, err := j.next(d)
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			err = placed{strings.TrimPrefix(d.place(j.errorLine(err)), f.name+", "), err}
		}
		d.Damaged = err != nil
		if err == nil && !isObject {
			f.others = true
			continue
		}
		if err := errors.Join(err, r.found(f, d)); err != nil {
			return err
		}
	}
}
