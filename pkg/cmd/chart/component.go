// SPDX-License-Identifier: Apache-2.0

// Package chart has what the verbs share that install a chart of this project: flags, connection, install, uninstall,
// and the text of a status.
package chart

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Component is what a verb installs.
type Component struct {
	install.Chart
	// Verb is the name of the verb, and Noun that of the component in a sentence, such as "the webhook".
	Verb, Noun string
	// Stop is the advice to a user who wants no replica.
	Stop string
	// NotReady is the hint while replicas are not ready.
	NotReady string
	// NoKind is the hint if the cluster does not have a kind of the chart.
	NoKind string
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
		Args:  verb.NoCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },

		SuggestionsMinimumDistance: 2,
	}
	c.AddCommand(subcommands...)
	return c
}

// Subcommand has the options of a subcommand.
type Subcommand interface {
	verb.Options
	// AddHint adds a hint to an error of Run.
	AddHint(err error) error
}

// NewCommand completes a command that has no arguments unless c.Args is set.
func NewCommand(o Subcommand, c *cobra.Command) *cobra.Command {
	c.ValidArgsFunction = cobra.NoFileCompletions
	if c.Args == nil {
		c.Args = verb.NoCommand
	}
	run := verb.RunE(o)
	c.RunE = func(c *cobra.Command, args []string) error {
		err := run(c, args)
		if explained := (*exit.Error)(nil); err == nil || errors.As(err, &explained) {
			return err
		}
		return o.AddHint(err)
	}
	return c
}

// NameOf names an object as kubectl does when it reports a change. A RoleBinding may be in any namespace, and grants
// rights there.
func NameOf(r object.Ref) string {
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

// Document is a printed document. It implements output.Document.
type Document struct {
	// Value is the document, and List what the formats with columns print.
	Value, List any
	// Lines are what -o name prints.
	Lines []string
	// Text prints the table.
	Text func(io.Writer)
}

// Content implements output.Document.
func (d Document) Content() any { return d.Value }

// Rows implements output.Document.
func (d Document) Rows() any { return d.List }

// Names implements output.Document.
func (d Document) Names(w io.Writer) error {
	for _, name := range d.Lines {
		fmt.Fprintln(w, name)
	}
	return nil
}

// Table implements output.Document.
func (d Document) Table(w io.Writer, _ bool) error {
	d.Text(w)
	return nil
}
