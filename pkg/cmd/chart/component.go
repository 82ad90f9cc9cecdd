// SPDX-License-Identifier: Apache-2.0

// Package chart has the subcommands that install a chart of this project, report its state and remove it, for each verb
// that describes its chart.
package chart

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Component is what a verb installs.
type Component struct {
	install.Chart
	// Verb is the name of the verb, and Noun that of the component in a sentence, such as "the webhook".
	Verb, Noun string
	// NotReady is the hint while replicas are not ready.
	NotReady string
	// Generated is a sentence without its period about an object that another program makes for the component.
	Generated string
	// Otherwise names the command that also changes an installation by Fleet.
	Otherwise func(*input.Flags) string
	// Kept is the reason why uninstall keeps the Namespace.
	Kept string
	// Outlives reports that the objects may stay when Fleet's bundle is removed.
	Outlives bool
}

// DeployedByFleet is the flag of uninstall for these objects.
const DeployedByFleet = "deployed-by-fleet"

// NewVerb returns a verb that only has subcommands.
func NewVerb(name, short string, subcommands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cli.NoCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },

		SuggestionsMinimumDistance: 2,
	}
	c.AddCommand(subcommands...)
	return c
}

// Subcommand has the options of a subcommand.
type Subcommand interface {
	cli.Options
	// AddHint adds a hint to an error of Run.
	AddHint(err error) error
}

// NewCommand completes a command that has no arguments unless c.Args is set.
func NewCommand(o Subcommand, c *cobra.Command) *cobra.Command {
	c.ValidArgsFunction = cobra.NoFileCompletions
	if c.Args == nil {
		c.Args = cli.NoCommand
	}
	run := cli.RunE(o)
	c.RunE = func(c *cobra.Command, args []string) error {
		err := run(c, args)
		if err == nil || isExplained(err) {
			return err
		}
		return o.AddHint(err)
	}
	return c
}

// isExplained reports whether an error has its exit status and its hint.
func isExplained(err error) bool {
	_, ok := errors.AsType[*cli.Error](err)
	return ok
}

// nameOf names an object as kubectl does when it reports a change. A RoleBinding may be in any namespace, and grants
// rights there.
func nameOf(r object.Ref) string {
	kind := strings.ToLower(r.Kind)
	r.Name, r.Namespace = escape.Line(r.Name), escape.Line(r.Namespace)
	if g := object.Group(r.APIVersion); g != "" {
		kind += "." + g
	}
	if r.Kind == "RoleBinding" {
		return kind + "/" + r.Name + " -n " + r.Namespace
	}
	return kind + "/" + r.Name
}

// document is a printed document. It implements output.Document.
type document struct {
	// value is the document, and list what the formats with columns print.
	value, list any
	// names are what -o name prints.
	names []string
	// text prints the table.
	text func(io.Writer)
}

// Content implements output.Document.
func (d document) Content() any { return d.value }

// Rows implements output.Document.
func (d document) Rows() any { return d.list }

// Names implements output.Document.
func (d document) Names(w io.Writer) error {
	for _, name := range d.names {
		fmt.Fprintln(w, name)
	}
	return nil
}

// Table implements output.Document.
func (d document) Table(w io.Writer, _ bool) error {
	d.text(w)
	return nil
}
