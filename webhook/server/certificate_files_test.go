// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// TestFiles replaces a certificate like the kubelet: it replaces a symbolic link.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	end := time.Now().Add(time.Hour)
	if _, err := newCertificateFiles(dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, CertName)) {
		t.Errorf("no files: got error %v", err)
	}
	mount(t, dir, "v1", newPair(t, 1, end))
	f, err := newCertificateFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	failures := f.Failures()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Start(ctx) }()
	if got := serial(f); got != 1 {
		t.Errorf("got certificate %d, want the first", got)
	}
	if leaf, err := leafOf(f); err != nil || leaf.NotAfter.Unix() != end.Unix() {
		t.Errorf("expiry: got %v, %v, want %v", leaf, err, end)
	}
	mount(t, dir, "v2", newPair(t, 2, end))
	poll.True(t, "the second certificate", func() bool { return serial(f) == 2 })
	unusable := newPair(t, 3, end)
	unusable.private = newPair(t, 4, end).private
	mount(t, dir, "v3", unusable)
	poll.True(t, "a failure", func() bool { return f.Failures() > failures })
	if got := serial(f); got != 2 {
		t.Errorf("an unusable pair: got certificate %d, want the second", got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// mount writes a pair into a new directory, and makes the symbolic link "data" point to it.
func mount(t *testing.T, dir, version string, p pair) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{CertName: p.public, KeyName: p.private} {
		if err := os.WriteFile(filepath.Join(dir, version, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(dir, name)
		if _, err := os.Lstat(link); err != nil {
			if err := os.Symlink(filepath.Join("data", name), link); err != nil {
				t.Fatal(err)
			}
		}
	}
	before, none := filepath.EvalSymlinks(filepath.Join(dir, "data"))
	if err := os.Symlink(version, filepath.Join(dir, "next")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "data")); err != nil {
		t.Fatal(err)
	}
	if none == nil {
		if err := os.RemoveAll(before); err != nil {
			t.Fatal(err)
		}
	}
}
