// SPDX-License-Identifier: Apache-2.0

// Package golden compares the output of tests with files.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// Updating reports whether the tests write the files that they compare with.
func Updating() bool { return *update }

// Compare compares a text with its golden file in testdata. With the flag -update, it writes the file.
func Compare(t *testing.T, name, got string) {
	t.Helper()
	CompareAs(t, name, got, func(s string) string { return s })
}

// CompareAs compares only the part of both texts that a function returns.
func CompareAs(t *testing.T, name, got string, part func(string) string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(part(string(want)), "\n"), strings.Split(part(got), "\n")); diff != "" {
		t.Errorf("%s (-want +got), see also -update:\n%s", name, diff)
	}
}

// Sections are the texts of one golden file. A document has one file, not one for each of its formats and widths, so
// that a change of its layout is read in one place.
type Sections struct{ all strings.Builder }

// Add appends a text.
func (s *Sections) Add(title, text string) {
	s.all.WriteString("=== " + title + "\n" + text)
	if !strings.HasSuffix(text, "\n") {
		s.all.WriteString("(no line end)\n")
	}
}

// Compare compares all texts with one golden file.
func (s *Sections) Compare(t *testing.T, name string) {
	t.Helper()
	Compare(t, name, s.all.String())
}
