// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// ignoreFile is the name of a file with patterns, one in a line, for files of its directory and below that do not
// belong to the bundle.
const ignoreFile = ".fleetignore"

// tree collects the files of a bundle: all files of the directory, except hidden ones, ignored ones, and those that are
// part of the options (applied).
type tree struct {
	root      *os.Root
	applied   []string
	ignored   []ignored
	resources []v1alpha1.BundleResource
	size      int
}

// ignored are the patterns of one .fleetignore.
type ignored struct {
	dir      string
	patterns []string
}

// maxBytes and maxFiles limit the files of a directory.
const (
	maxBytes = 64 << 20
	maxFiles = 50_000
)

var errTooLarge = errors.New("the directory has more than 64 MiB or more than 50,000 files")

func (t *tree) read() error {
	err := fs.WalkDir(t.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		ignore, err := t.ignores(name, d.IsDir())
		if err != nil {
			return err
		}
		ignore = ignore || name != "." && strings.HasPrefix(path.Base(name), ".")
		switch {
		case slices.Contains(t.applied, name):
			return nil
		case d.IsDir() && ignore:
			return fs.SkipDir
		case d.IsDir():
			return t.addPatterns(name)
		case ignore:
			return nil
		}
		return t.add(name)
	})
	if err != nil {
		return fmt.Errorf("reading bundle directory: %w", err)
	}
	slices.SortFunc(t.resources, func(a, b v1alpha1.BundleResource) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

func (t *tree) add(name string) error {
	if len(t.resources) >= maxFiles {
		return errTooLarge
	}
	data, err := readFile(t.root, name, maxBytes-t.size)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	t.size += len(data)
	r, err := encode(name, data)
	t.resources = append(t.resources, r)
	return err
}

// encode returns a file as Fleet stores it: text is stored unchanged.
func encode(name string, data []byte) (v1alpha1.BundleResource, error) {
	if utf8.Valid(data) {
		return v1alpha1.BundleResource{Name: name, Content: string(data)}, nil
	}
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, err := z.Write(data)
	if err = errors.Join(err, z.Close()); err != nil {
		return v1alpha1.BundleResource{}, fmt.Errorf("packing %s: %w", name, err)
	}
	return v1alpha1.BundleResource{Name: name, Content: base64.StdEncoding.EncodeToString(buf.Bytes()),
		Encoding: "base64+gz"}, nil
}

// readFile reads a regular file, also through a symbolic link. A root does not follow a link that leaves it.
func readFile(root *os.Root, name string, limit int) ([]byte, error) {
	info, err := root.Stat(name) // before it is opened, because opening a pipe would block
	if _, ok := errors.AsType[*fs.PathError](err); ok && !errors.Is(err, fs.ErrNotExist) &&
		!errors.Is(err, fs.ErrPermission) {
		return nil, errors.New("it is a link that leaves the directory or cannot be followed")
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(data) > limit {
		err = errTooLarge
	}
	return data, err
}

var trailingSpace = regexp.MustCompile(`([^\\])\s+$`)

func (t *tree) addPatterns(dir string) error {
	name := path.Join(dir, ignoreFile)
	data, err := readFile(t.root, name, maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	i := ignored{dir: dir}
	for line := range strings.Lines(string(data)) {
		if p := trailingSpace.ReplaceAllString(strings.TrimRight(line, "\r\n"), "$1"); p != "" && p[0] != '#' {
			i.patterns = append(i.patterns, p)
		}
	}
	t.ignored = append(t.ignored, i)
	return nil
}

// ignores reports whether a .fleetignore excludes a path. Patterns match the last part of the path. A pattern that ends
// in "/*" matches only directories.
func (t *tree) ignores(name string, isDir bool) (bool, error) {
	for _, i := range t.ignored {
		// Fleet compares the text of paths, so the file in "app" also applies to "application".
		if i.dir != "." && !strings.HasPrefix(name, i.dir) {
			continue
		}
		for _, p := range i.patterns {
			var ok bool
			var err error
			if strings.Index(p, "/*") > 0 {
				ok = isDir && strings.TrimSuffix(p, "/*") == path.Base(name)
			} else {
				ok, err = path.Match(p, path.Base(name))
			}
			if err != nil {
				return false, fmt.Errorf("%s: it has an invalid pattern", path.Join(i.dir, ignoreFile))
			}
			if ok {
				return true, nil
			}
		}
	}
	return false, nil
}
