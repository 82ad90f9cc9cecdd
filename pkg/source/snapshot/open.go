// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bufio"
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

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// reader is one call of Open. It reads one file after the other, so that the same files always give the same snapshot.
type reader struct {
	ended   func() error // the context's Err
	budget  budget
	heads   *headReader
	catalog *catalog
	buffers []*bufio.Reader

	gaps      gaps
	manifests []*Manifest
	// renderings are the results of rendering bundles, by the keys of their bundle deployments.
	renderings map[string]*source.Rendering
	notes      []string
	evidence   evidence
	store      store
	newest     time.Time
	taken      time.Time // that the capture states
	server     string    // the server's version that the capture states
	kubelet    string    // the newest version of a node
}

const remedy = "expected Kubernetes objects or Lists in YAML or JSON, in a folder, a file, a .tar, .tar.gz or .zip archive, or standard input (-)"

// Open reads a captured cluster from paths: folders, files, archives, and "-" for stdin. All paths together are one snapshot, which is held
// in memory. Data that cannot be read is a gap of the snapshot's Description and not an error.
//
// Open returns an error if the context ends, a path does not exist or is a device, the paths have two clusters, or nothing can be read.
func Open(ctx context.Context, paths []string, stdin io.Reader) (*Snapshot, error) {
	return Limits{}.Open(ctx, paths, stdin)
}

// Open reads a captured cluster within these limits.
func (l Limits) Open(ctx context.Context, paths []string, stdin io.Reader) (*Snapshot, error) {
	r := &reader{
		ended: ctx.Err, budget: newBudget(l), heads: newHeadReader(), catalog: newCatalog(),
		evidence: newEvidence(), store: store{byKey: map[object.Key]int{}},
	}
	if len(paths) == 0 {
		return nil, errors.New("opening snapshot: no path was given; " + remedy)
	}
	for i, p := range paths {
		if p == "-" && stdin == nil {
			return nil, errors.New("opening snapshot: standard input can only be read once")
		}
		if err := r.path(ctx, i, p, stdin); err != nil {
			return nil, fmt.Errorf("opening snapshot: %w", err)
		}
		if p == "-" {
			stdin = nil
		}
	}
	if len(r.store.entries) == 0 && len(r.evidence.lists) == 0 && len(r.manifests) == 0 {
		hint := ""
		if list := r.gaps.all(); len(list) > 0 {
			hint = fmt.Sprintf(" (%s: %s)", list[0].What, list[0].Reason)
		} else if len(r.notes) > 0 {
			hint = fmt.Sprintf(" (%s)", r.notes[0])
		}
		return nil, fmt.Errorf("opening snapshot: nothing in %s can be read%s; %s", strings.Join(paths, ", "), hint, remedy)
	}
	return r.snapshot(paths), nil
}

// path reads one argument. The error ends Open.
func (r *reader) path(ctx context.Context, index int, name string, stdin io.Reader) error {
	a := &argument{index: index, name: shown(name)}
	f := &file{r: r, arg: a, name: a.name, rel: filepath.Base(a.name), file: filepath.Base(name), explicit: true}
	f.dir = folder{index, ""}
	err := r.argument(ctx, f, name, stdin)
	if stops(err) && !errors.Is(err, errTwoClusters) && r.ended() == nil {
		err = r.cut(f, a.name, err)
	}
	a.finish(r)
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

// closed closes a file that was only read, so that an error of Close does not matter.
func closed(c io.Closer) { _ = c.Close() }

// stream reads a file that can block when it is opened or read, such as a named pipe or a terminal. It returns when the context ends.
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

// folder reads the files of a folder and its subfolders, sorted by name. It does not follow links and opens no file outside the folder, even
// if the folder changes meanwhile.
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
		case d.Type()&fs.ModeSymlink != 0 && leadsToFile(root, p):
		case d.Type()&fs.ModeSymlink != 0:
			f.arg.tallies[links].add(e.rel)
			r.evidence.harmed[e.dir] = true
		case !d.Type().IsRegular():
			f.arg.tallies[specialFiles].add(e.rel)
		case skipped.MatchString(e.file):
			f.arg.tallies[logs].add(e.rel)
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
