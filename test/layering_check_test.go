// SPDX-License-Identifier: Apache-2.0

package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// importGraph has the imports of each package. Packages of this module have their path below the module; all
// others have their import path.
type importGraph map[string][]string

// readGraph decodes the output of `go list -json=ImportPath,Imports,Error`. The second result has the packages
// that the go command could not load completely, with the reason.
func readGraph(out []byte) (importGraph, []string, error) {
	graph := importGraph{}
	var faults []string
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
			Error      *struct{ Err string }
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return graph, faults, nil
		} else if err != nil {
			return nil, nil, fmt.Errorf("decoding package: %w", err)
		}
		name := short(p.ImportPath)
		graph[name] = []string{}
		for _, imported := range p.Imports {
			graph[name] = append(graph[name], short(imported))
		}
		if p.Error != nil {
			faults = append(faults, name+": "+p.Error.Err)
		}
	}
}

// short returns the path below the module for a package of this module, and any other import path unchanged.
func short(importPath string) string {
	return strings.TrimPrefix(importPath, module+"/")
}

// own reports whether a path of an importGraph is in this module.
func own(pkg string) bool {
	top, _, _ := strings.Cut(pkg, "/")
	return slices.Contains([]string{"cmd", "manifests", "pkg", "test", "webhook"}, top)
}

// checkLayering returns every import that the table forbids, in the order of the importing packages.
func checkLayering(layers []layer, graph importGraph) []string {
	var wrong []string
	for _, pkg := range slices.Sorted(maps.Keys(graph)) {
		if !own(pkg) {
			continue
		}
		r, _, ok := layerOf(layers, pkg)
		if !ok {
			wrong = append(wrong, pkg+" belongs to no layer: add it to the table in test/layering_test.go, "+
				"and say why in CONTRIBUTING.md")
			continue
		}
		for _, imported := range graph[pkg] {
			if own(imported) && !mayImport(layers, pkg, imported) {
				wrong = append(wrong,
					fmt.Sprintf("%s must not import %s:\n\t%s -> %s\n\tof this module it may import %s",
						pkg, imported, pkg, imported, only(r.may)))
			}
		}
		if chain := shortestPath(graph, pkg, r.never); chain != nil {
			wrong = append(wrong, fmt.Sprintf("%s must not reach %s:\n\t%s",
				pkg, chain[len(chain)-1], strings.Join(chain, " -> ")))
		}
	}
	return wrong
}

// checkTable returns the entries of the table that match no package or are not the name of a layer.
func checkTable(layers []layer, graph importGraph) []string {
	var wrong []string
	packages := slices.Collect(maps.Keys(graph))
	for _, r := range layers {
		for _, pattern := range r.packages {
			if !slices.ContainsFunc(packages, func(pkg string) bool { return matches(pattern, pkg) }) {
				wrong = append(wrong, fmt.Sprintf("the row %s names %s, which matches no package", r.packages[0],
					pattern))
			}
		}
		for _, allowed := range r.may {
			if !slices.ContainsFunc(layers, func(l layer) bool { return l.packages[0] == allowed }) {
				wrong = append(wrong, fmt.Sprintf("the row %s allows %s, which is not a layer", r.packages[0], allowed))
			}
		}
	}
	return wrong
}

// mayImport reports whether the table allows one package of this module to import another. Packages of one layer
// may import each other.
func mayImport(layers []layer, pkg, imported string) bool {
	from, pattern, ok := layerOf(layers, pkg)
	if !ok {
		return false
	}
	to, _, ok := layerOf(layers, imported)
	if !ok {
		return false
	}
	if from.packages[0] == to.packages[0] && !strings.HasSuffix(pattern, "/*") {
		return true
	}
	return slices.Contains(from.may, to.packages[0])
}

// layerOf returns the layer of a package and the pattern that matches it.
func layerOf(layers []layer, pkg string) (layer, string, bool) {
	for _, r := range layers {
		for _, pattern := range r.packages {
			if matches(pattern, pkg) {
				return r, pattern, true
			}
		}
	}
	return layer{}, "", false
}

// matches reports whether a pattern of the table matches a package: `...` at its end matches the package and all
// below it, `*` matches one name.
func matches(pattern, pkg string) bool {
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return within(pkg, below)
	}
	ok, err := path.Match(pattern, pkg)
	return ok && err == nil
}

// shortestPath returns the shortest chain of imports from a package to one of never, or to a package below one of
// never, with both ends; nil if there is none. Of chains with the same length it returns the first in the order of
// the imports.
func shortestPath(graph importGraph, from string, never []string) []string {
	importer := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, imported := range graph[queue[0]] {
			if _, seen := importer[imported]; seen {
				continue
			}
			importer[imported] = queue[0]
			queue = append(queue, imported)
			if !slices.ContainsFunc(never, func(n string) bool { return within(imported, n) }) {
				continue
			}
			var chain []string
			for p := imported; p != ""; p = importer[p] {
				chain = append(chain, p)
			}
			slices.Reverse(chain)
			return chain
		}
	}
	return nil
}

// within reports whether a package is the named one or below it.
func within(pkg, name string) bool {
	return pkg == name || strings.HasPrefix(pkg, name+"/")
}

func only(may []string) string {
	if len(may) == 0 {
		return "nothing"
	}
	return "only " + strings.Join(may, ", ")
}
