// SPDX-License-Identifier: Apache-2.0

// Package owner is the verb owner: whose an object is, and why.
package owner

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/origin"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const long = `Say whose an object is, and why: the bundle that it counts as, with its release, GitRepo and commit, the
bundles that want it, and what each of its marks says. Fleet looks at the label
objectset.rio.cattle.io/hash alone; the other marks tell where an object came from.

Exit status: 0, 2 wrong usage, 3 it was not found or could not be read, or it cannot be known which
bundle desires it, because not every release record could be read.`

const examples = `  # an object of the cluster at hand
  %[1]s owner deployment/frontend -n guestbook

  # of a captured one
  %[1]s owner clusterrole/reader --snapshot dump.tgz`

// options mirror the command line.
type options struct {
	*origin.Flags
	output *flags.Enum
	colour *flags.Enum
}

// NewCommand makes the verb.
func NewCommand(env origin.Environment) *cobra.Command {
	o := &options{Flags: origin.New(env), output: flags.NewEnum(printers.OwnershipFormats[0], printers.OwnershipFormats...), colour: origin.NewColour()}
	c := &cobra.Command{
		Use:     "owner KIND/NAME ...",
		Short:   "Say whose an object is, and why",
		Long:    long,
		Example: fmt.Sprintf(examples, env.Name),
		Args:    cobra.ArbitraryArgs,
		RunE:    func(c *cobra.Command, args []string) error { return o.run(c.Context(), args) },
	}
	f := c.Flags()
	o.AddFlags(f)
	f.Lookup("namespace").Usage = "Namespace of the objects; without it, all of them"
	f.VarP(o.output, "output", "o", "Output format")
	f.Var(o.colour, "color", "Use colours")
	for name, e := range map[string]*flags.Enum{"output": o.output, "color": o.colour} {
		if err := c.RegisterFlagCompletionFunc(name, e.Complete); err != nil {
			return c // the flags were just added: there is nothing that could be missing
		}
	}
	return c
}

func (o *options) run(ctx context.Context, args []string) error {
	names, err := o.names(args)
	if err != nil {
		return exit.UsageError(err)
	}
	show, err := printers.NewOwnership(o.output.String(), printers.Options{Colour: origin.Coloured(o.colour, o.Streams.Out), PrintRole: o.Commands().PrintRole})
	if err != nil {
		return exit.UsageError(err)
	}
	document, err := o.find(ctx, names)
	if err != nil {
		return err
	}
	if err := o.Print(ctx, func(w io.Writer) error { return show(w, document) }); err != nil {
		return err
	}
	for _, x := range document.Objects {
		if x.Unknown != "" {
			return &exit.Error{Status: exit.Failed, Err: fmt.Errorf("cannot know which bundle desires %s: %s", x.Key(), x.Unknown), Hint: o.Command("audit") + " names what could not be read."}
		}
	}
	return nil
}

func (o *options) find(ctx context.Context, names []engine.Named) (*report.Ownership, error) {
	progress := o.Progress()
	defer progress.Clear()
	src, _, err := o.Open(ctx)
	if err != nil {
		return nil, err
	}
	document, err := engine.Owner(ctx, src, engine.Options{Version: o.Version, Renderer: o.Renderer, Commands: o.Commands(), Progress: progress.Tell}, names)
	if err != nil {
		return nil, o.Explain(err)
	}
	return document, nil
}

// names reads KIND/NAME, KIND/NAMESPACE/NAME and "KIND NAME ...", as kubectl takes them.
func (o *options) names(args []string) ([]engine.Named, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("it takes an object: KIND/NAME")
	}
	if first := args[0]; !strings.Contains(first, "/") {
		if len(args) == 1 {
			return nil, fmt.Errorf("reading argument %q: want KIND/NAME", first)
		}
		var joined []string
		for _, name := range args[1:] {
			joined = append(joined, first+"/"+name)
		}
		args = joined
	}
	var out []engine.Named
	for _, arg := range args {
		named, err := origin.ParseObject(arg)
		if err != nil {
			return nil, err
		}
		out = append(out, engine.Named{Kind: named.Kind, Namespace: cmp.Or(named.Namespace, *o.Config.Namespace), Name: named.Name})
	}
	return out, nil
}
