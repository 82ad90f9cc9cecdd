// SPDX-License-Identifier: Apache-2.0

// Package cmd is the root command. Clock, streams and arguments enter here.
package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/auditor"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/mcp"
	terminal "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/preflight"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/repair"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/webhook"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render/process"
)

// version and commit are set by the linker.
var (
	version = "dev"
	commit  = ""
)

// released is the version that the linker sets. A program that the go command built has the version of its module:
// the one that "go install" was called with, or one that the go command makes of the commit. It is "dev" if neither
// is known.
func released(linked string, built *debug.BuildInfo) string {
	switch {
	case linked != "" && linked != "dev":
		return linked
	case built != nil && built.Main.Version != "" && built.Main.Version != "(devel)":
		return built.Main.Version
	}
	return "dev"
}

// quiet drops the log of client-go: failures are returned as errors or gaps. klog has one logger per process.
var quiet = sync.OnceFunc(func() { klog.SetLogger(logr.Discard()) })

// Main runs the program in an environment that New completes, and returns its exit status. When ctx ends, it waits
// until the verb ends.
func Main(ctx context.Context, args []string, env cli.Environment) int {
	quiet()
	root := New(args[0], env)
	root.SetArgs(args[1:])
	command, err := execute(ctx, root)
	if err != nil {
		printError(ctx, env.Streams, command, err)
	}
	return cli.ExitStatus(err)
}

// execute runs the command of the arguments and returns its path. A panic becomes an error: the runtime would exit with
// 2, the status of wrong usage. The value of a panic is not shown: it may quote data of the cluster.
func execute(ctx context.Context, root *cobra.Command) (command string, err error) {
	command = root.CommandPath()
	defer func() {
		if p := recover(); p != nil {
			what := fmt.Sprintf("a panic with a %T", p)
			if r, ok := p.(runtime.Error); ok {
				what = r.Error()
			}
			err = cli.Failure(fmt.Errorf("running %s: %s", command, what),
				"This is a bug. Please report it with these lines:\n"+string(debug.Stack()))
		}
	}()
	ran, err := root.ExecuteContextC(ctx)
	return ran.CommandPath(), err
}

// The messages of an interrupted program.
const (
	nothingPrinted = "interrupted: nothing was printed"
	partlyPrinted  = "interrupted: the output may be incomplete"
)

// printError writes the error of a command, and its hint, to standard error.
func printError(ctx context.Context, streams genericiooptions.IOStreams, command string, err error) {
	e, explained := errors.AsType[*cli.Error](err)
	each, several := errors.AsType[cli.Errors](err)
	switch {
	case explained && e.Shown:
	case ctx.Err() != nil:
		fmt.Fprintln(streams.ErrOut, nothingPrinted)
	case several:
		for _, one := range each {
			printError(ctx, streams, command, one)
		}
	default:
		out := escape.TextWriter(streams.ErrOut) // errors quote arguments and messages of servers
		fmt.Fprintf(out, "error: %s\n", message(err))
		if explained && e.Hint != "" {
			fmt.Fprintln(out, e.Hint)
		}
		if cli.ExitStatus(err) == cli.ExitUsage {
			fmt.Fprintf(streams.ErrOut, "See '%s --help'.\n", strings.TrimSuffix(command, " help"))
		}
	}
}

// message is the text of an error without the credentials of addresses. All lines but the first are indented: text of a
// server cannot look like a line of the program.
func message(err error) string {
	return lineBegin.ReplaceAllString(escape.WithoutCredentials(strings.TrimRight(err.Error(), "\n")), "\n  $1")
}

var lineBegin = regexp.MustCompile(`\n(\S)`)

// New returns the root command, and sets the name of the environment, and its version and clock if they are not set.
// arg0 is the name by which the program was called.
func New(arg0 string, env cli.Environment) *cobra.Command {
	built, _ := debug.ReadBuildInfo() // nil without it
	env.Name, env.Version, env.Commit = calledAs(arg0, os.Getenv("PATH")),
		cmp.Or(env.Version, released(version, built)),
		commit
	if env.Now == nil {
		env.Now = time.Now
	}
	root := &cobra.Command{
		Use:               "kubectl-fleetdoctor",
		Short:             "Find and fix problems of the objects that Rancher Fleet deploys",
		Version:           env.Version,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: env.Name},
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}
	root.SetIn(env.Streams.In)
	root.SetOut(env.Streams.Out)
	root.SetErr(env.Streams.ErrOut)
	root.SetFlagErrorFunc(flagError)
	root.SuggestionsMinimumDistance = 2 // the distance that cobra uses for unknown commands
	root.Args = cli.NoCommand
	root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	wrapHelp(root, terminal.Width(env.Streams.Out))
	root.AddCommand(
		repair.NewCommand(env),
		repair.NewAdopt(env),
		query.NewAgents(env),
		audit.NewCommand(env),
		auditor.NewCommand(env),
		query.NewCompare(env),
		NewExplain(env),
		query.NewImpact(env),
		mcp.NewCommand(env, func(ctx context.Context, words []string, env cli.Environment) int {
			return Main(ctx, slices.Concat([]string{arg0}, words), env)
		}),
		NewOptions(),
		query.NewOwner(env),
		preflight.NewCommand(env),
		NewSnapshot(env),
		query.NewTargets(env),
		NewVersion(env),
		webhook.NewCommand(env),
		query.NewWhy(env),
	)
	input.CompleteFlags(root)
	refuseUnknown(root)
	groupCommands(root)
	addHelp(root, "", env.Name)
	return root
}

// calledAs is how the user calls the program: kubectl finds its plugins on the PATH and calls them by their full path;
// a shell passes the name as it was typed.
func calledAs(arg0, path string) string {
	base := strings.TrimSuffix(filepath.Base(arg0), ".exe")
	plugin, ok := strings.CutPrefix(base, "kubectl-")
	if ok && filepath.IsAbs(arg0) && slices.Contains(filepath.SplitList(path), filepath.Dir(arg0)) {
		return "kubectl " + strings.ReplaceAll(plugin, "_", "-")
	}
	return base
}

// NewOptions returns the verb. Its help is its output.
func NewOptions() *cobra.Command {
	c := &cobra.Command{Use: "options", Short: "List the flags of all commands that read a cluster",
		Args: cli.NoCommand, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.Flags().AddFlagSet(input.ConnectionFlags())
	return c
}

// grace is the time that an interrupted verb has to end.
const grace = 500 * time.Millisecond

// Process runs the binary and returns its exit status; executable is the path of the binary. If the binary was started
// as a rendering worker, Process renders bundles. Otherwise it does what Main does, but renders bundles in worker
// processes, and expects the process to end when it returns. If the verb does not end within grace after the end of
// ctx, Process returns without it, because the opening or reading of a FIFO cannot be interrupted. It waits for a verb
// that holds the interruption. It terminates child processes that still run, such as credential plugins.
func Process(ctx context.Context, executable string, args []string, streams genericiooptions.IOStreams) int {
	if process.IsWorker(args) {
		return process.Serve(streams.In, streams.Out)
	}
	runner := process.New(executable, process.Limits{})
	defer runner.Close()
	out := &stdout{out: streams.Out}
	if file := formerConfig(); file != "" {
		fmt.Fprintf(escape.TextWriter(streams.ErrOut), "warning: %s is not read: the configuration file was removed, "+
			"an alias can have the flags\n", file)
	}
	env := cli.Environment{Streams: streams, Interruption: &cli.Interruption{}, Renderer: runner}
	env.Streams.Out = out
	ended := make(chan int, 1)
	go func() { ended <- Main(ctx, args, env) }()
	select {
	case status := <-ended:
		return status
	case <-ctx.Done():
	}
	defer endChildren()
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case status := <-ended:
		return status
	case <-late.C:
	}
	if released := env.Interruption.Expire(); released != nil {
		select {
		case status := <-ended:
			return status
		case <-released:
		}
		late.Reset(grace) // to print its result
		select {
		case status := <-ended:
			return status
		case <-late.C:
		}
	}
	message := nothingPrinted
	if out.end() {
		message = partlyPrinted
	}
	fmt.Fprintln(streams.ErrOut, message)
	return cli.ExitFailed
}

// formerConfig returns the path of the user's configuration file, which only the previous version read; "" if there is
// none. A user who relies on it must learn why the result is another one.
func formerConfig() string {
	if named, set := os.LookupEnv("FLEETDOCTOR_CONFIG"); set {
		return named
	}
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	path := filepath.Join(dir, "fleetdoctor", "config.yaml")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// stdout is standard output. It records whether anything was printed, and can be closed.
type stdout struct {
	out io.Writer

	mu              sync.Mutex
	printed, closed bool
}

// Write implements io.Writer. After end it writes nothing: the process is about to end.
func (o *stdout) Write(p []byte) (int, error) {
	o.mu.Lock()
	closed := o.closed
	o.printed = o.printed || len(p) > 0
	o.mu.Unlock()
	if closed {
		return 0, io.ErrClosedPipe
	}
	return o.out.Write(p)
}

// Fd is the descriptor of the file, from which callers detect a terminal.
func (o *stdout) Fd() uintptr {
	if f, ok := o.out.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// File is the stream itself, for a child process that detects a terminal.
func (o *stdout) File() io.Writer { return o.out }

// end drops all further output, and reports whether anything was printed before.
func (o *stdout) end() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	return o.printed
}
