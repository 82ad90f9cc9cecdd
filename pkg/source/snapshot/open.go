// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/util/version"
)

// reader is one Open. It reads file after file, so that the same files always give the same snapshot.
type reader struct {
	ended   func() error // the context's Err
	budget  budget
	heads   *headReader
	catalog *catalog
	buffers []*bufio.Reader

	gaps     gaps
	evidence evidence
	store    store
	newest   time.Time
	taken    time.Time        // as the capture itself says
	server   string           // the server's version, as the capture says
	kubelet  *version.Version // the newest of the nodes

	kubeletVersion string // the same as it is written
}

const remedy = "expected Kubernetes objects or Lists in YAML or JSON, in a folder, a file, a .tar, .tar.gz or .zip archive, or standard input (-)"

// Open reads a captured cluster from paths: folders, files, archives, and "-" for stdin. All paths together are one snapshot. Everything
// is read at once, into memory only. What cannot be read is a gap of the snapshot's Description, never an error.
//
// Its errors: the context's; a path that does not exist or is a device; two clusters in one snapshot; nothing at all that is readable.
func Open(ctx context.Context, paths []string, stdin io.Reader, opts ...Option) (*Snapshot, error) {
	r := &reader{ended: ctx.Err, heads: &headReader{dec: jsontext.NewDecoder(&bytes.Buffer{})}, catalog: newCatalog(), evidence: newEvidence()}
	for _, o := range append([]Option{WithLimits(Limits{})}, opts...) {
		o(r)
	}
	if len(paths) == 0 {
		return nil, errors.New("opening snapshot: no path was given; " + remedy)
	}
	used := false // stdin
	for i, p := range paths {
		if p == "-" {
			if used || stdin == nil {
				return nil, errors.New("opening snapshot: standard input can be read once, and only if there is one")
			}
			used = true
		}
		if err := r.path(ctx, i, p, stdin); err != nil {
			return nil, fmt.Errorf("opening snapshot: %w", err)
		}
	}
	if len(r.store.entries) == 0 && len(r.evidence.lists) == 0 {
		hint := ""
		if list := r.gaps.all(); len(list) > 0 {
			hint = fmt.Sprintf(" (%s: %s)", list[0].What, list[0].Reason)
		}
		return nil, fmt.Errorf("opening snapshot: nothing in %s can be read%s; %s", strings.Join(paths, ", "), hint, remedy)
	}
	return r.snapshot(paths), nil
}

// path reads one argument. Its error ends Open.
func (r *reader) path(ctx context.Context, index int, name string, stdin io.Reader) error {
	a := &argument{index: index, name: shown(name)}
	f := &file{r: r, arg: a, name: a.name, rel: filepath.Base(a.name), file: filepath.Base(name), explicit: true}
	f.dir = folder{index, ""}
	err := r.argument(ctx, f, name, stdin)
	if stops(err) && !errors.Is(err, errTwoClusters) && r.ended() == nil {
		err = r.cut(f, a.name, err)
	}
	a.finish(&r.gaps)
	return err
}

func (r *reader) argument(ctx context.Context, f *file, name string, stdin io.Reader) error {
	if name == "-" {
		f.name, f.arg.name, f.rel, f.file = "standard input", "standard input", "standard input", ""
		return r.stream(ctx, f, func() (io.ReadCloser, error) { return io.NopCloser(stdin), nil })
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	mode := info.Mode()
	switch {
	case mode.IsDir():
		return r.folder(f, name)
	case !mode.IsRegular() && mode&fs.ModeNamedPipe == 0:
		return fmt.Errorf("%s is not a file, folder or pipe", f.name)
	}
	if !mode.IsRegular() {
		return r.stream(ctx, f, func() (io.ReadCloser, error) { return os.Open(name) })
	}
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer closed(in)
	f.whole, f.size = in, info.Size()
	return r.read(f, in)
}

// closed closes what was only read. Reading has reported every error that matters.
func closed(c io.Closer) { _ = c.Close() }

// stream reads what may block for ever when it is opened or read, such as a named pipe or a terminal, but not longer than the context.
func (r *reader) stream(ctx context.Context, f *file, open func() (io.ReadCloser, error)) error {
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
	return r.read(f, pr)
}

// folder reads the files of a folder and the folders in it, in the order of their names. Links are not followed, and nothing outside
// the folder is opened, even if the folder changes meanwhile.
func (r *reader) folder(f *file, name string) error {
	root, err := os.OpenRoot(name)
	if err != nil {
		return err
	}
	defer closed(root)
	return fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		e := &file{
			r: r, arg: f.arg, depth: f.depth,
			name: shown(filepath.Join(name, p)), rel: shown(p), file: filepath.Base(p),
			dir: folder{f.arg.index, filepath.Dir(p)},
		}
		switch {
		case r.ended() != nil:
			return r.ended()
		case err != nil:
			e.unreadable(err)
			return nil
		case d.IsDir():
			return nil
		}
		if err := r.countFile(f.arg); err != nil {
			return cmp.Or(r.cut(f, f.name, err), fs.SkipAll)
		}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			f.arg.tallies[links].add(e.rel)
			r.evidence.harmed[e.dir] = true
		case !d.Type().IsRegular():
			f.arg.tallies[specialFiles].add(e.rel)
		case skipped.MatchString(e.file):
			f.arg.tallies[noObjects].add(e.rel)
		default:
			return r.folderFile(root, e, p)
		}
		return nil
	})
}

func (r *reader) folderFile(root *os.Root, e *file, p string) error {
	in, err := root.Open(p)
	if err == nil {
		defer closed(in)
		var info fs.FileInfo
		if info, err = in.Stat(); err == nil && info.Mode().IsRegular() {
			e.whole, e.size = in, info.Size()
			return r.read(e, in)
		}
	}
	e.unreadable(err)
	return nil
}
