// SPDX-License-Identifier: Apache-2.0

package output

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

const rowsFlag = "rows"

// AddRowsFlag adds the flag --rows, for a document with several lists. first is the default.
func (f *PrintFlags) AddRowsFlag(c *cobra.Command, document any, first string) {
	names, elements := lists(reflect.TypeOf(document))
	names = slices.Concat([]string{first}, slices.DeleteFunc(names, func(name string) bool { return name == first }))
	f.rows = rows{cli.NewEnum(first, names...), names, elements}
	usage := "List of the document: -o " + customColumns + " prints a line for each of its elements. One of " +
		strings.Join(names, ", ")
	c.Flags().Var(listFlag{f.rows.list}, rowsFlag, usage)
	_ = c.RegisterFlagCompletionFunc(rowsFlag, f.rows.list.Complete) // the flag exists
}

// listFlag is the value of --rows. It has too many values for a placeholder in the help.
type listFlag struct{ *cli.Enum }

// Type implements pflag.Value.
func (listFlag) Type() string { return "list" }

// check returns an error of usage if the elements of the list cannot have a field of the columns. Its hint names the
// lists whose elements can.
func (r rows) check(columns []column) error {
	if r.list == nil {
		return nil
	}
	err := checkColumns(columns, r.elements[r.list.String()])
	explained, ok := errors.AsType[*cli.Error](err)
	if !ok {
		return err
	}
	var others []string
	for _, name := range r.names {
		if checkColumns(columns, r.elements[name]) == nil {
			others = append(others, "--"+rowsFlag+"="+name)
		}
	}
	unknown, _ := errors.AsType[*unknownFieldError](err)
	if _, list := r.elements[unknown.name]; list && unknown.path == "" {
		others = []string{"--" + rowsFlag + "=" + unknown.name}
	}
	if len(others) > 0 {
		explained.Hint = fmt.Sprintf("The rows are %s. %s prints rows with this field.\n%s", r.list,
			strings.Join(others, " or "), explained.Hint)
	}
	return explained
}

// checkColumns returns an error of usage for the first path that names a field that no row can have.
func checkColumns(columns []column, row reflect.Type) error {
	for _, c := range columns {
		err := checkPath(c.text, row)
		if unknown, ok := errors.AsType[*unknownFieldError](err); ok {
			return &cli.Error{Status: cli.ExitUsage, Err: fmt.Errorf("column %q: %w", c.header, err),
				Hint: unknown.hint()}
		}
	}
	return nil
}

// printRows writes a table of the rows of a document.
func (f *PrintFlags) printRows(w io.Writer, d Document, columns []column) error {
	list := d.Rows()
	if f.rows.list != nil && f.rows.list.String() != f.rows.names[0] {
		list = member(d.Content(), f.rows.list.String())
	}
	if err := checkColumns(columns, value(reflect.TypeOf(list).Elem())); err != nil {
		return err
	}
	return printColumns(w, list, columns, f.Headers())
}

// member returns the field of a document with a name in JSON.
func member(document any, name string) any {
	v := reflect.Indirect(reflect.ValueOf(document))
	for _, f := range reflect.VisibleFields(v.Type()) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return v.FieldByIndex(f.Index).Interface()
		}
	}
	return []any{}
}
