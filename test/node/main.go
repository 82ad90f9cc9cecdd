// SPDX-License-Identifier: Apache-2.0

// Command node runs the charts of the webhook and of the auditor on a real node: containerd, kubelet and kube-proxy,
// with the image as a release makes it, installed by helm. Run it at the top of the module, as root on Linux:
//
//	make test-node
//
// It prints a line for each check. The exit status is 0 if all hold, 1 if one does not, and 2 if a program is missing.
// The node is in namespaces of its own for network, processes and mounts, which end with the command.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// inside is the variable with the directory of the node, in the process that is in the namespaces.
const inside = "FLEETDOCTOR_NODE"

func main() {
	keep := flag.Bool("keep", false, "keep the directory with the logs")
	previous := flag.String("previous", "", "revision of the previous release; by default the newest tag before HEAD")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, *keep, *previous)
	stop()
	os.Exit(status)
}

func run(ctx context.Context, keep bool, previous string) int {
	if dir := os.Getenv(inside); dir != "" {
		return report(onNode(ctx, dir))
	}
	if missing := missingPrograms(); missing != nil {
		fmt.Fprintln(os.Stderr, "node: not tested, because this is missing:")
		for _, m := range missing {
			fmt.Fprintln(os.Stderr, "  "+m)
		}
		return 2
	}
	dir, err := os.MkdirTemp("", "fleetdoctor-node-")
	if err != nil {
		return report(err)
	}
	if keep {
		fmt.Println("directory:", dir)
	} else {
		defer func() { _ = os.RemoveAll(dir) }() // mounts of containers end with the namespace
	}
	if err := prepare(ctx, dir, previous); err != nil {
		return report(err)
	}
	return report(enter(ctx, dir))
}

// errFailed is the error of a run in which a check failed.
var errFailed = errors.New("a check failed")

func report(err error) int {
	switch {
	case err == nil:
		return 0
	case !errors.Is(err, errFailed):
		fmt.Fprintln(os.Stderr, "node:", err)
	}
	return 1
}

// enter runs this program again in namespaces of its own. Without network access, nothing can be built there.
func enter(ctx context.Context, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
		"--propagation", "private", self)
	cmd.Env = append(os.Environ(), inside+"="+dir, "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv(assetsVariable)+
		":"+os.Getenv("PATH"))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	if exit, ok := errors.AsType[*exec.ExitError](cmd.Run()); ok {
		return fmt.Errorf("%w: %w", errFailed, exit)
	}
	return nil
}

// onNode starts the node and runs the checks.
func onNode(ctx context.Context, dir string) error {
	n := &node{dir: dir}
	defer n.stop()
	if err := n.start(ctx); err != nil {
		return err
	}
	failed := false
	for _, c := range checks {
		start := time.Now()
		detail, err := c.run(ctx, n)
		took := time.Since(start).Round(100 * time.Millisecond)
		if err != nil {
			failed = true
			fmt.Printf("FAILED  %-42s %6s  %v\n", c.name, took, err)
			continue
		}
		fmt.Printf("ok      %-42s %6s  %s\n", c.name, took, detail)
	}
	if failed {
		return errFailed
	}
	return ctx.Err()
}
