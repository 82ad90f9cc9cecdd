// SPDX-License-Identifier: Apache-2.0

// Command kubectl-fleetdoctor is the kubectl plugin fleetdoctor.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	_ "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/heap" // delays garbage collection
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once, also a verb that holds the process
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	status := cmd.Process(ctx, self, os.Args, genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout,
		ErrOut: os.Stderr})
	stop()
	os.Exit(status)
}
