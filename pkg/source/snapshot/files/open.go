// SPDX-License-Identifier: Apache-2.0

// Package files reads the documents of a snapshot: the YAML and JSON documents in folders, files, archives and standard
// input. It writes nothing to disk, no error or gap quotes a document, and the cost of a hostile archive is limited.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

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
	return g.reader.read(f, &onDisk{Reader: g.Budget.reader(in), at: in, size: info.Size()})
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
