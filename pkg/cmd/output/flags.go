// SPDX-License-Identifier: Apache-2.0

package output

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/fvbommel/sortorder"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/util/jsonpath"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// PrintFlags mirror the flags that select and configure the format of the output.
type PrintFlags struct {
	// Format is the value of --output.
	Format    string
	templates *genericclioptions.KubeTemplatePrintFlags
	colour    *cli.Enum
	given     func(flag string) bool
	command   *cobra.Command
	own       []Format

	noHeaders, quiet, all bool
	sortBy                string
	rows                  rows
}

// NewPrintFlags returns the flags with their defaults. own are the formats of the verb.
func NewPrintFlags(own ...Format) *PrintFlags {
	return &PrintFlags{own: own, Format: table, templates: genericclioptions.NewKubeTemplatePrintFlags(),
		colour: cli.NewEnum("auto", "auto", "always", "never"), given: func(string) bool { return false }}
}

// AddFlags adds the flags to a command.
func (f *PrintFlags) AddFlags(c *cobra.Command) {
	f.given, f.command = c.Flags().Changed, c
	c.Flags().StringVarP(&f.Format, "output", "o", f.Format, "Output format: one of "+strings.Join(f.Formats(), ", "))
	f.templates.AddFlags(c)
	c.Flags().Lookup("template").
		Usage = "Template, or path of a template file, for the formats that take one; without -o, a Go template"
	c.Flags().Lookup("allow-missing-template-keys").Usage = "Ignore fields of a template that are not found"
	// the flag exists
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(f.Formats(), cobra.ShellCompDirectiveNoFileComp))
}

// AddColorFlag adds the flag --color, for a command with a coloured table.
func (f *PrintFlags) AddColorFlag(c *cobra.Command) { f.colour.AddTo(c, "color", "Use colors") }

// AddViewFlags adds the flags --all, --no-headers and --quiet, for a command that only reads.
func (f *PrintFlags) AddViewFlags(c *cobra.Command) {
	c.Flags().BoolVar(&f.all, "all", false, "Also show what is ready or correct, and show lists in full")
	c.Flags().BoolVar(&f.noHeaders, "no-headers", false,
		"Print no headers in the formats table, wide and custom-columns")
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "Print only errors: the exit status is the result")
}

// Headers reports whether tables have headers.
func (f *PrintFlags) Headers() bool { return !f.noHeaders }

// All reports whether everything is shown: what is well, and lists in full.
func (f *PrintFlags) All() bool { return f.all }

// Quiet reports whether nothing is printed but errors.
func (f *PrintFlags) Quiet() bool { return f.quiet }

// Formats lists the names of the formats, the default first. Those of templates take an argument after an equals sign,
// or from --template.
func (f *PrintFlags) Formats() []string {
	own := report.Texts(f.own, func(format Format) string { return format.Name })
	return slices.Concat([]string{table, wide, "json", "yaml", "name"}, own, f.templates.AllowedFormats(),
		[]string{customColumns, customColumnsFile})
}

// ForPeople reports whether the output is for a person, who can answer a question, and not for a program.
func (f *PrintFlags) ForPeople() bool {
	layout := func(own Format) bool { return own.Write == nil && own.Name == f.format() }
	return slices.Contains([]string{table, wide, text}, f.format()) || slices.ContainsFunc(f.own, layout)
}

// Coloured reports whether to print in colours to a stream: on request, or on a terminal that supports them.
func (f *PrintFlags) Coloured(out io.Writer) bool {
	switch f.colour.String() {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && Redraws(out)
}

// format is the format in effect: --template alone selects go-template, as in kubectl.
func (f *PrintFlags) format() string {
	if *f.templates.TemplateArgument != "" && !f.given("output") {
		return "go-template"
	}
	return f.Format
}

// rows are the lists of a document of which -o custom-columns prints one. It is empty for a verb without the flag
// --rows.
type rows struct {
	list     *cli.Enum
	names    []string // the first one is the default
	elements map[string]reflect.Type
}

// Document is the result of a verb.
type Document interface {
	// Content is what -o json and -o yaml encode, and what the templates of -o jsonpath and -o go-template read.
	Content() any
	// Rows is the list in the content that -o custom-columns prints, one line per element.
	Rows() any
	// Table writes the content for people.
	Table(w io.Writer, wide bool) error
	// Names writes the objects of -o name, one line per object.
	Names(w io.Writer) error
}

// Format is a format of one verb, in addition to the formats that every verb has.
type Format struct {
	Name string
	// Write writes the content of a document. It is nil for a format for people: another layout of the table.
	Write func(w io.Writer, content any) error
}

// Printer writes a document in one format.
type Printer func(io.Writer, Document) error

// The formats for people.
const (
	table = "table"
	wide  = "wide"
	// text is the former name of table for some verbs. It remains valid.
	text = "text"
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

// AddSortFlag adds the flag --sort-by, for a document with one list. rows are its elements.
func (f *PrintFlags) AddSortFlag(c *cobra.Command, rows, example string) {
	c.Flags().StringVar(&f.sortBy, "sort-by", "",
		"Sort the "+rows+" by a field of -o json, a number or a text, in ascending order: a JSONPath expression, such "+
			"as "+example)
}

// Sorted reports whether the user chose the order of the rows.
func (f *PrintFlags) Sorted() bool { return f.sortBy != "" }

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
		key key
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
	slices.SortStableFunc(list, func(x, y keyed) int { return x.key.compare(y.key) })
	for i := range list {
		rows[i] = list[i].row
	}
	return nil
}

// key is the value of a field by which rows are sorted: nothing, a number or a text, in this order.
type key struct {
	rank   int
	number float64
	text   string
}

// sortKey returns the value of a field of a row.
func sortKey(path *jsonpath.JSONPath, row any) (key, error) {
	var decoded any
	if err := decode(row, &decoded); err != nil {
		return key{}, err
	}
	found, err := path.FindResults(decoded)
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return key{}, err
	}
	switch v := found[0][0].Interface().(type) {
	case nil:
		return key{}, nil
	case int64:
		return key{rank: 1, number: float64(v)}, nil
	case float64:
		return key{rank: 1, number: v}, nil
	case string, bool:
		return key{rank: 2, text: fmt.Sprint(v)}, nil
	}
	return key{}, errors.New("the field is neither a number nor a text")
}

func (k key) compare(o key) int {
	natural := 0
	if sortorder.NaturalLess(k.text, o.text) {
		natural = -1
	} else if sortorder.NaturalLess(o.text, k.text) {
		natural = 1
	}
	return cmp.Or(cmp.Compare(k.rank, o.rank), cmp.Compare(k.number, o.number), natural)
}
