// SPDX-License-Identifier: Apache-2.0

// Package files reads the documents of a snapshot: the YAML and JSON documents in folders, files, archives and standard
// input. It writes nothing to disk, no error or gap quotes a document, and the cost of a hostile archive is limited.
package files

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
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
		return readZip(r.budget, disk.reader, disk.size, r.visit(f, &last))
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
	reader io.ReaderAt
	size   int64
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

// Remedy is what can be read.
const Remedy = "expected Kubernetes objects or Lists in YAML or JSON, in a folder, a file, a .tar, .tar.gz or .zip " +
	"archive, or standard input (-)"

// Reading is the reading of all paths.
type Reading struct {
	Budget Budget
	Report Report
	reader reader
	stdin  io.Reader
}

// New prepares the reading of paths within a limit in bytes. The context is that of Read.
func New(ctx context.Context, limit int64, stdin io.Reader, use Use) *Reading {
	g := &Reading{stdin: stdin, Budget: Budget{ended: ctx.Err, limit: limit, left: limit}}
	g.reader = reader{budget: &g.Budget, report: &g.Report, use: use, conv: newConverter()}
	return g
}

// Read reads paths: folders, files, archives, and "-" for standard input. What cannot be read is a gap in the report.
//
// Read returns an error if the context ends, a path does not exist or is a device, or the error of Use.
func (g *Reading) Read(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return errors.New("no path was given; " + Remedy)
	}
	for _, p := range paths {
		err := g.path(ctx, p)
		if _, limit := errors.AsType[failure](err); limit {
			return nil // it is a gap
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *Reading) path(ctx context.Context, name string) error {
	f := &file{name: Shown(name), base: filepath.Base(name), explicit: true}
	if name == "-" {
		in := g.stdin
		if g.stdin = nil; in == nil {
			return errors.New("standard input can only be read once")
		}
		f.name, f.base = "standard input", ""
		return g.pipe(ctx, f, func() (io.ReadCloser, error) { return io.NopCloser(in), nil })
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeNamedPipe != 0 {
		return g.pipe(ctx, f, func() (io.ReadCloser, error) { return os.Open(name) })
	}
	if info.IsDir() {
		return g.folder(name)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file, folder or pipe", f.name)
	}
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	return g.opened(f, in)
}

// pipe reads a file that can block when it is opened or read, such as a named pipe or a terminal. It returns when the
// context ends.
func (g *Reading) pipe(ctx context.Context, f *file, open func() (io.ReadCloser, error)) error {
	pr, pw := io.Pipe()
	defer closed(pr)
	go func() {
		in, err := open()
		if err == nil {
			_, err = io.Copy(pw, in)
			closed(in)
		}
		pw.CloseWithError(err)
	}()
	defer context.AfterFunc(ctx, func() { pr.CloseWithError(ctx.Err()) })()
	return g.reader.read(f, g.Budget.reader(pr))
}

// closed closes a file that was only read, so that an error of Close does not matter.
func closed(c io.Closer) { _ = c.Close() }

// opened reads a file on a disk, and closes it.
func (g *Reading) opened(f *file, in *os.File) error {
	defer closed(in)
	info, err := in.Stat()
	if err != nil {
		return err
	}
	return g.reader.read(f, &onDisk{Reader: g.Budget.reader(in), reader: in, size: info.Size()})
}

// folder reads the files of a folder and its subfolders, sorted by name. It opens no file outside the folder, even if
// the folder changes meanwhile.
func (g *Reading) folder(name string) error {
	root, err := os.OpenRoot(name)
	if err != nil {
		return err
	}
	defer closed(root)
	return fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		f := &file{name: Shown(filepath.Join(name, p)), base: filepath.Base(p)}
		if err != nil {
			g.Report.cut(f.name, err)
			return nil
		}
		if d.IsDir() {
			return g.Budget.ended()
		}
		if err := g.Budget.Spend(fileCost); err != nil {
			g.Report.cut(f.name, err)
			return err
		}
		return g.entry(root, p, d.Type(), f)
	})
}

// entry reads a file of a folder. A link to a file of the folder loses nothing, because that file is read.
func (g *Reading) entry(root *os.Root, p string, mode fs.FileMode, f *file) error {
	if !mode.IsRegular() {
		if info, err := root.Stat(p); err != nil || !info.Mode().IsRegular() {
			g.Report.refused.Add(fmt.Sprintf("%s (link or special file)", f.name))
		}
		return nil
	}
	in, err := root.Open(p)
	if err != nil {
		g.Report.cut(f.name, err)
		return nil
	}
	return g.opened(f, in)
}
