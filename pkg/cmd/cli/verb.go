// SPDX-License-Identifier: Apache-2.0

// Package cli has what every command has: the environment, the three steps of its options, enum flags, near misses and
// the exit status. It does not know what is read.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
)

// Environment is what the root passes to every verb.
type Environment struct {
	Streams genericiooptions.IOStreams
	Now     func() time.Time
	Name    string // by which the program was called: "kubectl fleetdoctor"
	Version string
	Commit  string // of the source code, "" if the build does not state it
	// Interruption lets a verb finish its work after an interruption; nil if the process never ends the verb.
	Interruption *Interruption
	// ReadOnly refuses every request to a cluster that could write, and starts no program for differences.
	ReadOnly bool
	// Renderer renders bundles; nil renders them in this process, without limits on templates.
	Renderer collect.Renderer
	// Pause waits before values Secrets that seem wrong are read a second time; nil is collect.Pause.
	Pause func(context.Context) error
	// Wait waits between two rounds of a watch; nil waits for that time.
	Wait func(context.Context, time.Duration) error
}

// Sleep waits as Wait does. Its error is that of ctx.
func (e *Environment) Sleep(ctx context.Context, d time.Duration) error {
	if e.Wait != nil {
		return e.Wait(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// OutFile is standard output for a child process, which detects a terminal by the file.
func (e *Environment) OutFile() io.Writer {
	if f, ok := e.Streams.Out.(interface{ File() io.Writer }); ok {
		return f.File()
	}
	return e.Streams.Out
}

// Options are the parsed arguments and flags of a verb.
type Options interface {
	// Complete parses the arguments and the values of flags. It reads neither files nor clusters.
	Complete(args []string) error
	// Validate refuses combinations of flags.
	Validate() error
	// Run reads, evaluates and prints. The exit status is that of its error.
	Run(ctx context.Context) error
}

// RunE runs the three steps. An error of the first two is a usage error.
func RunE(o Options) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		err := o.Complete(args)
		if err == nil {
			err = o.Validate()
		}
		if err != nil {
			return AsUsageError(err)
		}
		return o.Run(c.Context())
	}
}

// AsUsageError returns an error of the command line: a usage error, unless it has an exit status.
func AsUsageError(err error) error {
	if _, explained := errors.AsType[*Error](err); err == nil || explained {
		return err
	}
	return UsageError(err)
}

// Interruption coordinates a verb and the process after an interruption. A verb ends when its context ends. If it does
// not, the process ends it, unless the verb holds the interruption. On a nil Interruption the methods have no effect:
// the process never ends the verb.
type Interruption struct {
	mu       sync.Mutex
	holders  int
	released chan struct{} // closed when the last holder has released; nil without holders
	cancels  []context.CancelFunc
}

// Hold keeps the process from ending the verb until release is called: while the verb writes to the cluster and records
// the writes, or drains connections. The returned context does not end with ctx. Expire ends it, which cancels pending
// requests.
func (i *Interruption) Hold(ctx context.Context) (finish context.Context, release func()) {
	finish, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if i == nil {
		return finish, cancel
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.holders++; i.holders == 1 {
		i.released = make(chan struct{})
	}
	i.cancels = append(i.cancels, cancel)
	return finish, func() {
		cancel()
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.holders--; i.holders == 0 {
			close(i.released)
			i.released = nil
		}
	}
}

// Expire ends the contexts of all holders. The channel is closed when all have released; it is nil without holders.
func (i *Interruption) Expire() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, cancel := range i.cancels {
		cancel()
	}
	return i.released
}

// The statuses of audit and of every verb that only reads.
const (
	// ExitOK: no findings at or above the severity of --fail-on.
	ExitOK = 0
	// ExitFound: findings at or above it.
	ExitFound = 1
	// ExitUsage: wrong usage of the command line.
	ExitUsage = 2
	// ExitFailed: not completed, no Fleet found, nothing could be read, or a gap under --require-complete.
	ExitFailed = 3
)

// Error is an error with an exit status.
type Error struct {
	Status int
	Err    error
	// Hint is a second line for the user: the next step.
	Hint string
	// Shown is true if the error needs no message: everything was printed.
	Shown bool
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return "findings"
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// UsageError returns an error with the status of wrong usage.
func UsageError(err error) error { return &Error{Status: ExitUsage, Err: err} }

// Failure returns an error with the status of a run that is not complete, and the next step for the user.
func Failure(err error, hint string) error { return &Error{Status: ExitFailed, Err: err, Hint: hint} }

// Errors are several errors, each with its own hint.
type Errors []error

// Error implements error. The messages are lines.
func (e Errors) Error() string { return errors.Join(e...).Error() }

// Unwrap returns the errors. The exit status is that of the first one.
func (e Errors) Unwrap() []error { return e }

// ExitStatus is the exit status of an error, ExitFailed for an error without one.
func ExitStatus(err error) int {
	if err == nil {
		return ExitOK
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return ExitFailed
}

// removed are the commands, flags and formats that only the previous version had, with what replaces each. A name
// without a command is that of a flag of several commands. They are kept for one version.
var removed = map[string]string{
	"audit --from-metrics": "the dashboards of the auditor show this",
	"audit --as-version":   "use compare --as-version",
	"audit --baseline": "compare shows what changed since a report, and the ignore file leaves known findings " +
		"out",
	"audit -o github":         "use -o markdown for the summary of a job, or -o sarif for code scanning",
	"audit -o openreports":    "use the auditor with --open-reports, or -o sarif for code scanning",
	"audit -o prometheus":     "the auditor exports metrics",
	"--no-pager":              "the output never goes through a pager",
	"completion --install":    "docs/install.md shows how to complete kubectl fleetdoctor",
	"auditor install --adopt": "use the admission webhook, or the verb adopt",
	"auditor serve --adopt":   "use the admission webhook, or the verb adopt",
	"tree":                    "use audit -o tree",
	"webhook test":            "use webhook status, which sends the same requests",
	"webhook enable":          "use webhook install",
	"webhook disable":         "delete the webhook configurations (docs/webhook.md), or use webhook uninstall",
}

// Removed says that a word on the command line was removed, and what replaces it: a command, a flag or a format; "" for
// another word. command is the path of the command before the word. The flags whose names begin with that of a removed
// flag and a hyphen were removed with it.
func Removed(command, word string) string {
	given := command + " " + word
	for name, replacement := range removed {
		if strings.HasSuffix(given, " "+name) || strings.Contains(given, " "+name+"-") {
			return word + " was removed: " + replacement
		}
	}
	return ""
}

// NoCommand refuses arguments, and suggests similar subcommands.
func NoCommand(c *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	if gone := Removed(c.CommandPath(), words[0]); gone != "" {
		return UsageError(errors.New(gone))
	}
	err := &Error{Status: ExitUsage, Err: fmt.Errorf("unknown command %q", words[0])}
	similar := c.SuggestionsFor(words[0])
	for i, name := range similar {
		similar[i] = strconv.Quote(name)
	}
	if len(similar) > 0 {
		err.Hint = "Did you mean " + strings.Join(similar, " or ") + "?"
	}
	return err
}

// AddSelector adds the flag --selector. kinds are the objects that it selects.
func AddSelector(fs *pflag.FlagSet, value *string, kinds string) {
	fs.StringVarP(value, "selector", "l", "", "Only the "+kinds+" with these labels")
}

// ParseSelector parses the value of --selector; nil if it is empty.
func ParseSelector(value string) (labels.Selector, error) {
	if value == "" {
		return nil, nil
	}
	s, err := labels.Parse(value)
	if err != nil {
		return nil, fmt.Errorf("parsing --selector %q: %w", value, err)
	}
	return s, nil
}
