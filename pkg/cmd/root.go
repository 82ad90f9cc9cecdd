// SPDX-License-Identifier: Apache-2.0

// Package cmd is the root command, and the place where clock, streams and arguments enter.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/adopt"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/origin"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/owner"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/preflight"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/webhook"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// version is stamped in by the linker.
var version = "dev"

// quiet silences client-go's asides; what matters comes back as an error or a gap. klog takes its logger for the whole process, once.
var quiet = sync.OnceFunc(func() { klog.SetLogger(logr.Discard()) })

// Option changes how Main runs the program.
type Option func(*origin.Environment)

// RenderIn has bundles rendered by a Renderer.
func RenderIn(r collect.Renderer) Option {
	return func(env *origin.Environment) { env.Renderer = r }
}

// Main runs the program and returns its exit status. When ctx ends, it waits until the verb has ended. Without an option it renders bundles in
// this process.
func Main(ctx context.Context, args []string, streams genericiooptions.IOStreams, options ...Option) int {
	quiet()
	root := newRoot(args[0], streams, time.Now, options)
	root.SetArgs(args[1:])
	command, err := execute(ctx, root)
	if err != nil {
		explain(ctx, streams, command, err)
	}
	return exit.Status(err)
}

// execute runs the command that the arguments name, and says which it was. A panic is an error: the runtime would end the program with 2,
// the status of a wrong command line. The values of panics are not shown: they may quote what they were working on.
func execute(ctx context.Context, root *cobra.Command) (command string, err error) {
	command = root.CommandPath()
	defer func() {
		if p := recover(); p != nil {
			what := fmt.Sprintf("a panic with a %T", p)
			if r, ok := p.(runtime.Error); ok {
				what = r.Error()
			}
			err = &exit.Error{Status: exit.Failed, Err: fmt.Errorf("running %s: %s", command, what),
				Hint: "This is a bug of this program. Please report it with these lines:\n" + string(debug.Stack())}
		}
	}()
	ran, err := root.ExecuteContextC(ctx)
	return ran.CommandPath(), err
}

// nothingPrinted is what an interrupted program says that printed nothing.
const nothingPrinted = "interrupted: nothing was printed"

// explain says on standard error why the program ends as it does, and what to do. command is the one that ran.
func explain(ctx context.Context, streams genericiooptions.IOStreams, command string, err error) {
	var e *exit.Error
	switch {
	case errors.As(err, &e) && e.Shown:
	case ctx.Err() != nil:
		fmt.Fprintln(streams.ErrOut, nothingPrinted)
	default:
		out := escape.TextWriter(streams.ErrOut) // arguments and servers' messages are quoted in it
		fmt.Fprintf(out, "error: %s\n", message(err))
		if e != nil && e.Hint != "" {
			fmt.Fprintln(out, e.Hint)
		}
		if exit.Status(err) == exit.Usage {
			fmt.Fprintf(streams.ErrOut, "See '%s --help'.\n", strings.TrimSuffix(command, " help"))
		}
	}
}

// message is the text of an error without the credentials of an address. The lines after its first are indented, so that none of them can
// pass for a line of the program's own.
func message(err error) string {
	return lineBegin.ReplaceAllString(escape.WithoutCredentials(strings.TrimRight(err.Error(), "\n")), "\n  $1")
}

var lineBegin = regexp.MustCompile(`\n(\S)`)

// New makes the root command. arg0 is how the program was called.
func New(arg0 string, streams genericiooptions.IOStreams, now func() time.Time) *cobra.Command {
	return newRoot(arg0, streams, now, nil)
}

func newRoot(arg0 string, streams genericiooptions.IOStreams, now func() time.Time, options []Option) *cobra.Command {
	name := calledAs(arg0, os.Getenv("PATH"))
	root := &cobra.Command{
		Use:   "kubectl-fleetdoctor",
		Short: "Find out, and mend, what is wrong with the bundles of Rancher Fleet",
		Long: "fleetdoctor holds the objects that Rancher Fleet deployed against what their bundles want, object by\n" +
			"object and field by field, and says what is missing, modified, unowned or orphaned, beside what\n" +
			"Fleet itself says of them.",
		Version:           version,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: name},
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(flagError)
	root.SuggestionsMinimumDistance = 2 // as cobra has it where it reports unknown commands itself
	root.Args = noCommand
	root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	// Flags are explained in as many columns as everything else is shown in.
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages ", "Flags.FlagUsagesWrapped 100 "))
	env := origin.Environment{Streams: streams, Now: now, Name: name, Version: version}
	for _, option := range options {
		option(&env)
	}
	root.AddCommand(audit.NewCommand(env), adopt.NewCommand(env), owner.NewCommand(env), preflight.NewCommand(env), webhook.NewCommand(env))
	refuseUnknown(root)
	return root
}

// calledAs is the command line that leads here: kubectl finds its plugins on the PATH and calls them by their full path; a shell passes on
// what was typed.
func calledAs(arg0, path string) string {
	base := strings.TrimSuffix(filepath.Base(arg0), ".exe")
	plugin, ok := strings.CutPrefix(base, "kubectl-")
	if ok && filepath.IsAbs(arg0) && slices.Contains(filepath.SplitList(path), filepath.Dir(arg0)) {
		return "kubectl " + strings.ReplaceAll(plugin, "_", "-")
	}
	return base
}
