// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// textsName is the name of the file in an archive and in the image.
const textsName = "THIRD_PARTY_LICENSES.txt"

// TestRelease makes the licence texts, the SBOM and the image of a binary with the programs that make a release. The
// texts are of the modules in the SBOM, and the image has them.
func TestRelease(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "binary")
	if _, err := command(nil, "build", "-o", binary, program); err != nil {
		t.Fatal(err)
	}
	file, sbom := filepath.Join(dir, textsName), filepath.Join(dir, "sbom.json")
	if err := run(file, binary); err != nil {
		t.Fatal(err)
	}
	if _, err := command(nil, "run", "-C", "../release", "./sbom", "-version", "v1.2.3", "-o", sbom,
		binary); err != nil {
		t.Fatal(err)
	}
	content := read(t, file)
	if diff := cmp.Diff(components(t, sbom), modulesOf(string(content))); diff != "" {
		t.Errorf("modules (-SBOM +licence texts):\n%s", diff)
	}

	files := map[string][]byte{"kubectl-fleetdoctor": []byte("program"), "LICENSE": []byte("licence"),
		textsName: content}
	for _, arch := range []string{"amd64", "arm64"} {
		archive(t, filepath.Join(dir, "kubectl-fleetdoctor_v1.2.3_linux_"+arch+".tar.gz"), files)
	}
	layout := filepath.Join(dir, "image")
	args := []string{"run", "-C", "../release", "./image", "-version", "v1.2.3", "-archives", dir, "-o", layout}
	if _, err := command(nil, args...); err != nil {
		t.Fatal(err)
	}
	layers := 0
	for _, blob := range glob(t, filepath.Join(layout, "blobs", "sha256", "*")) {
		got := unpack(read(t, blob))
		if got == nil {
			continue // a manifest or a configuration
		}
		layers++
		for name, want := range files {
			if !bytes.Equal(got[name], want) {
				t.Errorf("layer %s: %s is not that of the archive", filepath.Base(blob), name)
			}
		}
	}
	if layers == 0 {
		t.Error("the image has no layer")
	}
}

// TestImageNeedsTexts checks that no image is made of an archive without the texts.
func TestImageNeedsTexts(t *testing.T) {
	dir := t.TempDir()
	for _, arch := range []string{"amd64", "arm64"} {
		archive(t, filepath.Join(dir, "kubectl-fleetdoctor_v1.2.3_linux_"+arch+".tar.gz"),
			map[string][]byte{"kubectl-fleetdoctor": []byte("program"), "LICENSE": []byte("licence")})
	}
	layout := filepath.Join(dir, "image")
	args := []string{"run", "-C", "../release", "./image", "-version", "v1.2.3", "-archives", dir, "-o", layout}
	const want = "kubectl-fleetdoctor_v1.2.3_linux_amd64.tar.gz: the archive has no file THIRD_PARTY_LICENSES.txt"
	if _, err := command(nil, args...); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	if found := glob(t, layout); len(found) > 0 {
		t.Error("an image was made")
	}
}

// TestArchives checks that every archive of a release has the licence and the texts.
func TestArchives(t *testing.T) {
	config := string(read(t, "../../.goreleaser.yaml"))
	for _, want := range []string{"- src: LICENSE\n",
		"- src: dist/licenses/{{ .Os }}_{{ .Arch }}/" + textsName + "\n",
		"- cmd: go run ./test/licenses -o dist/licenses/{{ .Os }}_{{ .Arch }}/" + textsName + " {{ .Path }}\n",
	} {
		if !strings.Contains(config, want) {
			t.Errorf(".goreleaser.yaml does not contain %s", want)
		}
	}
}

// TestDockerfile checks that the base of each stage cannot change, and that the last one has the licence and the texts.
func TestDockerfile(t *testing.T) {
	dockerfile := string(read(t, "../../Dockerfile"))
	pinned := regexp.MustCompile(`^FROM (scratch|\S+@sha256:[0-9a-f]{64})( AS \S+)?$`)
	var last []string
	for line := range strings.Lines(dockerfile) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "FROM "):
			last = nil
			if !pinned.MatchString(line) {
				t.Errorf("the base is not pinned by digest: %s", line)
			}
		case strings.HasPrefix(line, "COPY "):
			last = append(last, line[strings.LastIndex(line, " ")+1:])
		}
	}
	for _, want := range []string{"/LICENSE", "/" + textsName} {
		if !slices.Contains(last, want) {
			t.Errorf("the last stage does not copy %s", want)
		}
	}
}

// components lists the modules of an SBOM.
func components(t *testing.T, sbom string) []string {
	t.Helper()
	var document struct {
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(read(t, sbom), &document); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range document.Components {
		names = append(names, c.Name+" "+c.Version)
	}
	slices.Sort(names)
	return names
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// archive writes an archive as a release has it.
func archive(t *testing.T, file string, files map[string][]byte) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []io.Closer{w, z} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// unpack returns the files of an archive, and nil for data that is none.
func unpack(data []byte) map[string][]byte {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			return files
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return files
		}
		files[h.Name] = content
	}
}
