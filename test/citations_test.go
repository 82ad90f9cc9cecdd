// SPDX-License-Identifier: Apache-2.0

package test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCitations checks that every section of docs/fleet-behavior.md that a comment, a page or a test case cites
// exists.
func TestCitations(t *testing.T) {
	const page = "docs/fleet-behavior.md"
	root := os.DirFS("..")
	text, err := fs.ReadFile(root, page)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^###? (\d(?:\.\d+)?)\.? `).FindAllStringSubmatch(string(text), -1) {
		if sections[m[1]] {
			t.Errorf("%s has section %s twice", page, m[1])
		}
		sections[m[1]] = true
	}
	citation := regexp.MustCompile(regexp.QuoteMeta(page) + `, \d(?:\.\d+)?\b(?:(?:, | and | to |; )\d\.\d+\b)*`)
	number := regexp.MustCompile(`\b\d(?:\.\d+)?\b`)
	cited := 0
	err = fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || file == "bin"):
			return fs.SkipDir
		case d.IsDir() || file == page || !slices.Contains([]string{".go", ".md", ".yaml"}, path.Ext(file)):
			return nil
		}
		src, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		for _, c := range citation.FindAllString(string(src), -1) {
			for _, n := range number.FindAllString(strings.TrimPrefix(c, page), -1) {
				cited++
				if !sections[n] {
					t.Errorf("%s cites section %s of %s, which does not exist", file, n, page)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if cited == 0 {
		t.Error("no citation found")
	}
}
