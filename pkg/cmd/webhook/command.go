// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// subcommand has the options of a subcommand.
type subcommand interface {
	verb.Options
	// explain adds a hint to an error of Run.
	explain(err error) error
}

// newCommand completes a command that has no arguments unless c.Args is set.
func newCommand(o subcommand, c *cobra.Command) *cobra.Command {
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
		return o.explain(err)
	}
	return c
}

func newGuardDefault() *flags.Enum {
	off, warn, deny := string(admission.GuardOff), string(admission.GuardWarn), string(admission.GuardDeny)
	return flags.NewEnum(warn, off, warn, deny)
}

const guardDefaultUsage = "Mode of the validating handler in namespaces without the label " + admission.GuardLabel

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
	content any
	rows    any
	names   []string
	table   func(io.Writer)
}

// Content implements output.Document.
func (d document) Content() any { return d.content }

// Rows implements output.Document.
func (d document) Rows() any { return d.rows }

// Names implements output.Document.
func (d document) Names(w io.Writer) error {
	for _, name := range d.names {
		fmt.Fprintln(w, name)
	}
	return nil
}

// Table implements output.Document.
func (d document) Table(w io.Writer, _ bool) error {
	d.table(w)
	return nil
}
