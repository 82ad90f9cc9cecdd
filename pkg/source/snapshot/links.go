// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"archive/tar"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A link to a file of the same folder or archive loses nothing: the file itself is read. troubleshoot writes such a link for each file of custom
// resources.

// cleaned is the name of a file in an archive, with slashes and without "./" and "//".
func cleaned(name string) string {
	return path.Clean(strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "./"))
}

// innerLinks are the links of a tar archive that may lead to its files.
type innerLinks struct {
	read    map[string]bool   // the names of the files that were read
	targets map[string]string // by the names of the links
}

// add reports whether a link may lead to a file of the archive.
func (l *innerLinks) add(h *tar.Header) bool {
	target := path.Join(path.Dir(cleaned(h.Name)), h.Linkname)
	if path.IsAbs(h.Linkname) || !filepath.IsLocal(target) || !filepath.IsLocal(cleaned(h.Name)) {
		return false
	}
	l.targets[cleaned(h.Name)] = target
	return true
}

// finish counts the links whose files were not read.
func (l *innerLinks) finish(r *reader, a *argument) {
	for _, name := range slices.Sorted(maps.Keys(l.targets)) {
		if !l.read[l.targets[name]] {
			a.tallies[links].add(shown(name))
			r.evidence.cuts[a.index] = true
		}
	}
}

// leadsToFile reports whether a link in a folder leads to a file of the folder.
func leadsToFile(root *os.Root, name string) bool {
	target, err := root.Readlink(name)
	if err != nil || filepath.IsAbs(target) {
		return false
	}
	joined := filepath.Join(filepath.Dir(name), target)
	if !filepath.IsLocal(joined) {
		return false
	}
	info, err := root.Lstat(joined)
	return err == nil && info.Mode()&fs.ModeType == 0
}
