// SPDX-License-Identifier: Apache-2.0

package output

import (
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
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
	own := make([]string, 0, len(f.own))
	for _, format := range f.own {
		own = append(own, format.Name)
	}
	return slices.Concat([]string{table, wide, "json", "yaml", "name"}, own, f.templates.AllowedFormats(),
		[]string{customColumns, customColumnsFile})
}

// ForPeople reports whether the output is for a person, who can answer a question, and not for a program.
func (f *PrintFlags) ForPeople() bool {
	layout := func(own Format) bool { return own.Write == nil && own.Name == f.format() }
	return slices.Contains([]string{table, wide, text}, f.format()) || slices.ContainsFunc(f.own, layout)
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
