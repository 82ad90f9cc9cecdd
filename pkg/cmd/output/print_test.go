// SPDX-License-Identifier: Apache-2.0

package output

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// row is an element of a document.
type row struct {
	Name string            `json:"name"`
	N    int               `json:"n"`
	More string            `json:"more,omitempty"`
	Any  map[string]string `json:"any,omitempty"`
}

// other is an element of another list of a document.
type other struct {
	Code string `json:"code"`
	Rows []row  `json:"rows,omitempty"`
}

// document is a small document with text that acts on a terminal.
type document struct {
	Kind   string  `json:"kind"`
	Rows   []row   `json:"rows"`
	Others []other `json:"others,omitempty"`
}

type printable struct{ document }

// Content implements Document.
func (p printable) Content() any { return p.document }

// Rows implements Document.
func (p printable) Rows() any { return p.document.Rows }

// Table implements Document.
func (p printable) Table(w io.Writer, wide bool) error {
	_, err := io.WriteString(w, map[bool]string{true: "as wide", false: "as table"}[wide])
	return err
}

// Names implements Document.
func (p printable) Names(w io.Writer) error { _, err := io.WriteString(w, "as names"); return err }

var example = printable{document{Kind: "Example", Rows: []row{{Name: "one\x1b[31m\nthree 3", N: 20_000_000},
	{Name: "two", N: 2}}}}

// printed parses a command line and prints the example.
func printed(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return printedOf(t, example, args...)
}

func printedOf(t *testing.T, d Document, args ...string) (string, error) {
	t.Helper()
	f := NewPrintFlags()
	c := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error {
		return nil
	}}
	f.AddFlags(c)
	f.AddViewFlags(c)
	f.AddSortFlag(c, "rows", "n")
	f.AddRowsFlag(c, document{}, "rows")
	c.SetArgs(args)
	if err := c.Execute(); err != nil {
		t.Fatal(err)
	}
	show, err := f.ToPrinter()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = show(&b, d)
	return b.String(), err
}

// TestFormats checks the output of each format. No text acts on a terminal or looks like another row.
func TestFormats(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"columns": "NAME N\n.name .n\n", "path": "{.kind}",
		"template": "{{.kind}}"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	columns := "NAME               N\none\ufffd[31m\ufffdthree 3   20000000\ntwo                2\n"
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "as table"},
		{[]string{"-o", "table"}, "as table"},
		{[]string{"-o", "text"}, "as table"}, // its former name
		{[]string{"-o", "wide"}, "as wide"},
		{[]string{"-o", "name"}, "as names"},
		{[]string{"-o", "json"},
			"{\n  \"kind\": \"Example\",\n  \"rows\": [\n    {\n      \"name\": \"one\\u001b[31m\\nthree 3\",\n      " +
				"\"n\": 20000000\n    },\n    {\n      \"name\": \"two\",\n      \"n\": 2\n    }\n  ]\n}\n"},
		{[]string{"-o", "yaml"},
			"kind: Example\nrows:\n- \"n\": 20000000\n  name: \"one\\e[31m\\nthree 3\"\n- \"n\": 2\n  name: two\n"},
		{[]string{"-o", "jsonpath={.rows[*].n}"}, "20000000 2"},
		{[]string{"-o", "jsonpath={.rows[0].name}{.absent}"}, "one\ufffd[31m\nthree 3"},
		{[]string{"-o", "jsonpath-as-json={.rows[0].name}"}, "[\n    \"one\\u001b[31m\\nthree 3\"\n]\n"},
		{[]string{"-o", "jsonpath-file=" + filepath.Join(dir, "path")}, "Example"},
		{[]string{"-o", "go-template={{range .rows}}{{.n}},{{end}}{{base64decode \"G1szMW0=\"}}"},
			"20000000,2,\ufffd[31m"},
		{[]string{"-o", "go-template-file=" + filepath.Join(dir, "template")}, "Example"},
		{[]string{"--template", "{{.kind}}"}, "Example"},
		{[]string{"-o", "jsonpath", "--template", "{.kind}"}, "Example"},
		{[]string{"-o", "custom-columns=NAME:.name,N:.n"}, columns},
		{[]string{"-o", "custom-columns-file=" + filepath.Join(dir, "columns")}, columns},
		{[]string{"-o", "custom-columns", "--template", "NAME:{.name},N:n"}, columns},
		{[]string{"-o", "custom-columns=N:.n", "--no-headers"}, "20000000\n2\n"},
		{[]string{"--quiet"}, ""},
		{[]string{"-q", "-o", "json"}, ""},
		{[]string{"-o", "custom-columns=X:.more"}, "X\n<none>\n<none>\n"}, // no row has it, but a row can have it
	} {
		got, err := printed(t, tc.args...)
		if err != nil || got != tc.want {
			t.Errorf("%q: %q, error %v, want %q", tc.args, got, err, tc.want)
		}
	}
}

// TestWrongFormats checks that an unknown format, and a format without its template, are usage errors. The error for an
// unknown format lists all formats.
func TestWrongFormats(t *testing.T) {
	for _, format := range []string{"xml", "", "JSON", "jsonpath", "jsonpath=", "jsonpath={.a[}", "jsonpath-file=" +
		t.TempDir(), "go-template={{", "custom-columns", "custom-columns=A",
		"custom-columns=", "custom-columns-file=/absent"} {
		if out, err := printed(t, "-o", format); cli.ExitStatus(err) != cli.ExitUsage || out != "" {
			t.Errorf("-o %q: %q, error %v", format, out, err)
		}
	}
	if _, err := printed(t, "-q", "-o", "xml"); cli.ExitStatus(err) != cli.ExitUsage {
		t.Errorf("-q hides a wrong format: %v", err)
	}
	_, err := printed(t, "-o", "xml")
	for _, format := range NewPrintFlags().Formats() {
		if !strings.Contains(err.Error(), format) {
			t.Errorf("the error does not list %q: %v", format, err)
		}
	}
}

// TestTemplateErrors checks that the error of a failing template does not quote the document.
func TestTemplateErrors(t *testing.T) {
	for _, args := range [][]string{{"-o", "jsonpath={.rows[7].name}"},
		{"-o", "jsonpath={.absent}", "--allow-missing-template-keys=false"},
		{"-o", "go-template={{index .rows 7}}"}, {"-o", "go-template={{.kind.absent}}"}} {
		out, err := printed(t, args...)
		if err == nil || cli.ExitStatus(err) != cli.ExitFailed || out != "" || strings.Contains(err.Error(),
			"three 3") {
			t.Errorf("%q: %q, error %v", args, out, err)
		}
	}
}

// TestForPeople checks which formats are for people.
func TestForPeople(t *testing.T) {
	for _, format := range append(NewPrintFlags().Formats(), "text", "jsonpath={}") {
		f := NewPrintFlags()
		f.Format = format
		if want := slices.Contains([]string{"table", "wide", "text"}, format); f.ForPeople() != want {
			t.Errorf("-o %s: %v, want %v", format, !want, want)
		}
	}
}

// TestWrite checks that no part of an interrupted document is written.
func TestWrite(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var b strings.Builder
	err := Write(ctx, &b, func(w io.Writer) error {
		cancel()
		_, err := io.WriteString(w, "half")
		return err
	})
	if !errors.Is(err, context.Canceled) || b.Len() > 0 {
		t.Errorf("%q, error %v", b.String(), err)
	}
}
