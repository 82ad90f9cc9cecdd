// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// added has the licences of module versions that do not contain one, in a directory PATH@VERSION. The file is from a
// later commit of the same repository:
//   - github.com/openreports/reports-api: commit 302c810, which has the same Go code as v0.2.1
//
//go:embed texts
var added embed.FS

// legalFile matches the names of files with conditions of use, such as LICENSE-MIT and License.txt. A licence is one of
// them that is not only a notice or a grant of patents.
var (
	legalFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)
	licence   = regexp.MustCompile(`(?i)^(licen[cs]e|copying)[^/]*$`)
)

// text is a file, named by its path in its module.
type text struct {
	file    string
	content []byte
}

// texts returns the legal files of a module: those of its root, and those of the directories above each linked package,
// because code that was copied from elsewhere keeps its licence beside it.
func texts(m module) ([]text, error) {
	directories := []string{m.root}
	for _, dir := range m.packages {
		for ; strings.HasPrefix(dir, m.root+string(filepath.Separator)); dir = filepath.Dir(dir) {
			directories = append(directories, dir)
		}
	}
	slices.Sort(directories)
	var found []text
	for _, dir := range slices.Compact(directories) {
		name, err := filepath.Rel(m.root, dir)
		if err != nil {
			return nil, err
		}
		inDir, err := legal(os.DirFS(dir), filepath.ToSlash(name))
		if err != nil {
			return nil, err
		}
		found = append(found, inDir...)
	}
	if hasLicence(found) {
		return found, nil
	}
	addition := path.Join("texts", m.path+"@"+m.version)
	sub, err := fs.Sub(added, addition)
	if err != nil {
		return nil, err
	}
	inAdded, err := legal(sub, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no licence file: use a version with one, or add that of its repository "+
			"as test/licenses/%s/LICENSE", m, addition)
	}
	return append(inAdded, found...), err
}

// hasLicence returns whether a licence is among the files of the root.
func hasLicence(found []text) bool {
	return slices.ContainsFunc(found, func(t text) bool { return licence.MatchString(t.file) })
}

// legal reads the legal files of a directory, which has a name in its module.
func legal(dir fs.FS, name string) ([]text, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, err
	}
	var found []text
	for _, e := range entries {
		if !e.Type().IsRegular() || !legalFile.MatchString(e.Name()) || path.Ext(e.Name()) == ".go" {
			continue
		}
		content, err := fs.ReadFile(dir, e.Name())
		if err != nil {
			return nil, err
		}
		found = append(found, text{file: path.Join(name, e.Name()), content: content})
	}
	return found, nil
}

const (
	introduction = "kubectl-fleetdoctor contains the Go modules that are named here. " +
		"Each text applies to the files above it.\n"
	separator = "\n" +
		"================================================================================\n"
)

// document writes each text once, below the names of the files that have it: module, version and path.
func document(modules []module) ([]byte, error) {
	files := map[string][]string{}
	var order []string
	for _, m := range modules {
		found, err := texts(m)
		if err != nil {
			return nil, err
		}
		for _, t := range found {
			content := string(t.content)
			if files[content] == nil {
				order = append(order, content)
			}
			files[content] = append(files[content], m.String()+" "+t.file)
		}
	}
	var out bytes.Buffer
	out.WriteString(introduction)
	for _, content := range order {
		out.WriteString(separator + strings.Join(files[content], "\n") + "\n\n" + content)
		if !strings.HasSuffix(content, "\n") {
			out.WriteByte('\n')
		}
	}
	return out.Bytes(), nil
}
