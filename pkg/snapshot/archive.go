// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"time"
)

// root is the folder in the archive, so that it can be unpacked anywhere.
const root = "fleetdoctor-snapshot"

// manifestName is the name of the manifest. It has no extension, so that `kubectl get -f` does not read it.
const manifestName = "MANIFEST"

// archive writes a compressed tar archive, one file after the other.
type archive struct {
	packed *gzip.Writer
	tar    *tar.Writer
	time   time.Time // of all files
}

func newArchive(out io.Writer, at time.Time) *archive {
	packed := gzip.NewWriter(out)
	return &archive{packed: packed, tar: tar.NewWriter(packed), time: at.Truncate(time.Second)}
}

// add writes a file.
func (a *archive) add(name string, text []byte) error {
	header := &tar.Header{Name: path.Join(root, name), Mode: 0o600, Size: int64(len(text)), ModTime: a.time,
		Typeflag: tar.TypeReg}
	if err := a.tar.WriteHeader(header); err != nil {
		return written(err)
	}
	_, err := a.tar.Write(text)
	return written(err)
}

func written(err error) error {
	if err != nil {
		return fmt.Errorf("writing the archive: %w", err)
	}
	return nil
}

// close completes the archive.
func (a *archive) close() error {
	if err := a.tar.Close(); err != nil {
		return written(err)
	}
	return written(a.packed.Close())
}

// fileName is the path of the file of an object. Another snapshot or a server may have any text as a resource.
func fileName(resource, namespace, name string) string {
	if namespace == "" {
		return path.Join(escaped(resource), escaped(name)+".json")
	}
	return path.Join(escaped(resource), escaped(namespace), escaped(name)+".json")
}

// escaped makes a name valid for a file on every system. Other tools, and the reader of snapshots, take a name with the
// word "selector" for a list of selected objects.
func escaped(name string) string {
	name = unsafe.ReplaceAllStringFunc(name, func(s string) string {
		out := ""
		for _, c := range []byte(s) {
			out += fmt.Sprintf("%%%02X", c)
		}
		return out
	})
	return strings.NewReplacer("selector", "%73elector", "Selector", "%53elector").Replace(name)
}

// unsafe matches a character that is not valid in the name of a file on every system.
var unsafe = regexp.MustCompile(`^\.|[^A-Za-z0-9._-]`)
