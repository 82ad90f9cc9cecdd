// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// gzip reads a compressed file: a tar archive, or one file of documents.
func (r *reader) gzip(f *file, in io.Reader) error {
	var packed int64
	gz, err := gzip.NewReader(readFunc(func(p []byte) (int, error) {
		n, err := in.Read(p)
		packed += int64(n)
		if !f.counted {
			r.budget.packed += int64(n)
		}
		return n, err
	}))
	if err != nil {
		return r.cut(f, f.name, err)
	}
	inner := *f
	inner.packed, inner.counted, inner.depth, inner.whole = true, true, f.depth+1, nil
	switch ext := path.Ext(f.file); strings.ToLower(ext) {
	case ".gz":
		inner.file = strings.TrimSuffix(f.file, ext)
	case ".tgz":
		inner.file = strings.TrimSuffix(f.file, ext) + ".tar"
	}
	return r.decompressed(&inner, gz, &packed)
}

// cut records that the rest of a file could not be read.
func (r *reader) cut(f *file, what string, err error) error {
	if r.ended() != nil {
		return r.ended()
	}
	r.gaps.add(what, reason(err), effectRest)
	r.evidence.cuts[f.arg.index] = true
	return nil
}

// tar reads the files of a tar archive. Package tar does not report an archive that is cut between two files. Such an archive lacks the
// zeros at its end.
func (r *reader) tar(f *file, in io.Reader) error {
	zeros := 0 // at the end of what was read
	tr := tar.NewReader(readFunc(func(p []byte) (int, error) {
		if err := r.ended(); err != nil {
			return 0, err
		}
		n, err := in.Read(p)
		if text := len(bytes.TrimRight(p[:n], "\x00")); text > 0 {
			zeros = -text
		}
		zeros += n
		return n, err
	}))
	inner := innerLinks{read: map[string]bool{}, targets: map[string]string{}}
	defer func() { inner.finish(r, f.arg) }()
	for last := "its beginning"; ; {
		h, err := tr.Next()
		switch {
		case errors.Is(err, io.EOF) && zeros >= 512:
			return nil
		case stops(err):
			return err
		case err != nil && !errors.Is(err, tar.ErrInsecurePath): // entry checks the names
			return r.cut(f, f.name+", after "+last, err)
		case h.Typeflag == tar.TypeXGlobalHeader:
			continue
		}
		last = shown(h.Name)
		if h.Typeflag == tar.TypeSymlink && inner.add(h) {
			if err := r.countFile(f.arg); err != nil {
				return r.cut(f, f.name, err)
			}
			continue
		}
		e, err := r.entry(f, h.Name, h.FileInfo().Mode(), h.Typeflag == tar.TypeLink)
		if err != nil {
			return r.cut(f, f.name, err)
		}
		if e != nil {
			inner.read[cleaned(h.Name)] = true
			e.counted = f.counted
			if err := r.read(e, tr); err != nil {
				return err
			}
		}
	}
}

// entry returns a file of an archive, or nil if the file is not read. The error means that there are too many files.
func (r *reader) entry(f *file, name string, mode fs.FileMode, link bool) (*file, error) {
	if mode.IsDir() {
		return nil, nil
	}
	if err := r.countFile(f.arg); err != nil {
		return nil, err
	}
	slashed, clean := strings.ReplaceAll(name, `\`, "/"), cleaned(name)
	refused := -1
	switch {
	case link || mode&fs.ModeSymlink != 0:
		refused = links
	case !mode.IsRegular():
		refused = specialFiles
	case strings.Contains("/"+slashed+"/", "/../") || !filepath.IsLocal(clean):
		refused = outsideNames
	}
	if refused >= 0 {
		f.arg.tallies[refused].add(shown(name))
		r.evidence.cuts[f.arg.index] = true
		return nil, nil
	}
	e := &file{
		r: r, arg: f.arg, archived: true, depth: f.depth + 1,
		name: f.name + ": " + shown(clean), rel: shown(clean), file: path.Base(clean),
		dir: folder{f.arg.index, f.name + "\x00" + path.Dir(clean)},
	}
	if !f.explicit {
		e.rel = f.rel + ": " + e.rel
	}
	if skipped.MatchString(e.file) {
		f.arg.tallies[logs].add(e.rel)
		return nil, nil
	}
	return e, nil
}

// countFile counts a file of a folder or archive.
func (r *reader) countFile(a *argument) error {
	if a.files++; a.files > r.budget.limits.files() {
		return r.tooManyFiles()
	}
	return nil
}

func (r *reader) tooManyFiles() error {
	return &failure{text: fmt.Sprintf("it has more than %d files", r.budget.limits.files())}
}

// zip reads a zip archive. Its list of files is at its end, so an archive from a pipe has to be held in memory.
func (r *reader) zip(f *file, in io.Reader) error {
	at, length := f.whole, f.size
	if at == nil {
		most := r.budget.limits.pipedZip()
		held, err := io.ReadAll(io.LimitReader(in, most+1))
		if err == nil && int64(len(held)) > most {
			err = &failure{text: "a zip archive from a pipe may have at most " + size(most) + "; write it to a file"}
		}
		if err != nil {
			return r.cut(f, f.name, err)
		}
		at, length = bytes.NewReader(held), int64(len(held))
	}
	directory := &boundedAt{at: at, left: r.budget.limits.directory()}
	z, err := zip.NewReader(directory, length)
	switch {
	case directory.left < 0:
		return r.cut(f, f.name, r.tooManyFiles())
	case err != nil && !errors.Is(err, zip.ErrInsecurePath): // entry checks the names
		return r.cut(f, f.name, err)
	}
	directory.left = math.MaxInt64
	if overlap(z.File, length) {
		return r.cut(f, f.name, errOverlap)
	}
	for _, zf := range z.File {
		e, err := r.entry(f, zf.Name, zf.Mode(), false)
		if err != nil {
			return r.cut(f, f.name, err)
		}
		if e != nil {
			if err := r.zipFile(e, zf); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reader) zipFile(e *file, zf *zip.File) error {
	in, err := zf.Open()
	if err != nil {
		e.unreadable(err)
		return nil
	}
	defer closed(in)
	e.counted = true
	packed := int64(zf.CompressedSize64)
	r.budget.packed += packed
	return r.decompressed(e, in, &packed)
}

// boundedAt limits how much is read, because package zip holds an archive's whole list of files in memory.
type boundedAt struct {
	at   io.ReaderAt
	left int64
}

func (b *boundedAt) ReadAt(p []byte, offset int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, zip.ErrFormat
	}
	return b.at.ReadAt(p, offset)
}

// overlap reports whether files of an archive share compressed data. Such a small archive could decompress to any size.
func overlap(files []*zip.File, length int64) bool {
	type span struct{ begin, end int64 }
	var spans []span
	left := uint64(length)
	for _, f := range files {
		if f.CompressedSize64 > left {
			return true
		}
		left -= f.CompressedSize64
		// zf.Open returns the error of DataOffset.
		if begin, err := f.DataOffset(); err == nil && f.CompressedSize64 > 0 {
			spans = append(spans, span{begin, begin + int64(f.CompressedSize64)})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.begin, b.begin) })
	for i := 1; i < len(spans); i++ {
		if spans[i].begin < spans[i-1].end {
			return true
		}
	}
	return false
}
