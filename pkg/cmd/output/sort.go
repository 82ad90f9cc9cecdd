// SPDX-License-Identifier: Apache-2.0

package output

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/fvbommel/sortorder"
	"github.com/spf13/cobra"
	"k8s.io/client-go/util/jsonpath"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// AddSortFlag adds the flag --sort-by, for a document with one list. rows are its elements.
func (f *PrintFlags) AddSortFlag(c *cobra.Command, rows, example string) {
	c.Flags().StringVar(&f.sortBy, "sort-by", "",
		"Sort the "+rows+" by a field of -o json, a number or a text, in ascending order: a JSONPath expression, such "+
			"as "+example)
}

// Sorted reports whether the user chose the order of the rows.
func (f *PrintFlags) Sorted() bool { return f.sortBy != "" }

// checkSort reports an expression of --sort-by that is not a JSONPath.
func (f *PrintFlags) checkSort() error {
	if f.sortBy == "" {
		return nil
	}
	if _, err := parsePath("sort-by", f.sortBy); err != nil {
		return cli.UsageError(fmt.Errorf("parsing --sort-by: %w", err))
	}
	return nil
}

// Sort sorts the rows of a document by --sort-by, as kubectl does: rows without the field come first, and a number in a
// text counts as a number. The order of equal rows does not change.
func Sort[T any](f *PrintFlags, rows []T) error {
	if f.sortBy == "" || len(rows) == 0 {
		return nil
	}
	path, err := parsePath("sort-by", f.sortBy)
	if err != nil {
		return err
	}
	if unknown, ok := errors.AsType[*unknownFieldError](checkPath(f.sortBy, value(reflect.TypeFor[T]()))); ok {
		return &cli.Error{Status: cli.ExitUsage, Err: fmt.Errorf("sorting by %q: %w", f.sortBy, unknown),
			Hint: unknown.hint()}
	}
	type keyed struct {
		key any
		row T
	}
	list := make([]keyed, len(rows))
	for i, row := range rows {
		key, err := sortKey(path, row)
		if err != nil {
			return cli.UsageError(fmt.Errorf("sorting by %q: %w", f.sortBy, err))
		}
		list[i] = keyed{key, row}
	}
	slices.SortStableFunc(list, func(x, y keyed) int { return compareKeys(x.key, y.key) })
	for i := range list {
		rows[i] = list[i].row
	}
	return nil
}

// sortKey returns the value of a field of a row: a number, a text, or nil if the row does not have it.
func sortKey(path *jsonpath.JSONPath, row any) (any, error) {
	var decoded any
	if err := decode(row, &decoded); err != nil {
		return nil, err
	}
	found, err := path.FindResults(decoded)
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return nil, err
	}
	switch key := found[0][0].Interface().(type) {
	case string, nil:
		return key, nil
	case int64:
		return float64(key), nil
	case float64:
		return key, nil
	case bool:
		return fmt.Sprint(key), nil
	}
	return nil, errors.New("the field is neither a number nor a text")
}

// compareKeys orders keys: nil, numbers, texts.
func compareKeys(x, y any) int {
	a, isNumber := x.(float64)
	b, areNumbers := y.(float64)
	s, isText := x.(string)
	u, areTexts := y.(string)
	switch {
	case isNumber && areNumbers:
		return cmp.Compare(a, b)
	case isText && areTexts && sortorder.NaturalLess(s, u):
		return -1
	case isText && areTexts && sortorder.NaturalLess(u, s):
		return 1
	}
	return cmp.Compare(keyRank(x), keyRank(y))
}

func keyRank(key any) int {
	switch key.(type) {
	case nil:
		return 0
	case float64:
		return 1
	}
	return 2
}
