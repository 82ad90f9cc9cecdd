// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

var (
	limitName = regexp.MustCompile(`^[mM]ax[A-Z]\w*$|(Limit|Timeout)$`)
	limitRow  = regexp.MustCompile("(?m)^\\| .* \\| ([^|]+) \\| [^|]+ \\| [^|]*\\| `([\\w/.]+)` \\|$")
)

// TestLimits checks that docs/internals/limits.md has a row with the value of each constant of the program whose name
// says that it is a limit, and of no other.
func TestLimits(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "internals", "limits.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, m := range limitRow.FindAllStringSubmatch(string(page), -1) {
		documented[m[2]] = m[1]
	}
	limits := declaredLimits(t)
	if len(limits) == 0 {
		t.Fatal("the program has no limit")
	}
	for name, value := range limits {
		if documented[name] != value {
			t.Errorf("docs/internals/limits.md has the value %q for `%s`, which is %s", documented[name], name, value)
		}
	}
	for name := range documented {
		if limits[name] == "" {
			t.Errorf("docs/internals/limits.md has a row for `%s`, which is not a limit of the program", name)
		}
	}
}

// declaredLimits returns the values of the limits of the program, by "directory.constant".
func declaredLimits(t *testing.T) map[string]string {
	t.Helper()
	limits := map[string]string{}
	for _, dir := range []string{"cmd", "manifests", "pkg", "webhook"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry os.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			in, err := filepath.Rel(root, path)
			for name, value := range limitsOf(t, path) {
				limits[filepath.ToSlash(in)+"."+name] = value
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return limits
}

// limitsOf returns the values of the limits that the package in a directory declares.
func limitsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]ast.Expr{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if g, ok := n.(*ast.GenDecl); ok && g.Tok == token.CONST {
				for _, spec := range g.Specs {
					v, _ := spec.(*ast.ValueSpec)
					for i := range v.Values {
						declared[v.Names[i].Name] = v.Values[i]
					}
				}
			}
			return true
		})
	}
	limits := map[string]string{}
	for name, expression := range declared {
		if value := shownLimit(expression, declared); limitName.MatchString(name) && value != "" {
			limits[name] = value
		}
	}
	return limits
}

// units are the units of time that limits are declared in.
var units = map[string]time.Duration{"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute,
	"Hour": time.Hour}

// shownLimit returns the value of a limit for people: a time, a size if the expression has a shift, or a number. It is
// empty for a text that is no time, such as a reason.
func shownLimit(expression ast.Expr, declared map[string]ast.Expr) string {
	isTime, isSize := false, false
	ast.Inspect(expression, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			isTime = units[n.Sel.Name] > 0
			return false // its name is one of another package
		case *ast.Ident:
			if of := declared[n.Name]; of != nil && strings.Contains(shownLimit(of, declared), " ") {
				isTime = true
			}
		case *ast.BinaryExpr:
			isSize = isSize || n.Op == token.SHL
		}
		return true
	})
	value := evaluated(expression, declared)
	switch {
	case value.Kind() == constant.String:
		d, err := time.ParseDuration(constant.StringVal(value))
		if err != nil {
			return ""
		}
		return shownTime(d)
	case value.Kind() != constant.Int:
		return ""
	}
	n, _ := constant.Int64Val(value)
	switch {
	case isTime:
		return shownTime(time.Duration(n))
	case isSize:
		for shift, unit := range map[int]string{30: "GiB", 20: "MiB", 10: "KiB"} {
			if size := float64(n) / float64(int64(1)<<shift); size >= 1 && size < 1<<10 {
				return fmt.Sprintf("%g %s", size, unit)
			}
		}
	}
	return message.NewPrinter(language.English).Sprint(n)
}

// shownTime returns a time in the largest unit of which it is a multiple.
func shownTime(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if d%unit.of == 0 {
			return fmt.Sprintf("%d %s", d/unit.of, unit.name)
		}
	}
	return d.String()
}

// evaluated returns the value of a constant expression; it is unknown if the expression has another operand than
// literals, units of time, and constants of the same package.
func evaluated(expression ast.Expr, declared map[string]ast.Expr) constant.Value {
	switch x := expression.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(x.Value, x.Kind, 0)
	case *ast.ParenExpr:
		return evaluated(x.X, declared)
	case *ast.SelectorExpr:
		return constant.MakeInt64(int64(units[x.Sel.Name]))
	case *ast.Ident:
		if of := declared[x.Name]; of != nil {
			return evaluated(of, declared)
		}
	case *ast.BinaryExpr:
		a, b := evaluated(x.X, declared), evaluated(x.Y, declared)
		if a.Kind() != constant.Int || b.Kind() != constant.Int {
			return constant.MakeUnknown()
		}
		if x.Op == token.SHL {
			n, _ := constant.Uint64Val(b)
			return constant.Shift(a, token.SHL, uint(n))
		}
		return constant.BinaryOp(a, x.Op, b)
	}
	return constant.MakeUnknown()
}
