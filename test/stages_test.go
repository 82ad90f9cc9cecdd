// SPDX-License-Identifier: Apache-2.0

package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stages are the functions of the stages of an audit. An auditor repeats the last ones for a change.
var (
	stages     = []string{".Fleet", "directory.Build", "desired.Removals", "desired.Resolve", "evaluate.New"}
	lastStages = []string{"evaluate.NewResult", "facts.New", "check.Run", "report.NewAudit"}
)

// TestStages counts how often audit.Run runs each stage: the calls that its functions make, also through each other. A
// call in a loop counts as many; the only loop is the one over the clusters, in Each.
func TestStages(t *testing.T) {
	got := map[string]int{}
	countCalls(functions(t, "../pkg/audit"), "Run", got)
	once(t, "an audit", got, slices.Concat(stages, lastStages))
}

// TestStagesOfChange counts how often an auditor runs each stage to show what one changed object changes: in its audit,
// and in the view of it.
func TestStagesOfChange(t *testing.T) {
	audit, got := functions(t, "../pkg/audit"), map[string]int{}
	countCalls(functions(t, "../pkg/auditor"), ".evaluate", got)
	once(t, "a change in the auditor", got, []string{".Audit"})
	countCalls(audit, ".Audit", got)
	countCalls(functions(t, "../pkg/auditor/view"), "New", got)
	for _, uses := range []string{".Input", ".Unmerged"} { // what the view uses of the audit
		if got[uses] == 0 {
			t.Errorf("the view does not call %s", uses)
		}
		countCalls(audit, uses, got)
	}
	once(t, "a change in the auditor", got, lastStages)
	for _, stage := range stages {
		if got[stage] != 0 {
			t.Errorf("a change in the auditor calls %s %d times, want never", stage, got[stage])
		}
	}
}

func once(t *testing.T, what string, got map[string]int, stages []string) {
	t.Helper()
	for _, stage := range stages {
		if got[stage] != 1 {
			t.Errorf("%s calls %s %d times, want once", what, stage, got[stage])
		}
	}
}

// TestStagesCounts checks that TestStages counts indirect calls and those in loops.
func TestStagesCounts(t *testing.T) {
	got := map[string]int{}
	countCalls(map[string][]call{
		"Run":   {{"once", false}, {"twice", false}, {"a.In", true}},
		"once":  {{"a.Direct", false}},
		"twice": {{"once", false}},
	}, "Run", got)
	want := map[string]int{"a.Direct": 2, "a.In": many, "once": 2, "twice": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// many is the count of a call in a loop.
const many = 1000

// call is a call of a function ("Each"), of a method (".Found"), or of a function of another package ("check.Run").
type call struct {
	name   string
	inLoop bool
}

func countCalls(of map[string][]call, function string, counts map[string]int) {
	for _, c := range of[function] {
		n := 1
		if c.inLoop {
			n = many
		}
		counts[c.name] += n
		countCalls(of, c.name, counts)
	}
}

// functions returns the calls that each function and method of a package makes, by its name as in a call.
func functions(t *testing.T, dir string) map[string][]call {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]call{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				name := f.Name.Name
				if f.Recv != nil {
					name = "." + name
				}
				out[name] = append(out[name], callsIn(f.Body, false)...)
			}
		}
	}
	return out
}

func callsIn(n ast.Node, inLoop bool) []call {
	var out []call
	ast.Inspect(n, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.ForStmt:
			out = append(out, callsIn(x.Body, true)...)
			return false
		case *ast.RangeStmt:
			out = append(out, callsIn(x.Body, true)...)
			return false
		case *ast.CallExpr:
			if name := calledName(x.Fun); name != "" {
				out = append(out, call{name, inLoop})
			}
		}
		return true
	})
	return out
}

// calledName is "Name" for a function, ".Name" for a method, and "package.Name" for a function of another package.
func calledName(f ast.Expr) string {
	switch f := f.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok && x.Obj == nil && ast.IsExported(f.Sel.Name) {
			return x.Name + "." + f.Sel.Name
		}
		return "." + f.Sel.Name
	}
	return ""
}
