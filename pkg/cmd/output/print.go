// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	cliprinters "k8s.io/cli-runtime/pkg/printers"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/suggest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

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
	// Write writes the content of a document.
	Write func(w io.Writer, content any) error
}

// Printer writes a document in one format.
type Printer func(io.Writer, Document) error

// Print writes a document to a stream, as Write does.
func (p Printer) Print(ctx context.Context, to io.Writer, d Document) error {
	return Write(ctx, to, func(w io.Writer) error { return p(w, d) })
}

// The formats for people.
const (
	table = "table"
	wide  = "wide"
	// text is the former name of table for some verbs. It remains valid.
	text = "text"
)

// PrintFlags mirror the flags that select and configure the format of the output.
type PrintFlags struct {
	// Format is the value of --output.
	Format    string
	templates *genericclioptions.KubeTemplatePrintFlags
	colour    *flags.Enum
	given     func(flag string) bool
	own       []Format

	noHeaders, quiet bool
	sortBy           string
	rows             rows
}

// NewPrintFlags returns the flags with their defaults. own are the formats of the verb.
func NewPrintFlags(own ...Format) *PrintFlags {
	return &PrintFlags{own: own, Format: table, templates: genericclioptions.NewKubeTemplatePrintFlags(),
		colour: flags.NewEnum("auto", "auto", "always", "never"), given: func(string) bool { return false }}
}

// AddFlags adds the flags to a command.
func (f *PrintFlags) AddFlags(c *cobra.Command) {
	f.given = c.Flags().Changed
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

// AddViewFlags adds the flags --no-headers and --quiet, for a command that only reads.
func (f *PrintFlags) AddViewFlags(c *cobra.Command) {
	c.Flags().BoolVar(&f.noHeaders, "no-headers", false,
		"Print no headers in the formats table, wide and custom-columns")
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "Print only errors: the exit status is the result")
}

// Headers reports whether tables have headers.
func (f *PrintFlags) Headers() bool { return !f.noHeaders }

// Quiet reports whether nothing is printed but errors.
func (f *PrintFlags) Quiet() bool { return f.quiet }

// Formats lists the names of the formats, the default first. Those of templates take an argument after an equals sign,
// or from --template.
func (f *PrintFlags) Formats() []string {
	own := make([]string, 0, len(f.own))
	for _, format := range f.own {
		own = append(own, format.Name)
	}
	return slices.Concat([]string{table, wide, "json", "yaml", "name"}, own, f.templates.AllowedFormats(),
		[]string{customColumns, customColumnsFile})
}

// ForPeople reports whether the output is for a person, who can answer a question, and not for a program.
func (f *PrintFlags) ForPeople() bool {
	return slices.Contains([]string{table, wide, text}, f.format())
}

// Coloured reports whether to print in colours to a stream: on request, or on a terminal that supports them.
func (f *PrintFlags) Coloured(out io.Writer) bool { return coloured(f.colour.String(), out) }

// format is the format in effect: --template alone selects go-template, as in kubectl.
func (f *PrintFlags) format() string {
	if *f.templates.TemplateArgument != "" && !f.given("output") {
		return "go-template"
	}
	return f.Format
}

// ToPrinter returns the printer that the flags select. Its errors are usage errors.
func (f *PrintFlags) ToPrinter() (Printer, error) {
	if err := f.checkSort(); err != nil {
		return nil, err
	}
	if f.given(rowsFlag) && !strings.HasPrefix(f.format(), customColumns) {
		return nil, exit.UsageError(errors.New("--" + rowsFlag + " requires --output=" + customColumns))
	}
	p, err := f.selected()
	if f.quiet && err == nil {
		return func(io.Writer, Document) error { return nil }, nil
	}
	return p, err
}

func (f *PrintFlags) selected() (Printer, error) {
	format := f.format()
	switch format {
	case table, text:
		return func(w io.Writer, d Document) error { return d.Table(w, false) }, nil
	case wide:
		return func(w io.Writer, d Document) error { return d.Table(w, true) }, nil
	case "json": // cli-runtime's printers of JSON and YAML would need a second copy of a large report, as maps
		return func(w io.Writer, d Document) error { return escape.EncodeJSON(w, d.Content(), "  ") }, nil
	case "yaml":
		return func(w io.Writer, d Document) error { return WriteYAML(w, d.Content()) }, nil
	case "name":
		return func(w io.Writer, d Document) error { return d.Names(w) }, nil
	}
	for _, own := range f.own {
		if own.Name == format {
			return func(w io.Writer, d Document) error { return own.Write(w, d.Content()) }, nil
		}
	}
	printer, err := f.template(format)
	_, explained := errors.AsType[*exit.Error](err)
	switch {
	case genericclioptions.IsNoCompatiblePrinterError(err):
		err := fmt.Errorf("invalid --output %q: must be one of %s", format, strings.Join(f.Formats(), ", "))
		return nil, &exit.Error{Status: exit.Usage, Err: err, Hint: suggest.HintIn("-o ", format, "", f.Formats())}
	case explained:
		return nil, err
	case err != nil:
		return nil, exit.UsageError(fmt.Errorf("invalid --output %q: %w", format, err))
	}
	return printer, nil
}

func (f *PrintFlags) template(format string) (Printer, error) {
	name, argument, _ := strings.Cut(format, "=")
	if name == customColumns || name == customColumnsFile {
		parse := map[string]func(string) ([]column, error){customColumns: parseColumns,
			customColumnsFile: readColumns}[name]
		columns, err := parse(cmp.Or(argument, *f.templates.TemplateArgument))
		if err != nil {
			return nil, err
		}
		return func(w io.Writer, d Document) error { return f.printRows(w, d, columns) }, f.rows.check(columns)
	}
	printer, err := f.templates.ToPrinter(format)
	return func(w io.Writer, d Document) error { return printTemplate(w, d, printer, name == "jsonpath-as-json") }, err
}

// WriteYAML writes a value as a YAML document.
func WriteYAML(w io.Writer, v any) error {
	b, err := escape.EncodeYAML(v)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// printTemplate executes a template on the content. Its output is escaped afterwards, because a template can decode
// base64.
func printTemplate(w io.Writer, d Document, printer cliprinters.ResourcePrinter, asJSON bool) error {
	var content map[string]any
	if err := decode(d.Content(), &content); err != nil {
		return err
	}
	var b bytes.Buffer
	var err error
	if p, ok := printer.(*cliprinters.JSONPathPrinter); ok {
		err = p.Execute(&b, content) // the error of its PrintObj quotes the whole content
	} else {
		err = printer.PrintObj(&unstructured.Unstructured{Object: content}, &b)
	}
	if err != nil {
		return fmt.Errorf("executing the template of --output: %w", err)
	}
	out := []byte(escape.Text(b.String()))
	if asJSON {
		out = escape.JSON(b.Bytes())
	}
	_, err = w.Write(out)
	return err
}

// decode returns a value as decoded JSON, with integers as int64.
func decode(v, into any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(raw, into)
}

// Write writes the output of show to a stream when it is complete. If the context ends first, it writes nothing.
func Write(ctx context.Context, to io.Writer, show func(io.Writer) error) error {
	var out bytes.Buffer
	if err := show(&out); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, err := to.Write(out.Bytes()); err != nil {
		return fmt.Errorf("writing to standard output: %w", err)
	}
	return nil
}
