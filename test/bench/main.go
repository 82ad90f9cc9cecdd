// SPDX-License-Identifier: Apache-2.0

// Command bench measures an audit against a real API server and compares it with two other programs: the floor, which
// sends the same requests and discards the responses, and kubectl diff, which is the alternative without this product.
// Run it at the top of the module:
//
//	go run ./test/bench -n 5000
//
// It starts a control plane, installs releases of 500 objects with Helm and creates Fleet's objects for them, checks
// that an audit finds every object ready, and then runs the floor, an audit as a process, and kubectl diff in
// interleaved rounds. With -adopt it removes the ownership metadata of all objects, and then measures a bare loop of
// the patches that adopt writes, adopt, and its undo. With -repair it deletes all objects, and then measures bare loops
// that create them, repair, and its undo. With -webhook it writes objects through the API server: without a webhook,
// with one that does nothing, and with ours. With -fleet it creates a management cluster, and runs the floor
// and an audit of the status that Fleet reports, without release records and objects of bundles. With -snapshot it
// takes snapshots, and audits them. With -auditor it runs the auditor, and changes objects. With -clusters it audits
// several clusters in one run, and one cluster in each of as many runs.
//
// It prints a table that compares each figure with its target. A missed target is not an error: the exit status is 1
// only if something could not be measured.
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

// options are the flags.
type options struct {
	sizes         []int
	rounds        int
	kubectlRounds int
	kubectlLimit  int
	product       string
	adopt         bool
	repair        bool
	clientSide    bool
	webhook       bool
	fleet         bool
	snapshot      bool
	clusters      int
	auditor       bool
	known         int
	kubeconfig    string
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
	sizes := flags.String("n", "",
		"numbers of objects, ascending and separated by commas: 5000,50000 also measures the growth (default 5000; "+
			"with -webhook 400, with -fleet 50)")
	flags.IntVar(&o.rounds, "rounds", 7, "rounds at each size")
	flags.IntVar(&o.kubectlRounds, "kubectl-rounds", 3,
		"rounds with kubectl diff, which needs about 17 s for 5000 objects")
	flags.IntVar(&o.kubectlLimit, "kubectl-limit", 10_000, "largest number of objects for kubectl diff")
	flags.StringVar(&o.product, "product", "", "program to measure; by default it is built from this checkout")
	flags.BoolVar(&o.adopt, "adopt", false,
		"measure adopt and its undo instead of an audit, and compare them with a bare loop of the same patches")
	flags.BoolVar(&o.repair, "repair", false,
		"measure a repair of deleted objects and its undo instead of an audit, and compare them with a bare loop of "+
			"the requests that create the objects")
	flags.BoolVar(&o.clientSide, "client-side", false,
		"install the releases with client-side apply, as before Fleet 0.15: repair creates their objects with POST")
	flags.BoolVar(&o.webhook, "webhook", false,
		"measure writes through the webhook instead of an audit, and compare them with no webhook and with one that "+
			"does nothing")
	flags.BoolVar(&o.fleet, "fleet", false,
		"measure an audit of the status alone (--status-only) on a management cluster with -n bundles on -n clusters")
	flags.BoolVar(&o.snapshot, "snapshot", false, "measure snapshots of the cluster, and audits of them")
	flags.BoolVar(&o.auditor, "auditor", false, "measure the auditor in the cluster: its start, its memory, and how "+
		"soon its metrics show a change")
	flags.IntVar(&o.clusters, "clusters", 0,
		"measure audits of this number of clusters with -n objects each, and of one cluster")
	flags.IntVar(&o.known, "known", 100_000,
		"number of objects in the webhook's index, in addition to the written ones")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "",
		"only add the objects to the cluster of this kubeconfig until it has -n, and measure nothing")
	flags.BoolVar(&o.json, "json", false, "print all figures as JSON")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if err := o.setSizes(cmp.Or(*sizes, o.defaultSize())); err != nil {
		return o, err
	}
	oneSize := o.adopt || o.repair || o.webhook || o.fleet || o.clusters > 0
	switch {
	case !slices.IsSorted(o.sizes):
		return o, errors.New("reading -n: the numbers must ascend, because objects are only added")
	case o.modes() > 1:
		return o, errors.New("reading flags: -adopt, -auditor, -clusters, -fleet, -repair, -snapshot and -webhook " +
			"are mutually exclusive")
	case oneSize && len(o.sizes) > 1:
		return o, errors.New("reading -n: -adopt, -clusters, -fleet, -repair and -webhook have one size")
	case o.clusters < 0:
		return o, fmt.Errorf("reading -clusters: %d is not a number of clusters", o.clusters)
	case o.known < 0:
		return o, fmt.Errorf("reading -known: %d is not a number of objects", o.known)
	case o.rounds < 1:
		return o, errors.New("reading -rounds: at least one is required")
	case flags.NArg() > 0:
		return o, fmt.Errorf("reading arguments: unexpected argument %q", flags.Arg(0))
	}
	return o, nil
}

// setSizes sets the numbers of objects from a text with commas.
func (o *options) setSizes(text string) error {
	for s := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return fmt.Errorf("reading -n: %q is not a number of objects", s)
		}
		o.sizes = append(o.sizes, n)
	}
	return nil
}

// modes is the number of flags that state what is measured.
func (o options) modes() int {
	n := 0
	for _, set := range []bool{o.adopt, o.repair, o.auditor, o.webhook, o.fleet, o.snapshot, o.clusters > 0} {
		if set {
			n++
		}
	}
	return n
}

func (o options) defaultSize() string {
	switch {
	case o.webhook:
		return "400"
	case o.fleet:
		return "50"
	}
	return "5000"
}

// buildProduct builds the product of this checkout. A flag that changes how packages are compiled, such as -trimpath,
// would compile all dependencies once more.
func buildProduct(ctx context.Context, file string) error {
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", file, productPackage)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the product: %w\n%s", err, out)
	}
	return nil
}

// run measures, and removes everything that it created.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "fleetdoctor-bench-")
	if err != nil {
		return fmt.Errorf("creating a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{options: o, dir: dir, start: time.Now(), stderr: stderr, product: o.product}
	if o.kubeconfig != "" {
		return b.fill(ctx)
	}
	if b.product == "" && !o.webhook {
		b.product = filepath.Join(dir, "kubectl-fleetdoctor")
		if err := buildProduct(ctx, b.product); err != nil {
			return err
		}
	}
	settings := []cluster.Option{cluster.WithFleetCRDs()}
	if o.webhook {
		settings = append(settings, writes.LargeQuota)
	}
	if b.cluster, err = cluster.New(ctx, settings...); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.cluster.Stop()) }()
	b.progress("the control plane is ready")
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
