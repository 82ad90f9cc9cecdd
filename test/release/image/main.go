// SPDX-License-Identifier: Apache-2.0

// Command image makes the image of a release: an OCI layout with one image for each platform, and an index of them. It
// needs no container runtime and no registry. The same archives give the same digest.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	binary = "kubectl-fleetdoctor"
	// license is the licence of the project, and texts has those of the modules that are linked into the binary.
	license = "LICENSE"
	texts   = "THIRD_PARTY_LICENSES.txt"
	// unprivileged is the user of the process. The manifests of the webhook state it too.
	unprivileged = "65532:65532"
	source       = "https://github.com/fleetdoctor/kubectl-fleetdoctor"
)

func main() {
	version := flag.String("version", "", "version of the release")
	created := flag.Int64("created", 0, "time of the commit, in seconds since 1970")
	archives := flag.String("archives", "", "directory of the archives")
	out := flag.String("o", "", "directory of the layout, which must not exist")
	flag.Parse()
	if err := run(*version, time.Unix(*created, 0).UTC(), *archives, *out); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(version string, created time.Time, archives, out string) error {
	if version == "" || archives == "" || out == "" {
		return errors.New("usage: image -version VERSION -created SECONDS -archives DIRECTORY -o DIRECTORY")
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range []string{"amd64", "arm64"} {
		path := fmt.Sprintf("%s/%s_%s_linux_%s.tar.gz", archives, binary, version, arch)
		image, err := platformImage(path, arch, version, created)
		if err != nil {
			return fmt.Errorf("making the image of %s: %w", path, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: "linux",
				Architecture: arch}}})
	}
	index = mutate.Annotations(index, annotations(version, created)).(v1.ImageIndex)
	root, err := layout.Write(out, empty.Index)
	if err != nil {
		return err
	}
	if err := root.AppendIndex(index,
		layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": version})); err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Println(digest)
	return nil
}

// platformImage is an image with the binary of an archive, its licences and the public certificate authorities, and
// nothing else.
func platformImage(archive, arch, version string, created time.Time) (v1.Image, error) {
	content := []file{{"etc/ssl/certs/ca-certificates.crt", 0o644, roots()}}
	for _, f := range []file{{name: binary, mode: 0o755}, {name: license, mode: 0o644}, {name: texts, mode: 0o644}} {
		var err error
		if f.content, err = fromArchive(archive, f.name); err != nil {
			return nil, err
		}
		content = append(content, f)
	}
	files, err := layer(content, created)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.Append(image, mutate.Addendum{Layer: files, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "make release"}}); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: created}
	config.Config = v1.Config{User: unprivileged, Entrypoint: []string{"/" + binary},
		Labels: annotations(version, created)}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, err
	}
	return mutate.Annotations(image, annotations(version, created)).(v1.Image), nil
}

func annotations(version string, created time.Time) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    binary,
		"org.opencontainers.image.version":  version,
		"org.opencontainers.image.created":  created.Format(time.RFC3339),
		"org.opencontainers.image.source":   source,
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
}

// fromArchive returns a file of an archive.
func fromArchive(path, name string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	r := tar.NewReader(z)
	for {
		head, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("the archive has no file %s", name)
		case err != nil:
			return nil, fmt.Errorf("reading %s of the archive: %w", name, err)
		case head.Name == name:
			return io.ReadAll(r)
		}
	}
}

type file struct {
	name    string
	mode    int64
	content []byte
}

func layer(files []file, created time.Time) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: created,
			Format: tar.FormatPAX}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b.Bytes())),
			nil
	},
		tarball.WithMediaType(types.OCILayer))
}

// roots are the certificate authorities of Mozilla's list that have no restriction that a file of certificates cannot
// express.
func roots() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer does not fail
		}
	}
	return b.Bytes()
}
