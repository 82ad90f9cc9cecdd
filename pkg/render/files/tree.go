// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"

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

// bundleFileNames are the names of a fleet.yaml. The first one that exists is read.
var bundleFileNames = []string{"fleet.yaml", "fleet.yml"}

// bundleDirs returns the directories of which fleet apply makes bundles, in the order in which it walks them.
func bundleDirs(root *os.Root) ([]string, error) {
	var out []string
	n := 0
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if n++; err != nil || n > maxFiles {
			return errors.Join(err, tooMany(n))
		}
		if !d.IsDir() {
			return nil
		}
		if d.Name() == ".git" {
			return fs.SkipDir
		}
		is := hasBundleFile(root, name)
		if name == "." && !is {
			is, err = hasOtherManifest(root, name)
		}
		if is {
			out = append(out, name)
		}
		return err
	})
	return out, err
}

func tooMany(n int) error {
	if n > maxFiles {
		return errTooLarge
	}
	return nil
}

func hasBundleFile(root *os.Root, dir string) bool {
	return slices.ContainsFunc(bundleFileNames, func(name string) bool {
		_, err := root.Stat(path.Join(dir, name))
		return err == nil
	})
}

// hasOtherManifest reports whether a directory has a YAML file that is not in the directory of another fleet.yaml.
func hasOtherManifest(root *os.Root, dir string) (bool, error) {
	if hasBundleFile(root, dir) {
		return false, nil
	}
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		found := path.Ext(e.Name()) == ".yaml" || path.Ext(e.Name()) == ".yml"
		if e.IsDir() {
			if found, err = hasOtherManifest(root, path.Join(dir, e.Name())); err != nil {
				return false, err
			}
		}
		if found {
			return true, nil
		}
	}
	return false, nil
}

// keys are the keys of a map that Fleet reads. A key with nil may have any value.
type keys map[string]keys

// knownKeys are the keys of a fleet.yaml. Each version of Fleet ignores the keys of other versions, as it ignores all
// unknown keys.
var knownKeys = sync.OnceValue(func() keys {
	known := keysOf(reflect.TypeFor[FleetYAML]())
	known["annotations"] = nil // read with name and labels as metadata
	return known
})

// keysOf returns the keys of a struct, of what a pointer points to, and of the entries of a list; nil for other types.
func keysOf(t reflect.Type) keys {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	out := keys{}
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			out[name] = keysOf(field.Type)
		}
	}
	return out
}

// unknownKeys returns a note for each key of a fleet.yaml that Fleet ignores, with the line.
func unknownKeys(file string, root *yaml.Node) []string {
	var out []string
	walk(root, "", knownKeys(), func(path string, n *yaml.Node, meant string) {
		note := fmt.Sprintf("%s, line %d: Fleet does not know the key %s and ignores it", file, n.Line, path)
		if meant != "" {
			note += ": it knows " + meant
		}
		out = append(out, note)
	})
	return out
}

// walk reports the unknown keys of a map, of the maps in it and of those in its lists. Fleet ignores the case of keys.
func walk(n *yaml.Node, path string, known keys, report func(path string, n *yaml.Node, meant string)) {
	if n.Kind == yaml.SequenceNode {
		for i, entry := range n.Content {
			walk(entry, fmt.Sprintf("%s[%d]", path, i), known, report)
		}
		return
	}
	for key, value := range pairs(n) {
		place := strings.TrimPrefix(path+"."+key.Value, ".")
		found := key.Tag == "!!merge"
		for name, below := range known {
			if strings.EqualFold(name, key.Value) {
				if found = true; below != nil {
					walk(value, place, below, report)
				}
			}
		}
		if !found {
			report(place, key, nearest(key.Value, known))
		}
	}
}

// mostEdits is the number of letters in which a key may differ from the one that was meant.
const mostEdits = 2

// nearest returns the known key that differs in a few letters from one that is not known; empty without one.
func nearest(word string, known keys) string {
	for _, name := range slices.Sorted(maps.Keys(known)) {
		edits := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(name))
		if edits <= mostEdits && edits < len(name) {
			return name
		}
	}
	return ""
}

// lineOfField returns the line of a field, given by its path in an error of encoding/json: "helm.chart". It returns 0
// if the field is not found.
func lineOfField(n *yaml.Node, path string) int {
	name, rest, _ := strings.Cut(path, ".")
	for key, value := range pairs(n) {
		if strings.EqualFold(key.Value, name) {
			return max(key.Line, lineOfField(value, rest))
		}
	}
	return 0
}

// pairs yields the keys and values of a map, and nothing for other nodes.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// linesOfList returns the lines of the entries of a list, given by its key; nil if it is not found.
func linesOfList(n *yaml.Node, name string) []int {
	for key, value := range pairs(n) {
		if strings.EqualFold(key.Value, name) {
			var out []int
			for _, entry := range value.Content {
				out = append(out, entry.Line)
			}
			return out
		}
	}
	return nil
}
