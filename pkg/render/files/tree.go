// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// ignoreFile lists, a pattern in a line, what of its directory and those below does not belong to the bundle.
const ignoreFile = ".fleetignore"

// tree collects the files of a bundle: all of the directory but hidden ones, ignored ones, and those that became options.
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

func (t *tree) read() error {
	err := fs.WalkDir(t.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		ignore, err := t.ignores(name, d.IsDir())
		if err != nil {
			return err
		}
		hidden := name != "." && strings.HasPrefix(path.Base(name), ".")
		switch {
		case slices.Contains(t.applied, name):
			return nil
		case d.IsDir() && (ignore || hidden):
			return fs.SkipDir
		case d.IsDir():
			return t.addPatterns(name)
		case ignore || hidden:
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
		return ErrTooLarge
	}
	data, err := readFile(t.root, name, maxBytes-t.size)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	t.size += len(data)
	r, err := resource(name, data)
	if err != nil {
		return err
	}
	t.resources = append(t.resources, r)
	return nil
}

// readFile reads a regular file, or what a link leads to if that is one. A root follows no link out of itself.
func readFile(root *os.Root, name string, limit int) ([]byte, error) {
	info, err := root.Stat(name) // before it is opened: to open a pipe is to wait for its other end
	if err != nil {
		var wrong *fs.PathError
		if errors.As(err, &wrong) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return nil, errors.New("it leads out of the directory, or cannot be followed")
		}
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > limit {
		return nil, ErrTooLarge
	}
	return data, nil
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
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		if p := trailingSpace.ReplaceAllString(lines.Text(), "$1"); p != "" && !strings.HasPrefix(p, "#") {
			i.patterns = append(i.patterns, p)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	t.ignored = append(t.ignored, i)
	return nil
}

// ignores says whether a .fleetignore takes a name out. Patterns match the last part of a path; one that ends in "/*" matches
// directories only.
func (t *tree) ignores(name string, isDir bool) (bool, error) {
	for _, i := range t.ignored {
		// Fleet compares paths as texts: the file of "app" counts in "application" too.
		if i.dir != "." && !strings.HasPrefix(name, i.dir) {
			continue
		}
		for _, p := range i.patterns {
			if at := strings.Index(p, "/*"); at > 0 {
				if isDir && strings.TrimSuffix(p, "/*") == path.Base(name) {
					return true, nil
				}
				continue
			}
			ok, err := path.Match(p, path.Base(name))
			if err != nil {
				return false, fmt.Errorf("%s: a pattern of it is not well formed", path.Join(i.dir, ignoreFile))
			}
			if ok {
				return true, nil
			}
		}
	}
	return false, nil
}
