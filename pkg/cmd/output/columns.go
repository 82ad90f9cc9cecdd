// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	cliprinters "k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/util/jsonpath"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// The formats of columns, as in kubectl. They are not in cli-runtime, and kubectl's own package (cmd/get) allocates
// 4 MB in 10 ms when the program starts, also in each rendering worker.
const (
	customColumns     = "custom-columns"
	customColumnsFile = "custom-columns-file"
)

// column is one column of -o custom-columns.
type column struct {
	header string
	text   string // the path as the user wrote it
	path   *jsonpath.JSONPath
}

// parseColumns reads HEADER:PATH,HEADER:PATH.
func parseColumns(spec string) ([]column, error) {
	var headers, paths []string
	for part := range strings.SplitSeq(spec, ",") {
		header, path, ok := strings.Cut(part, ":")
		if !ok {
			return nil, fmt.Errorf("parsing column %q: it must be HEADER:PATH", part)
		}
		headers, paths = append(headers, header), append(paths, path)
	}
	return newColumns(headers, paths)
}

// readColumns reads a file with the headers in the first line and the paths in the second.
func readColumns(file string) ([]column, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the columns: %w", err)
	}
	headers, rest, _ := strings.Cut(string(content), "\n")
	paths, _, _ := strings.Cut(rest, "\n")
	return newColumns(strings.Fields(headers), strings.Fields(paths))
}

func newColumns(headers, paths []string) ([]column, error) {
	if len(headers) == 0 || len(headers) != len(paths) {
		return nil, fmt.Errorf("parsing columns: there are %d headers and %d paths", len(headers), len(paths))
	}
	var out []column
	for i, path := range paths {
		parsed, err := parsePath(headers[i], path)
		if err != nil {
			return nil, fmt.Errorf("parsing the path of column %q: %w", headers[i], err)
		}
		out = append(out, column{headers[i], path, parsed})
	}
	return out, nil
}

// parsePath parses the path of a field. {.name}, .name and name are the same.
func parsePath(name, path string) (*jsonpath.JSONPath, error) {
	parsed := jsonpath.New(name).AllowMissingKeys(true)
	if err := parsed.Parse(bracketed(path)); err != nil || strings.Trim(path, "{}") == "" {
		return nil, fmt.Errorf("%q is not a JSONPath", path)
	}
	return parsed, nil
}

// printColumns writes a table of the rows, with or without headers. Their text is escaped first: a line end in a cell
// would look like another row.
func printColumns(w io.Writer, list any, columns []column, headed bool) error {
	var rows []any
	if err := decode(list, &rows); err != nil {
		return err
	}
	var b bytes.Buffer
	lines := cliprinters.GetNewTabWriter(&b)
	var headers []string
	for _, c := range columns {
		headers = append(headers, c.header)
	}
	if headed {
		fmt.Fprintln(lines, strings.Join(headers, "\t"))
	}
	for _, row := range rows {
		var cells []string
		row = escape.Lines(row)
		for _, c := range columns {
			cell, err := c.cell(row)
			if err != nil {
				return err
			}
			cells = append(cells, strings.ReplaceAll(cell, "\t", " "))
		}
		fmt.Fprintln(lines, strings.Join(cells, "\t"))
	}
	if err := lines.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, escape.Text(b.String()))
	return err
}

// cell is the content of the column for a row: its values, joined with commas.
func (c column) cell(row any) (string, error) {
	found, err := c.path.FindResults(row)
	if err != nil {
		return "", fmt.Errorf("executing the path of column %q: %w", c.header, err)
	}
	var out []string
	for _, results := range found {
		for _, v := range results {
			if !v.IsValid() || !v.CanInterface() {
				return "", errors.New("executing the path of column " + c.header + ": no value")
			}
			out = append(out, fmt.Sprint(v.Interface()))
		}
	}
	if len(out) == 0 {
		return "<none>", nil
	}
	return strings.Join(out, ","), nil
}

// decode returns a value as decoded JSON, with integers as int64.
func decode(v, into any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(raw, into)
}
