// SPDX-License-Identifier: Apache-2.0

// Command bench measures an audit against a real API server, beside the two things that bound it: the floor, which is its own requests
// with their answers thrown away, and kubectl diff, which is what people do without it. Run it at the top of the module:
//
//	go run ./test/bench -n 5000
//
// It starts a control plane, installs releases of 500 objects through Helm with all that Fleet would have around them, makes sure that
// an audit finds every object ready, and then takes interleaved rounds of the floor, an audit as a process of its own, and kubectl diff.
// With -adopt it takes the marks from all objects instead, and then takes rounds of a bare loop of the patches that adopt writes, of adopt, and of
// its undo. With -webhook it writes objects through the API server: with no webhook, with one that does nothing, and with ours.
//
// The table that it prints holds each figure against its target. A target that is missed is no failure of the benchmark: it ends with 1
// only where something could not be measured.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/bench/writes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

const productPackage = "github.com/fleetdoctor/kubectl-fleetdoctor/cmd/kubectl-fleetdoctor"

// options mirror the command line.
type options struct {
	sizes         []int
	rounds        int
	kubectlRounds int
	kubectlLimit  int
	product       string
	adopt         bool
	webhook       bool
	known         int
	json          bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	sizes := flags.String("n", "", "numbers of objects to measure at, ascending and parted by commas: 5000,50000 also measures the growth (default 5000; with -webhook 400)")
	flags.IntVar(&o.rounds, "rounds", 7, "rounds at each size")
	flags.IntVar(&o.kubectlRounds, "kubectl-rounds", 3, "rounds in which kubectl diff runs, which takes some 17 s for 5000 objects")
	flags.IntVar(&o.kubectlLimit, "kubectl-limit", 10_000, "number of objects beyond which kubectl diff does not run")
	flags.StringVar(&o.product, "product", "", "program to measure, instead of one built from this checkout")
	flags.BoolVar(&o.adopt, "adopt", false, "measure adopt and its undo, beside a bare loop of the same patches, instead of an audit")
	flags.BoolVar(&o.webhook, "webhook", false, "measure writes through the webhook instead, beside those without one and with one that does nothing")
	flags.IntVar(&o.known, "known", 100_000, "number of objects that the webhook knows of besides those that are written")
	flags.BoolVar(&o.json, "json", false, "print all figures as JSON")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for s := range strings.SplitSeq(cmp.Or(*sizes, o.defaultSize()), ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return o, fmt.Errorf("reading -n: %q is no number of objects", s)
		}
		o.sizes = append(o.sizes, n)
	}
	switch {
	case !slices.IsSorted(o.sizes):
		return o, errors.New("reading -n: the numbers have to ascend, objects are only ever added")
	case o.adopt && o.webhook:
		return o, errors.New("reading flags: -adopt and -webhook are two benchmarks")
	case (o.adopt || o.webhook) && len(o.sizes) > 1:
		return o, errors.New("reading -n: -adopt and -webhook measure at one size")
	case o.known < 0:
		return o, fmt.Errorf("reading -known: %d is no number of objects", o.known)
	case o.rounds < 1:
		return o, errors.New("reading -rounds: it takes one at least")
	case flags.NArg() > 0:
		return o, fmt.Errorf("reading arguments: %q is not wanted", flags.Arg(0))
	}
	return o, nil
}

func (o options) defaultSize() string {
	if o.webhook {
		return "400"
	}
	return "5000"
}

// run does all of it, and leaves nothing behind.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "fleetdoctor-bench-")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{options: o, dir: dir, start: time.Now(), stderr: stderr, product: o.product}
	if b.product == "" && !o.webhook {
		b.product = filepath.Join(dir, "kubectl-fleetdoctor")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", b.product, productPackage)
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building the product: %w\n%s", err, out)
		}
	}
	settings := []cluster.Option{cluster.WithFleetCRDs()}
	if o.webhook {
		settings = append(settings, writes.Room)
	}
	if b.cluster, err = cluster.New(ctx, settings...); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.cluster.Stop()) }()
	b.progress("the control plane runs")
	doc, err := b.run(ctx)
	if err != nil {
		return err
	}
	if o.json {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(doc)
	}
	return doc.print(stdout)
}
