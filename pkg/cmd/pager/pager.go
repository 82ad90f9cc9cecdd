// SPDX-License-Identifier: Apache-2.0

// Package pager shows output that is longer than the terminal in the pager of the user, as git does.
package pager

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
)

// Of returns a stream for one complete output, in a single write. The output goes through the pager if standard output
// is a terminal and the output does not fit on it, otherwise to standard output. If the pager cannot be started, it
// also goes to standard output. The error of a write is an exit.Error if ctx ended while the pager ran.
func Of(ctx context.Context, env verb.Environment) io.Writer {
	command := command()
	if command == "" || !output.Redraws(env.Streams.Out) {
		return env.Streams.Out
	}
	return stream(func(text []byte) (int, error) {
		columns, rows := output.Size(env.Streams.Out)
		fits := printers.Page(string(text), columns, rows-1) == string(text) // the prompt of the shell has the last row
		if fits || !show(ctx, env, command, text) {
			return env.Streams.Out.Write(text)
		}
		if ctx.Err() != nil {
			return len(text), &exit.Error{Status: exit.Failed, Err: ctx.Err(), Shown: true}
		}
		return len(text), nil
	})
}

// stream is a function as an io.Writer.
type stream func([]byte) (int, error)

// Write implements io.Writer.
func (s stream) Write(p []byte) (int, error) { return s(p) }

// command is the command of the pager for a shell; "" for none. PAGER names it, and cat is none.
func command() string {
	switch named, set := os.LookupEnv("PAGER"); {
	case named == "cat":
		return ""
	case set:
		return named
	}
	if _, err := exec.LookPath("less"); err != nil {
		return ""
	}
	return "less"
}

// show runs the pager until the user leaves it, and reports whether it could be started. An interrupt on the terminal
// is for the pager: the program must not end before it, because the shell and the pager would both read the keyboard.
func show(ctx context.Context, env verb.Environment, command string, text []byte) bool {
	_, release := env.Interruption.Hold(ctx)
	defer release()
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt) // a second one would end the program
	defer signal.Stop(interrupts)
	c := exec.CommandContext(context.WithoutCancel(ctx), "sh", "-c", command) // #nosec G204 -- as the user configured
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(text), env.OutFile(), env.Streams.ErrOut
	if _, set := os.LookupEnv("LESS"); !set {
		c.Env = append(os.Environ(), "LESS=FRX") // colours; the output stays on the screen
	}
	err := c.Run()
	ended, started := errors.AsType[*exec.ExitError](err)
	if started {
		return !notFound(ended.ExitCode())
	}
	return err == nil
}

// notFound reports whether an exit status of the shell says that the command was not found, or is no program.
func notFound(status int) bool { return status == 126 || status == 127 }
