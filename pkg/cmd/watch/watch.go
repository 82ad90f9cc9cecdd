// SPDX-License-Identifier: Apache-2.0

// Package watch repeats a verb that only reads: on a terminal it redraws the result, elsewhere it prints a line for each change.
package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
)

const (
	intervalFlag = "watch-interval"
	// defaultInterval and minInterval limit the load of the API server: each round reads everything again.
	defaultInterval, minInterval = 30 * time.Second, 5 * time.Second
)

// Flags mirror the flags of a watch.
type Flags struct {
	Enabled  bool
	interval time.Duration
	changed  func(flag string) bool
}

// AddFlags adds the flags to a command.
func (f *Flags) AddFlags(c *cobra.Command) {
	f.changed = c.Flags().Changed
	c.Flags().BoolVarP(&f.Enabled, "watch", "w", false, "Repeat until interrupted: redraw the table on a terminal, print changes as lines elsewhere")
	c.Flags().DurationVar(&f.interval, intervalFlag, defaultInterval, "Time between the end of a round of --watch and the next one, at least "+minInterval.String()+". Each round reads everything again")
}

// Validate refuses flags that a watch cannot follow. captured is true for a snapshot.
func (f *Flags) Validate(captured bool, format *output.PrintFlags) error {
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
		return fmt.Errorf("--watch and --output=%s are mutually exclusive: a watch prints a table or lines", format.Format)
	case f.interval < minInterval:
		return fmt.Errorf("--%s=%s is too short: it must be at least %s", intervalFlag, f.interval, minInterval)
	}
	return nil
}

// Rounds are the parts of a verb that a watch repeats. T is the result of a round.
type Rounds[T any] struct {
	// Read makes the result of a round.
	Read func(context.Context) (T, error)
	// Status is the error with the exit status of a result.
	Status func(T) error
	// Print prints the result for a terminal of this width.
	Print func(w io.Writer, result T, width int) error
	// Lines describe the changes from the result before; it is nil in the first round.
	Lines func(before *T, after T) []string
}

// watch is a running watch. err is the error of the last round.
type watch[T any] struct {
	Rounds[T]
	env      verb.Environment
	interval time.Duration
	last     *T
	err      error
	at       time.Time // the end of the last successful round

	columns, lines int // the size of the terminal that was drawn
}

// resizeCheck is how often the size of the terminal is read.
const resizeCheck = time.Second

// Run repeats the rounds until ctx ends. Its error is that of the last complete round. An error of the first round, and an error of usage, end the watch;
// others are shown, and the next round follows.
func Run[T any](ctx context.Context, f *Flags, env verb.Environment, rounds Rounds[T]) error {
	w := &watch[T]{Rounds: rounds, env: env, interval: f.interval}
	draw := output.Redraws(env.Streams.Out)
	for {
		result, err := w.Read(ctx)
		switch {
		case ctx.Err() != nil && w.last == nil:
			return ctx.Err()
		case ctx.Err() != nil:
			return w.status()
		case err != nil && (w.last == nil || exit.Status(err) == exit.Usage):
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

// show shows a round: its result, or its error.
func (w *watch[T]) show(draw bool, result T, err error) error {
	before := w.last
	if w.err = err; err == nil {
		w.last, w.at = &result, w.env.Now()
	}
	switch {
	case draw:
		return w.draw()
	case err != nil:
		fmt.Fprintf(w.env.Streams.ErrOut, "%s error: %s\n", w.time(w.env.Now()), message(err))
		return nil
	}
	var b strings.Builder
	for _, line := range w.Lines(before, result) {
		fmt.Fprintf(&b, "%s %s\n", w.time(w.at), escape.Line(line))
	}
	_, err = io.WriteString(w.env.Streams.Out, b.String())
	return err
}

// status is the error of the last complete round. An error of reading was shown.
func (w *watch[T]) status() error {
	if w.err != nil {
		return &exit.Error{Status: exit.Status(w.err), Err: w.err, Shown: true}
	}
	err := w.Status(*w.last)
	if explained, ok := errors.AsType[*exit.Error](err); ok {
		return &exit.Error{Status: explained.Status, Err: explained.Err, Shown: true} // the interruption is no error to explain
	}
	return err
}

// clearScreen moves the cursor to the first line and erases the screen (ECMA-48: cursor position, erase in page).
const clearScreen = "\x1b[H\x1b[2J"

// draw replaces the screen by the last result. What does not fit is left out: a screen that scrolls cannot be redrawn.
func (w *watch[T]) draw() error {
	w.columns, w.lines = output.Size(w.env.Streams.Out)
	var b bytes.Buffer
	fmt.Fprintf(&b, "Every %s, last at %s. Ctrl-C ends the watch.\n", w.interval, w.time(w.at))
	if w.err != nil {
		b.WriteString(printers.Wrapped(fmt.Sprintf("%s error: %s. The result below is older.", w.time(w.env.Now()), message(w.err)), w.columns))
	}
	b.WriteByte('\n')
	if err := w.Print(&b, *w.last, w.columns); err != nil {
		return err
	}
	_, err := io.WriteString(w.env.Streams.Out, clearScreen+printers.Page(b.String(), w.columns, w.lines-1))
	return err
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
		if columns, lines := output.Size(w.env.Streams.Out); columns != w.columns || lines != w.lines {
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
