// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
)

const (
	intervalFlag = "watch-interval"
	// defaultInterval and minInterval limit the load of the API server: each round reads everything again.
	defaultInterval, minInterval = 30 * time.Second, 5 * time.Second
)

// WatchFlags mirror the flags of a watch.
type WatchFlags struct {
	Enabled  bool
	interval time.Duration
	changed  func(flag string) bool
}

// AddFlags adds the flags to a command.
func (f *WatchFlags) AddFlags(c *cobra.Command) {
	f.changed = c.Flags().Changed
	c.Flags().BoolVarP(&f.Enabled, "watch", "w", false, "Repeat until interrupted: redraw the screen on a terminal, "+
		"print changes as lines elsewhere")
	c.Flags().DurationVar(&f.interval, intervalFlag, defaultInterval,
		"Time between the end of a round of --watch and the next one, at least "+minInterval.String()+". Each "+
			"round reads everything again")
}

// Validate refuses flags that a watch cannot follow. captured is true for a snapshot.
func (f *WatchFlags) Validate(captured bool, format *PrintFlags) error {
	switch {
	case !f.Enabled && f.changed(intervalFlag):
		return errors.New("--" + intervalFlag + " requires --watch")
	case !f.Enabled:
		return nil
	case captured:
		return errors.New("--watch and --snapshot are mutually exclusive: a snapshot does not change")
	case format.Quiet():
		return errors.New("--watch and --quiet are mutually exclusive")
	case !format.ForPeople():
		return fmt.Errorf("--watch and --output=%s are mutually exclusive: a watch prints a table or lines",
			format.Format)
	case f.interval < minInterval:
		return fmt.Errorf("--%s=%s is too short: it must be at least %s", intervalFlag, f.interval, minInterval)
	}
	return nil
}

// longestRound is the time after which a round ends with an error, or the interval if that is longer. A server that
// never answers must not look like a cluster that does not change.
const longestRound = 5 * time.Minute

// Rounds are the parts of a verb that a watch repeats. T is the result of a round.
type Rounds[T any] struct {
	// Read makes the result of a round.
	Read func(context.Context) (T, error)
	// Status is the error with the exit status of a result.
	Status func(T) error
	// Print prints the result for a screen with this number of columns and lines. What does not fit is left out.
	Print func(w io.Writer, result T, columns, lines int) error
	// Lines describe the changes from the result before; it is nil in the first round.
	Lines func(before *T, after T) []string
}

// watch is a running watch. err is the error of the last round.
type watch[T any] struct {
	Rounds[T]
	env      cli.Environment
	interval time.Duration
	last     *T
	before   *T // the result of the successful round before the last one
	err      error
	when     time.Time // the end of the last successful round
	changes  []string  // the lines of the last successful round that has changes
	changed  time.Time // its end

	columns, lines int // the size of the terminal that was drawn
}

// resizeCheck is how often the size of the terminal is read.
const resizeCheck = time.Second

// Repeat repeats the rounds until ctx ends. Its error is that of the last complete round. An error of the first round,
// and an error of usage, end the watch; others are shown, and the next round follows.
func Repeat[T any](ctx context.Context, f *WatchFlags, env cli.Environment, rounds Rounds[T]) error {
	w := &watch[T]{Rounds: rounds, env: env, interval: f.interval}
	draw := Redraws(env.Streams.Out)
	for {
		result, err := w.read(ctx)
		switch {
		case ctx.Err() != nil && w.last == nil:
			return ctx.Err()
		case ctx.Err() != nil:
			return w.status()
		case err != nil && (w.last == nil || cli.ExitStatus(err) == cli.ExitUsage):
			return err
		}
		if err := w.show(draw, result, err); err != nil {
			return err
		}
		if w.wait(ctx, draw) != nil {
			return w.status()
		}
	}
}

// read makes the result of a round within a limited time.
func (w *watch[T]) read(ctx context.Context) (T, error) {
	limit := max(longestRound, w.interval)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	result, err := w.Read(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = cli.Failure(fmt.Errorf("reading the cluster was not complete after %s", duration.HumanDuration(limit)),
			"--request-timeout limits each request, and --"+intervalFlag+" beyond that time gives each round "+
				"more time.")
	}
	return result, err
}

// show shows a round: its result, or its error.
func (w *watch[T]) show(draw bool, result T, err error) error {
	if w.err = err; err == nil {
		w.before, w.last, w.when = w.last, &result, w.env.Now()
	}
	switch {
	case err == nil && !draw:
		return w.print()
	case err == nil && w.before != nil: // in the first round, everything is new
		if changes := w.Lines(w.before, *w.last); len(changes) > 0 {
			w.changes, w.changed = changes, w.when
		}
	case !draw:
		fmt.Fprintf(w.env.Streams.ErrOut, "%s error: %s\n", w.time(w.env.Now()), message(err))
		return nil
	}
	return w.draw()
}

// print prints the changes of the last round.
func (w *watch[T]) print() error {
	var b strings.Builder
	for _, line := range w.Lines(w.before, *w.last) {
		fmt.Fprintf(&b, "%s %s\n", w.time(w.when), escape.Line(line))
	}
	_, err := io.WriteString(w.env.Streams.Out, b.String())
	return err
}

// status is the error of the last complete round. An error of reading was shown.
func (w *watch[T]) status() error {
	if w.err != nil {
		return &cli.Error{Status: cli.ExitStatus(w.err), Err: w.err, Shown: true}
	}
	err := w.Status(*w.last)
	if explained, ok := errors.AsType[*cli.Error](err); ok {
		// the interruption is no error to explain
		return &cli.Error{Status: explained.Status, Err: explained.Err, Shown: true}
	}
	return err
}

// clearScreen moves the cursor to the first line and erases the screen (ECMA-48: cursor position, erase in page).
const clearScreen = "\x1b[H\x1b[2J"

// draw replaces the screen by the last result and the last changes. What does not fit is left out: a screen that
// scrolls cannot be redrawn.
func (w *watch[T]) draw() error {
	w.columns, w.lines = Size(w.env.Streams.Out)
	var b bytes.Buffer
	fmt.Fprintf(&b, "Every %s, last at %s. Ctrl-C to stop.\n", w.interval, w.time(w.when))
	if w.err != nil {
		b.WriteString(printers.Wrapped(fmt.Sprintf("%s error: %s. The result below is older.", w.time(w.env.Now()),
			message(w.err)), w.columns))
	}
	b.WriteByte('\n')
	changes := w.listChanges()
	left := max(1, w.lines-1-strings.Count(b.String()+changes, "\n"))
	result, err := w.body(w.last, left)
	if err != nil {
		return err
	}
	before, err := w.body(w.before, left)
	if err != nil {
		return err
	}
	b.WriteString(printers.Page(printers.Marked(before, result), w.columns, left) + changes)
	_, err = io.WriteString(w.env.Streams.Out, clearScreen+printers.Page(b.String(), w.columns, w.lines-1))
	return err
}

// linesPerChange is the number of lines that a screen must have for each change that it lists.
const linesPerChange = 6

// listChanges lists the last changes, one line each; "" without any.
func (w *watch[T]) listChanges() string {
	if len(w.changes) == 0 {
		return ""
	}
	out := fmt.Sprintf("\nChanged at %s:\n", w.time(w.changed))
	shown := w.changes[:min(len(w.changes), max(1, w.lines/linesPerChange))]
	for _, line := range shown {
		out += printers.Cut(printers.Mark+escape.Line(line), w.columns) + "\n"
	}
	if more := len(w.changes) - len(shown); more > 0 {
		out += fmt.Sprintf("… and %d more\n", more)
	}
	return out
}

// body is a result for the columns beside the marks; "" without a result.
func (w *watch[T]) body(result *T, lines int) (string, error) {
	if result == nil {
		return "", nil
	}
	var b bytes.Buffer
	err := w.Print(&b, *result, w.columns-len(printers.Mark), lines)
	return strings.TrimRight(b.String(), "\n") + "\n", err
}

// wait waits for the next round, and redraws a terminal that has changed its size.
func (w *watch[T]) wait(ctx context.Context, draw bool) error {
	if !draw {
		return w.env.Sleep(ctx, w.interval)
	}
	for left := w.interval; left > 0; left -= resizeCheck {
		if err := w.env.Sleep(ctx, min(left, resizeCheck)); err != nil {
			return err
		}
		if columns, lines := Size(w.env.Streams.Out); columns != w.columns || lines != w.lines {
			if err := w.draw(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *watch[T]) time(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// message is the text of an error on one line, without the credentials of addresses.
func message(err error) string {
	return escape.Line(strings.Join(strings.Fields(escape.WithoutCredentials(err.Error())), " "))
}
