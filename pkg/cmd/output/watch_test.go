// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/creack/pty"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// script is a sequence of rounds: a number is the result and the exit status of a round, a negative number an error.
// After the last one, the watch is interrupted: while it waits, or during one more round.
type script struct {
	rounds      []int
	duringRound bool
	usage       bool // the errors are errors of usage
}

// played is what a script printed, the waits between its rounds, and its error.
type played struct {
	out, errOut string
	waits       []time.Duration
	err         error
}

func (s script) play(t *testing.T, out io.Writer, waiting func()) played {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var p played
	var printed, errOut bytes.Buffer
	if out == nil {
		out = &printed
	}
	next := 0
	clock := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	env := cli.Environment{Streams: genericiooptions.IOStreams{Out: out, ErrOut: &errOut}, Now: func() time.Time {
		return clock
	},
		Wait: func(ctx context.Context, d time.Duration) error {
			p.waits, clock = append(p.waits, d), clock.Add(d)
			if waiting != nil {
				waiting()
			}
			if next == len(s.rounds) && !s.duringRound {
				cancel()
			}
			return ctx.Err()
		}}
	p.err = Repeat(ctx, &WatchFlags{Enabled: true, interval: 10 * time.Second}, env, Rounds[int]{
		Read: func(context.Context) (int, error) {
			if next == len(s.rounds) {
				cancel()
				return 0, ctx.Err()
			}
			n := s.rounds[next]
			next++
			switch {
			case n < 0 && s.usage:
				return 0, cli.UsageError(fmt.Errorf("error %d", n))
			case n < 0:
				return 0, fmt.Errorf("error %d\nwith two lines", n)
			}
			return n, nil
		},
		Status: func(n int) error {
			if n == 0 {
				return nil
			}
			return &cli.Error{Status: n}
		},
		Print: func(w io.Writer, n, columns, lines int) error {
			_, err := fmt.Fprintf(w, "result %d for %d × %d\n%s", n, columns, lines, strings.Repeat("line\n", 10))
			return err
		},
		Lines: func(before *int, after int) []string {
			if before == nil {
				return []string{fmt.Sprintf("first \x1b[2J%d", after)}
			}
			if *before == after {
				return nil
			}
			return []string{fmt.Sprintf("%d -> %d", *before, after)}
		},
	})
	p.out, p.errOut = printed.String(), errOut.String()
	return p
}

// TestLines checks the lines of a watch that is not on a terminal, and its exit status: that of the last complete
// round.
func TestLines(t *testing.T) {
	for name, tc := range map[string]struct {
		script
		out, errOut string
		status      int
	}{
		"changes": {script{rounds: []int{1, 1, 0}},
			"2026-01-02T03:04:05Z first \ufffd[2J1\n2026-01-02T03:04:25Z 1 -> 0\n", "", 0},
		"an error between": {script{rounds: []int{0, -1, 1}},
			"2026-01-02T03:04:05Z first \ufffd[2J0\n2026-01-02T03:04:25Z 0 -> 1\n",
			"2026-01-02T03:04:15Z error: error -1 with two lines\n", 1},
		"an error at the end": {script{rounds: []int{0, -1}}, "2026-01-02T03:04:05Z first \ufffd[2J0\n",
			"2026-01-02T03:04:15Z error: error -1 with two lines\n", 3},
		"interrupted during a round": {script{rounds: []int{1}, duringRound: true},
			"2026-01-02T03:04:05Z first \ufffd[2J1\n", "", 1},
		"an error at the start": {script{rounds: []int{-1, 0}}, "", "", 3},
		"wrong usage later": {script{rounds: []int{0, -1, 0}, usage: true},
			"2026-01-02T03:04:05Z first \ufffd[2J0\n", "", 2},
	} {
		got := tc.play(t, nil, nil)
		if got.out != tc.out || got.errOut != tc.errOut || cli.ExitStatus(got.err) != tc.status {
			t.Errorf("%s: status %d, want %d\n%q, want\n%q\n%q, want\n%q", name, cli.ExitStatus(got.err), tc.status,
				got.out, tc.out, got.errOut, tc.errOut)
		}
		if e, explained := errors.AsType[*cli.Error](got.err); tc.status == 1 && (!explained || !e.Shown) {
			t.Errorf("%s: the error would be printed: %v", name, got.err)
		}
	}
	if got := (script{duringRound: true}).play(t, nil, nil); !errors.Is(got.err, context.Canceled) {
		t.Errorf("interrupted in the first round: %v", got.err)
	}
}

// TestNoAnswer checks that a round ends if the server never answers, and that the watch continues after an earlier
// result.
func TestNoAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		interval time.Duration
		answered int // rounds before the server is silent
		errOut   string
		took     time.Duration
	}{
		"from the start": {interval: 10 * time.Second, took: longestRound},
		"later": {10 * time.Second, 1, "error: reading the cluster was not complete after 5m\n", longestRound +
			20*time.Second},
		"long interval": {time.Hour, 1, "error: reading the cluster was not complete after 60m\n", 3 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var out, errOut bytes.Buffer
				round, start := 0, time.Now()
				env := cli.Environment{Streams: genericiooptions.IOStreams{Out: &out, ErrOut: &errOut}, Now: time.Now}
				err := Repeat(ctx, &WatchFlags{Enabled: true, interval: tc.interval}, env, Rounds[int]{
					Read: func(ctx context.Context) (int, error) {
						round++
						if round <= tc.answered {
							return round, nil
						}
						if round > tc.answered+1 {
							cancel()
						}
						<-ctx.Done()
						return 0, fmt.Errorf("reaching the cluster: %w", context.Cause(ctx))
					},
					Status: func(int) error { return nil },
					Lines:  func(*int, int) []string { return []string{"changed"} },
				})
				if took := time.Since(start); cli.ExitStatus(err) != cli.ExitFailed || took != tc.took ||
					!strings.HasSuffix(errOut.String(), tc.errOut) {
					t.Errorf("status %d after %s, want %s: %s", cli.ExitStatus(err), took, tc.took, errOut.String())
				}
			})
		})
	}
}

// TestScreen checks that a terminal is redrawn in each round and after it has changed its size, that the page fits,
// that changes are listed and marked, and that an error is shown beside the last result.
func TestScreen(t *testing.T) {
	t.Setenv("TERM", "xterm")
	user, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	resize := func(columns, rows uint16) {
		if err := pty.Setsize(terminal, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
			t.Error(err)
		}
	}
	resize(80, 20)
	read := make(chan string)
	go func() {
		var all bytes.Buffer
		_, _ = io.Copy(&all, user) // reading ends with an error when the terminal is closed
		read <- all.String()
	}()
	waited := 0
	got := script{rounds: []int{1, 2, -1}}.play(t, terminal, func() {
		if waited++; waited == 3 {
			resize(60, 8)
		}
	})
	if err := terminal.Close(); err != nil {
		t.Error(err)
	}
	screens := strings.Split(strings.ReplaceAll(<-read, "\r\n", "\n"), clearScreen)[1:]
	_ = user.Close() // nothing more is read
	if len(screens) != 4 || len(got.waits) != 21 || cli.ExitStatus(got.err) != cli.ExitFailed || got.errOut != "" {
		t.Fatalf("%d screens, %d waits, status %d, %q:\n%s", len(screens), len(got.waits), cli.ExitStatus(got.err),
			got.errOut, strings.Join(screens, "--\n"))
	}
	for i, want := range [][]string{
		{"Every 10s, last at 2026-01-02T03:04:05Z", "\n  result 1 for 78 × 17\n  line"},
		{"\n  result 1 for 58 × 5\n", "… and 7 more lines"},
		{"last at 2026-01-02T03:04:15Z", "\n\n* result 2 for 58 × 2\n… and 10 more lines\n\nChanged at " +
			"2026-01-02T03:04:15Z:\n* 1 -> 2\n"},
		{"last at 2026-01-02T03:04:15Z", "2026-01-02T03:04:25Z error: error -1"},
	} {
		for _, s := range want {
			if !strings.Contains(screens[i], s) {
				t.Errorf("screen %d has no %q:\n%s", i, s, screens[i])
			}
		}
		if limit := []int{19, 7, 7, 7}[i]; strings.Count(screens[i], "\n") > limit {
			t.Errorf("screen %d has more than %d lines:\n%s", i, limit, screens[i])
		}
	}
}
