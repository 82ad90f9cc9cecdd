// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// gzip reads a compressed file: a tar archive, or one file of documents.
func (r *reader) gzip(f *file, in io.Reader) error {
	packed := &counted{r: in}
	if !f.archived { // what is within an archive was counted
		packed.total = &r.spent.packed
	}
	gz, err := gzip.NewReader(packed)
	if err != nil {
		return r.cut(f, f.name, err)
	}
	inner := *f
	inner.packed, inner.depth, inner.whole = true, f.depth+1, nil
	switch ext := path.Ext(f.file); strings.ToLower(ext) {
	case ".gz":
		inner.file = strings.TrimSuffix(f.file, ext)
	case ".tgz":
		inner.file = strings.TrimSuffix(f.file, ext) + ".tar"
	}
	err = r.read(&inner, &inflated{r: r, in: gz, packed: packed})
	if errors.Is(err, errRatio) {
		return r.cut(f, f.name, err)
	}
	return err
}

func isBomb(err error) bool {
	return errors.Is(err, errPassed) || errors.Is(err, errTotalRatio) || errors.Is(err, errRatio)
}

// cut notes that the rest of a file could not be read.
func (r *reader) cut(f *file, what string, err error) error {
	if r.ended() != nil {
		return r.ended()
	}
	r.gaps.add(what, r.reason(err), effectCut)
	r.evidence.cut(f.arg.index)
	return nil
}

// tar reads the files of a tar archive.
func (r *reader) tar(f *file, in io.Reader) error {
	end := &blocks{ended: r.ended, r: in}
	tr := tar.NewReader(end)
	last := "its beginning"
	for {
		h, err := tr.Next()
		switch {
		case errors.Is(err, io.EOF) && !end.missing:
			return nil
		case err != nil && (stops(err) && !isBomb(err)):
			return err
		case err != nil && !errors.Is(err, tar.ErrInsecurePath): // which entry looks at itself
			return r.cut(f, f.name+", after "+last, err)
		case h.Typeflag == tar.TypeXGlobalHeader:
			continue
		}
		last = shown(h.Name)
		e, ok := r.entry(f, h.Name, h.FileInfo().Mode(), h.Typeflag == tar.TypeLink)
		if !ok {
			continue
		}
		if e == nil {
			return r.tooMany(f)
		}
		if err := r.read(e, tr); err != nil && !isBomb(err) { // Next says it again
			return err
		}
	}
}

// entry is a file of an archive: nothing and true if there are too many, false if it is passed over.
func (r *reader) entry(f *file, name string, mode fs.FileMode, link bool) (*file, bool) {
	if mode.IsDir() {
		return nil, false
	}
	if f.arg.entries++; f.arg.entries > r.limits.Entries {
		return nil, true
	}
	clean := path.Clean(strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "./"))
	why := numRefusals
	switch {
	case link || mode&fs.ModeSymlink != 0:
		why = refusedLink
	case !mode.IsRegular():
		why = refusedDevice
	case strings.Contains("/"+strings.ReplaceAll(name, `\`, "/")+"/", "/../") || !filepath.IsLocal(clean):
		why = refusedName
	}
	if why != numRefusals {
		f.arg.refused[why].add(shown(name))
		r.evidence.cut(f.arg.index)
		return nil, false
	}
	e := &file{
		r: r, arg: f.arg, archived: true, depth: f.depth + 1,
		name: f.name + ": " + shown(clean), rel: shown(clean), file: path.Base(clean),
		dir: r.evidence.folder(f.arg.index, f.name+"\x00"+path.Dir(clean)),
	}
	if !f.explicit {
		e.rel = f.rel + ": " + e.rel
	}
	if passedOver.MatchString(e.file) {
		f.arg.unknown.add(e.rel)
		return nil, false
	}
	return e, true
}

func (r *reader) tooMany(f *file) error {
	r.gaps.add(f.name, fmt.Sprintf("it has more than %d files", r.limits.Entries), effectCut)
	r.evidence.cut(f.arg.index)
	return nil
}

// blocks is the stream of a tar archive. A tar that was cut off between two entries lacks only the zeros that end it, which package tar
// does not miss.
type blocks struct {
	ended   func() error // the context's Err
	r       io.Reader
	n       int  // bytes of the current block
	zero    bool // they are zeros
	last    bool // the last block was zeros
	missing bool // the stream ended without
}

const tarBlock = 512

func (b *blocks) Read(p []byte) (int, error) {
	if err := b.ended(); err != nil {
		return 0, err
	}
	n, err := b.r.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		part := rest[:min(len(rest), tarBlock-b.n)]
		rest = rest[len(part):]
		b.zero = (b.zero || b.n == 0) && bytes.Count(part, []byte{0}) == len(part)
		if b.n = (b.n + len(part)) % tarBlock; b.n == 0 {
			b.last = b.zero
		}
	}
	if n == 0 && errors.Is(err, io.EOF) {
		b.missing = !b.last || b.n > 0
	}
	return n, err
}

// zipStream reads a zip archive, whose list of files stands at its end: what is no file has to be held in memory.
func (r *reader) zipStream(f *file, in io.Reader) error {
	if f.whole != nil {
		return r.zip(f, f.whole, f.size)
	}
	held, err := io.ReadAll(io.LimitReader(in, r.limits.Archive+1))
	switch {
	case err != nil:
		return r.cut(f, f.name, err)
	case int64(len(held)) > r.limits.Archive:
		r.gaps.add(f.name, "a zip archive that is no file can have "+size(r.limits.Archive), effectCut)
		r.evidence.cut(f.arg.index)
		return nil
	}
	return r.zip(f, bytes.NewReader(held), int64(len(held)))
}

// zip reads the files of a zip archive.
func (r *reader) zip(f *file, at io.ReaderAt, length int64) error {
	directory := &bounded{r: at, left: 256*int64(r.limits.Entries) + 1<<20}
	z, err := zip.NewReader(directory, length)
	switch {
	case directory.left < 0:
		return r.tooMany(f)
	case err != nil && !errors.Is(err, zip.ErrInsecurePath): // which entry looks at itself
		return r.cut(f, f.name, err)
	}
	directory.off = true
	if err := overlap(z.File, length); err != nil {
		return r.cut(f, f.name, err)
	}
	for _, zf := range z.File {
		e, ok := r.entry(f, zf.Name, zf.Mode(), false)
		if !ok {
			continue
		}
		if e == nil {
			return r.tooMany(f)
		}
		if err := r.zipEntry(e, zf); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) zipEntry(e *file, zf *zip.File) error {
	rc, err := zf.Open()
	if err != nil {
		e.sure = true
		e.damaged(e.name, r.reason(err))
		e.done()
		return nil
	}
	defer closed(rc)
	packed := &counted{n: int64(zf.CompressedSize64)}
	r.spent.packed += packed.n
	err = r.read(e, &inflated{r: r, in: rc, packed: packed})
	if errors.Is(err, errRatio) {
		return r.cut(e, e.name, err)
	}
	return err
}

// bounded bounds how much of an archive its list of files may be: package zip holds all of it.
type bounded struct {
	r    io.ReaderAt
	left int64
	off  bool
}

func (b *bounded) ReadAt(p []byte, offset int64) (int, error) {
	if !b.off {
		if b.left -= int64(len(p)); b.left < 0 {
			return 0, zip.ErrFormat
		}
	}
	return b.r.ReadAt(p, offset)
}
