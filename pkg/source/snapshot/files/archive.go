// SPDX-License-Identifier: Apache-2.0

package files

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"strings"
)

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
func readZip(b *Budget, at io.ReaderAt, length int64, v visit) error {
	directory := &boundedAt{at: at, left: b.object()}
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
	at   io.ReaderAt
	left int64
}

func (b *boundedAt) ReadAt(p []byte, offset int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, zip.ErrFormat
	}
	return b.at.ReadAt(p, offset)
}
