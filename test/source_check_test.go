// SPDX-License-Identifier: Apache-2.0

package test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	licenceLine = "// SPDX-License-Identifier: Apache-2.0"
	maxLines    = 450 // of a Go file, except tests and generated files
	maxMain     = 60  // of main, which must not contain logic
	mainPackage = "cmd/kubectl-fleetdoctor"
)

// vagueNames are package names that do not describe a content.
var vagueNames = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared"}

// pureImports are packages for files, processes, network, logs and randomness. A pure layer may reach them through
// a library but must not import them. (Of net, only parts: net/url only parses.)
var pureImports = []string{
	"crypto/rand", "io/ioutil", "k8s.io/klog/...", "log/...", "math/rand/...", "net", "net/http/...", "net/rpc/...",
	"os/...", "runtime/...", "syscall", "unsafe",
}

// names are names that files must not mention, by the import path of their package. A mention is sufficient,
// because a function value can be called later.
type names map[string][]string

// rootNames are the streams and the exit status, which main passes down.
var rootNames = names{
	"fmt": {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
	"os":  {"Exit", "Stderr", "Stdin", "Stdout"},
}

// pureNames are the clock. A pure layer has the time at which the data was read.
var pureNames = names{
	"time": {"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"},
}

// checkSource returns the violations in one Go file, given by its path below the module, except for imports of the
// module.
func checkSource(layers []layer, file string, src []byte) []string {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	r, _, ok := layerOf(layers, path.Dir(file))
	if !ok {
		return []string{file + ": its package belongs to no layer: add it to the table in test/layering_test.go"}
	}
	wrong := slices.Concat(checkForm(file, src, parsed), checkNoLint(fset, parsed))
	if strings.HasSuffix(file, "_test.go") {
		return wrong
	}
	if strings.HasPrefix(file, "pkg/") {
		wrong = append(wrong, checkNames(fset, parsed, rootNames, "it must be passed down from main")...)
	}
	if r.pure || slices.Contains(r.pureFiles, path.Base(file)) {
		wrong = append(wrong, checkPure(fset, parsed)...)
	}
	return wrong
}

// checkForm checks every file: the licence line, its size, and the name of its package.
func checkForm(file string, src []byte, parsed *ast.File) []string {
	generated := ast.IsGenerated(parsed)
	var wrong []string
	licensed := bytes.HasPrefix(src, []byte(licenceLine+"\n\n"))
	if generated { // A generator may put its own line first.
		licensed = bytes.Contains(src[:parsed.Package-parsed.FileStart], []byte(licenceLine+"\n"))
	}
	if !licensed {
		wrong = append(wrong, fmt.Sprintf("%s: does not begin with %q and an empty line", file, licenceLine))
	}
	for _, name := range []string{strings.TrimSuffix(parsed.Name.Name, "_test"), path.Base(path.Dir(file))} {
		if slices.Contains(vagueNames, name) {
			wrong = append(wrong, fmt.Sprintf("%s: the package name %s does not describe its content", file, name))
			break
		}
	}
	if generated || strings.HasSuffix(file, "_test.go") {
		return wrong
	}
	limit := maxLines
	if path.Dir(file) == mainPackage {
		limit = maxMain
	}
	if n := bytes.Count(src, []byte("\n")); n > limit {
		wrong = append(wrong, fmt.Sprintf("%s: has %d lines, more than %d", file, n, limit))
	}
	return wrong
}

// checkNoLint refuses //nolint comments. Exceptions are in .golangci.yaml, with a reason.
func checkNoLint(fset *token.FileSet, parsed *ast.File) []string {
	var wrong []string
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//nolint") {
				wrong = append(wrong, fmt.Sprintf("%s: silences a linter", fset.Position(c.Pos())))
			}
		}
	}
	return wrong
}

// checkPure checks a file of a pure layer: no package of pureImports, no clock, no goroutine.
func checkPure(fset *token.FileSet, parsed *ast.File) []string {
	var wrong []string
	for _, spec := range parsed.Imports {
		imported := importPath(spec)
		if slices.ContainsFunc(pureImports, func(p string) bool { return matches(p, imported) }) {
			wrong = append(wrong, fmt.Sprintf("%s: a pure layer imports %s", fset.Position(spec.Pos()), imported))
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if g, ok := n.(*ast.GoStmt); ok {
			wrong = append(wrong, fmt.Sprintf("%s: a pure layer starts a goroutine", fset.Position(g.Pos())))
		}
		return true
	})
	return append(wrong, checkNames(fset, parsed, pureNames, "a pure layer has no clock")...)
}

// checkNames returns every mention of a forbidden name, under any local name of its package, with the reason.
func checkNames(fset *token.FileSet, parsed *ast.File, forbidden names, why string) []string {
	imports := map[string]string{}
	for _, spec := range parsed.Imports {
		imported := importPath(spec)
		local := path.Base(imported)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		imports[local] = imported
	}
	var wrong []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := selector.X.(*ast.Ident); ok && slices.Contains(forbidden[imports[x.Name]], selector.Sel.Name) {
			wrong = append(wrong, fmt.Sprintf("%s: mentions %s.%s: %s", fset.Position(selector.Pos()),
				imports[x.Name], selector.Sel.Name, why))
		}
		return true
	})
	return wrong
}

// importPath returns the path of an import. The parser has checked that it is a string.
func importPath(spec *ast.ImportSpec) string {
	imported, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return imported
}
