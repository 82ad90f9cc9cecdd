// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	cliprinters "k8s.io/cli-runtime/pkg/printers"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// Print writes a document to a stream, as Write does.
func (p Printer) Print(ctx context.Context, to io.Writer, d Document) error {
	return Write(ctx, to, func(w io.Writer) error { return p(w, d) })
}

// ToPrinter returns the printer that the flags select. Its errors are usage errors.
func (f *PrintFlags) ToPrinter() (Printer, error) {
	if err := f.checkSort(); err != nil {
		return nil, err
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
