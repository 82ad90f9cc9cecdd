// SPDX-License-Identifier: Apache-2.0

package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxOperators is the number of boolean operators in an expression that can be read at once.
const maxOperators = 2

// TestConditions requires that a condition with more than two boolean operators is a named predicate, or several early
// returns.
func TestConditions(t *testing.T) {
	checked := 0
	for _, dir := range []string{"cmd", "manifests", "pkg", "webhook"} {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			checked++
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			for _, at := range longConditions(file) {
				t.Errorf("%s: more than %d boolean operators: name a part of the condition, or return early",
					files.Position(at), maxOperators)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked == 0 {
		t.Error("no file was checked")
	}
}

// TestLongConditions checks which expressions are too long.
func TestLongConditions(t *testing.T) {
	for expression, want := range map[string]int{
		"a && b || c":                           0,
		"a && b || c && d":                      1,
		"a && !(b || c && d)":                   1,
		"a && f(b && c) && d":                   0,
		"f(func() bool { return a && b && c })": 0,
	} {
		e, err := parser.ParseExpr(expression)
		if err != nil {
			t.Fatal(err)
		}
		if got := longConditions(e); len(got) != want {
			t.Errorf("%s: %d expressions, want %d", expression, len(got), want)
		}
	}
}

// longConditions returns where the expressions with too many boolean operators begin.
func longConditions(n ast.Node) []token.Pos {
	var out []token.Pos
	inner := map[ast.Expr]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok || inner[e] {
			return true
		}
		if operators(e, inner) > maxOperators {
			out = append(out, e.Pos())
		}
		return true
	})
	return out
}

// operators counts the boolean operators of an expression, and marks its parts.
func operators(e ast.Expr, parts map[ast.Expr]bool) int {
	switch e := e.(type) {
	case *ast.ParenExpr:
		parts[e.X] = true
		return operators(e.X, parts)
	case *ast.UnaryExpr:
		parts[e.X] = true
		return operators(e.X, parts)
	case *ast.BinaryExpr:
		if e.Op != token.LAND && e.Op != token.LOR {
			return 0
		}
		parts[e.X], parts[e.Y] = true, true
		return 1 + operators(e.X, parts) + operators(e.Y, parts)
	}
	return 0
}
