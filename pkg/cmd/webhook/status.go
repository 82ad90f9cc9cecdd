// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/status"
)

const statusLong = `Say how an installed webhook is doing: its certificate, what the API server calls it by, replicas and
addresses, whether it is still as this program installs it, what namespaces say by their labels, and how
calls have gone, as one API server counted them since it was started.

What cannot be read is Unknown, and never OK. A Note is worth knowing, and nothing to be mended.

Exit status: 0 nothing is wrong, 1 something is, 2 wrong usage, 3 it cannot be said.`

const statusExamples = `  %[1]s webhook status

  # for a program
  %[1]s webhook status -o json`

// statusOptions mirror the command line.
type statusOptions struct {
	connection

	output *flags.Enum
}

func newStatus(env verb.Environment) *cobra.Command {
	o := &statusOptions{connection: newConnection(env, statusRights), output: flags.NewEnum(outputText, outputText, outputJSON, outputYAML)}
	c := &cobra.Command{
		Use:               "status",
		Short:             "Say how the admission webhook is doing",
		Long:              statusLong,
		Example:           fmt.Sprintf(statusExamples, env.Name),
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, _ []string) error { return o.run(c.Context()) },
	}
	o.add(c, "Namespace that it is installed in (default where the configurations say, else "+install.Namespace+")")
	c.Flags().VarP(o.output, "output", "o", "Output format")
	return complete(c, map[string]*flags.Enum{"output": o.output})
}

func (o *statusOptions) run(ctx context.Context) error {
	if err := o.validate(); err != nil {
		return exit.UsageError(err)
	}
	cluster, err := o.open(nil)
	if err != nil {
		return err
	}
	configurations, err := cluster.Configurations(ctx)
	if unreached(err) {
		return o.explain(err) // once, and not for each thing that could not be read for it
	}
	if err != nil {
		configurations = nil // that they cannot be read is told below
	}
	home, err := cluster.Home(ctx, configurations)
	if err != nil {
		home = "" // and so is that
	}
	facts, err := cluster.reader().Gather(ctx, o.installed(home), o.Now())
	if err != nil {
		return o.explain(err)
	}
	s := status.Judge(facts)
	if err := output.Write(ctx, o.Streams.Out, func(w io.Writer) error { return o.print(w, s) }); err != nil {
		return err
	}
	switch s.State {
	case status.Wrong:
		return &exit.Error{Status: exit.Found, Shown: true}
	case status.Unknown:
		return &exit.Error{Status: exit.Failed, Shown: true}
	}
	return nil
}

func (o *statusOptions) print(w io.Writer, s *status.Status) error {
	switch o.output.String() {
	case outputJSON:
		return encode(w, s)
	case outputYAML:
		text, err := escape.EncodeYAML(s)
		if err != nil {
			return fmt.Errorf("encoding the status: %w", err)
		}
		_, err = w.Write(text)
		return err
	}
	_, err := io.WriteString(w, o.text(s))
	return err
}

// width is how many columns a text is laid out for, as terminals have at least.
const width = 80

// text lays a status out for people.
func (o *statusOptions) text(s *status.Status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Namespace:  %s\n", escape.Line(s.Namespace))
	if s.Image != "" {
		fmt.Fprintf(&b, "Image:      %s\n", escape.Line(s.Image))
	}
	if s.Release != "" {
		fmt.Fprintf(&b, "Release:    %s, by Fleet\n", escape.Line(s.Release))
	}
	fmt.Fprintf(&b, "State:      %s\n\n", s.State)
	for _, c := range s.Checks {
		head := fmt.Sprintf("%-8s %-12s ", c.State, c.Name)
		b.WriteString(wrap(head, c.Message))
		for _, d := range c.Details {
			b.WriteString(wrap(strings.Repeat(" ", len(head))+"- ", d))
		}
	}
	if s.Installed != nil && !*s.Installed {
		fmt.Fprintf(&b, "\n%s installs it.\n", o.Command("webhook install"))
	}
	return b.String()
}

// wrap writes a text behind a head, in lines that go on below where it began.
func wrap(head, text string) string {
	var b strings.Builder
	indent := strings.Repeat(" ", len(head))
	line, empty := head, true
	for _, word := range strings.Fields(text) {
		if !empty && len(line)+1+len(word) > width {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
	return b.String()
}
