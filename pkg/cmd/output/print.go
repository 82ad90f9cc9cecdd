// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	cliprinters "k8s.io/cli-runtime/pkg/printers"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Print writes a document to a stream, as Write does.
func (p Printer) Print(ctx context.Context, to io.Writer, d Document) error {
	return Write(ctx, to, func(w io.Writer) error { return p(w, d) })
}

// ToPrinter returns the printer that the flags select. Its errors are usage errors.
func (f *PrintFlags) ToPrinter() (Printer, error) {
	if _, err := parsePath("sort-by", f.sortBy); f.sortBy != "" && err != nil {
		return nil, cli.UsageError(fmt.Errorf("parsing --sort-by: %w", err))
	}
	if f.given(rowsFlag) && !strings.HasPrefix(f.format(), customColumns) {
		return nil, cli.UsageError(errors.New("--" + rowsFlag + " requires --output=" + customColumns))
	}
	p, err := f.selected()
	if f.quiet && err == nil {
		return func(io.Writer, Document) error { return nil }, nil
	}
	return p, err
}

func (f *PrintFlags) selected() (Printer, error) {
	format := f.format()
	switch {
	case format != wide && f.ForPeople():
		return func(w io.Writer, d Document) error { return d.Table(w, false) }, nil
	case format == wide:
		return func(w io.Writer, d Document) error { return d.Table(w, true) }, nil
	case format == "json": // cli-runtime's printers of JSON and YAML would need a second copy of a report, as maps
		return func(w io.Writer, d Document) error { return escape.EncodeJSON(w, d.Content(), "  ") }, nil
	case format == "yaml":
		return func(w io.Writer, d Document) error { return WriteYAML(w, d.Content()) }, nil
	case format == "name":
		return func(w io.Writer, d Document) error { return d.Names(w) }, nil
	}
	for _, own := range f.own {
		if own.Name == format {
			return func(w io.Writer, d Document) error { return own.Write(w, d.Content()) }, nil
		}
	}
	printer, err := f.template(format)
	_, explained := errors.AsType[*cli.Error](err)
	switch {
	case genericclioptions.IsNoCompatiblePrinterError(err):
		if gone := f.removed(format); gone != "" {
			return nil, cli.UsageError(errors.New(gone))
		}
		err := fmt.Errorf("invalid --output %q: must be one of %s", format, strings.Join(f.Formats(), ", "))
		return nil, &cli.Error{Status: cli.ExitUsage, Err: err, Hint: cli.HintIn("-o ", format, "", f.Formats())}
	case explained:
		return nil, err
	case err != nil:
		return nil, cli.UsageError(fmt.Errorf("invalid --output %q: %w", format, err))
	}
	return printer, nil
}

// removed says what replaces a format that the previous version had; "" for another one.
func (f *PrintFlags) removed(format string) string {
	if f.command == nil {
		return ""
	}
	return cli.Removed(f.command.CommandPath(), "-o "+format)
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

// Filter mirrors the flags that select findings. Make it with NewFilter.
type Filter struct {
	severity *cli.Enum
	codes    []string
	since    Since
}

// NewFilter returns the flags, which select all findings.
func NewFilter() *Filter {
	return &Filter{severity: cli.NewEnum("", string(report.Info), string(report.Warning), string(report.Error))}
}

// AddFlags adds the flags to a command.
func (f *Filter) AddFlags(c *cobra.Command) {
	f.severity.AddTo(c, "severity", "Show only findings of this severity or above")
	c.Flags().StringSliceVar(&f.codes, "code", nil,
		"Show only findings with these codes or names, such as FD104 or Modified. May be repeated, or a list with "+
			"commas")
	_ = c.RegisterFlagCompletionFunc("code", completeCodes) // the flag exists
	c.Flags().Var(&f.since, "since", "Hide findings whose recorded change is older than a duration, such as 2h or 3d, "+
		"before the data was taken, or older than a time (RFC 3339)")
}

// ToFilter parses the flags, except --since, which depends on the time of the report. A code may be in lower case, and
// the name of a finding stands for its code, as in the verb explain.
func (f *Filter) ToFilter() (report.Filter, error) {
	codes, err := Codes(f.codes)
	return report.Filter{Severity: report.Severity(f.severity.String()), Codes: codes}, err
}

// Codes returns the codes that the values of --code stand for, sorted.
func Codes(values []string) ([]string, error) {
	var out []string
	for _, code := range values {
		word := strings.TrimSpace(code)
		index := slices.IndexFunc(check.Catalogue(), func(c check.Check) bool {
			return strings.EqualFold(c.Code, word) || strings.EqualFold(c.Name, word)
		})
		if index < 0 {
			return nil, fmt.Errorf("invalid --code %q: %s", code, suggestion(word))
		}
		out = append(out, check.Catalogue()[index].Code)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Since returns the time of --since (RFC 3339) for a report that was taken at a time; "" without the flag.
func (f *Filter) Since(takenAt string) (string, error) { return f.since.Begin(takenAt) }

// suggestion asks whether the user meant one of the codes that are most similar to a word, by their number or their
// name. All codes begin with the same letters, so that only the digits are compared.
func suggestion(word string) string {
	const letters = "FD"
	number := strings.TrimPrefix(strings.ToUpper(word), letters)
	var numbers, names []string
	shown := map[string]string{}
	for _, c := range check.Catalogue() {
		digits := strings.TrimPrefix(c.Code, letters)
		numbers, names = append(numbers, digits), append(names, c.Name)
		shown[digits], shown[c.Name] = c.Code+" ("+c.Name+")", c.Code+" ("+c.Name+")"
	}
	near := append(cli.Nearest(number, numbers), cli.Nearest(word, names)...)
	if shown[number] != "" {
		near = []string{number}
	}
	if len(near) == 0 {
		return "there is no such code; kubectl fleetdoctor explain lists the codes"
	}
	texts := report.Texts(near, func(n string) string { return shown[n] })
	return "there is no such code; did you mean " + strings.Join(texts, " or ") + "?"
}

// completeCodes completes a list of codes in a shell, with their titles.
func completeCodes(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndex(typed, ",")+1]
	var out []string
	for _, c := range check.Catalogue() {
		out = append(out, cobra.CompletionWithDesc(before+c.Code, c.Title))
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// Since is a flag with a duration before the time of a report, or with a time. It implements pflag.Value.
type Since struct {
	text string
	last time.Duration // 0 for a time
	from time.Time
}

// String returns the value.
func (s *Since) String() string { return s.text }

// Type is the placeholder of the value in help.
func (s *Since) Type() string { return "duration" }

// Set parses a value.
func (s *Since) Set(text string) error {
	from, err := time.Parse(time.RFC3339, text)
	if err == nil {
		*s = Since{text: text, from: from}
		return nil
	}
	last, err := parseAge(text)
	if err != nil || last <= 0 {
		return errors.New("must be a duration such as 30m, 2h or 3d, or a time such as 2026-01-02T15:04:05Z")
	}
	*s = Since{text: text, last: last}
	return nil
}

// parseAge parses a duration, which may begin with a number of days.
func parseAge(text string) (time.Duration, error) {
	number, rest, found := strings.Cut(text, "d")
	if !found {
		return time.ParseDuration(text)
	}
	days, err := strconv.ParseUint(number, 10, 16)
	out := time.Duration(days) * 24 * time.Hour
	if err != nil || rest == "" {
		return out, err
	}
	more, err := time.ParseDuration(rest)
	return out + more, err
}

// Begin is the time (RFC 3339) for data that was taken at a time; "" without a value.
func (s *Since) Begin(takenAt string) (string, error) {
	from := s.from
	if s.last > 0 {
		taken, err := time.Parse(time.RFC3339, takenAt)
		if err != nil {
			return "", errors.New("--since=" + s.text + ": the time of the data is not known: state a time, such as " +
				"--since=2026-01-02T15:04:05Z")
		}
		from = taken.Add(-s.last)
	}
	return report.Time(from), nil
}
