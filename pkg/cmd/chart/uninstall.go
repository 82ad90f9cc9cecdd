// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"
	controllerlog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

type uninstallOptions struct {
	options
	yes, ofFleet bool
}

// NewUninstall returns the subcommand uninstall.
func NewUninstall(env cli.Environment, component Component, short string) *cobra.Command {
	o := &uninstallOptions{options: newOptions(env, component, "It requires get, list and delete on every kind of an "+
		"installation ("+component.Verb+" install --dry-run=client lists\nthem), and update on secrets. "+
		"cluster-admin has all of them.")}
	c := NewCommand(o, &cobra.Command{Use: "uninstall", Short: short})
	o.addFlags(c, namespaceUsage)
	o.dryRun.AddDryRun(c,
		"Only print what would be deleted (client), or also let the server check it (server)")
	if component.Outlives {
		c.Flags().BoolVar(&o.ofFleet, DeployedByFleet, false, "Also remove what Fleet deployed: for objects that it "+
			"has kept when their bundle was removed. If the bundle exists, Fleet deploys them again")
	}
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "Delete without asking")
	return c
}

// Run implements cli.Options.
func (o *uninstallOptions) Run(ctx context.Context) error {
	in, err := o.open(ctx, o.ofFleet)
	if err != nil {
		return err
	}
	targets, err := in.cluster.Objects(ctx, o.component.Chart, in.Namespace)
	if err != nil {
		return err
	}
	if len(targets) == 0 && in.helm.Last == nil {
		fmt.Fprintf(o.Streams.ErrOut, "Nothing to remove: there is no installation in namespace %s.\n", in.Namespace)
		return nil
	}
	if err := o.confirm(ctx, targets); err != nil {
		return err
	}
	if in.helm.Last == nil || o.isDryRun() {
		return o.remove(ctx, in.cluster, targets)
	}
	uninstallErr := in.helm.Uninstall()
	rest, err := in.cluster.Objects(ctx, o.component.Chart, in.Namespace)
	if err != nil {
		return errors.Join(uninstallErr, err)
	}
	for _, t := range install.Without(targets, rest) {
		o.reportDeleted(install.RefOf(t))
	}
	if err := errors.Join(uninstallErr, o.remove(ctx, in.cluster, rest)); err != nil {
		return err
	}
	fmt.Fprintf(o.Streams.ErrOut, "Namespace %[1]s is kept: %[2]s. If nobody needs them:\n"+
		"  kubectl delete namespace %[1]s\n", in.Namespace, o.component.Kept)
	return nil
}

// confirm prints what will be deleted, and asks. It returns nil if the user agrees.
func (o *uninstallOptions) confirm(ctx context.Context, targets []*unstructured.Unstructured) error {
	if o.yes || o.isDryRun() {
		return nil
	}
	fmt.Fprintln(o.Streams.ErrOut, "To be deleted:")
	for _, t := range targets {
		fmt.Fprintf(o.Streams.ErrOut, "  %s\n", nameOf(install.RefOf(t)))
	}
	if !output.IsTerminal(o.Streams.In) {
		return &cli.Error{Status: cli.ExitFound,
			Err:  errors.New("nothing was deleted: standard input is not a terminal"),
			Hint: "--yes deletes without asking."}
	}
	yes, err := output.Ask(ctx, o.Streams, fmt.Sprintf("Delete these objects (%d)?", len(targets)))
	switch {
	case err != nil:
		fmt.Fprintln(o.Streams.ErrOut, "interrupted: nothing was deleted")
		return &cli.Error{Status: cli.ExitFailed, Err: err, Shown: true}
	case !yes:
		return &cli.Error{Status: cli.ExitFound, Err: errors.New("nothing was deleted")}
	}
	return nil
}

const metricsFlag, probesFlag = "metrics-bind-address", "health-probe-bind-address"

// ServeFlags mirror the flags.
type ServeFlags struct {
	// Metrics and Probes are addresses as "host:port"; "0" means none.
	Metrics, Probes string
	level           *cli.Enum
}

// NewServe returns the flags.
func NewServe() *ServeFlags { return &ServeFlags{level: cli.NewEnum("info", "info", "debug")} }

// AddFlags adds the flags to a command.
func (f *ServeFlags) AddFlags(c *cobra.Command) {
	f.level.AddTo(c, "log-level", "Level of the log")
	c.Flags().StringVar(&f.Metrics, metricsFlag, ":8080", "Address for /metrics; 0 for none")
	c.Flags().StringVar(&f.Probes, probesFlag, ":8081", "Address for /livez and /readyz; 0 for none")
}

// Validate refuses invalid addresses.
func (f *ServeFlags) Validate() error {
	for _, address := range []struct{ flag, value string }{{metricsFlag, f.Metrics}, {probesFlag, f.Probes}} {
		if address.value == "0" {
			continue
		}
		_, port, err := net.SplitHostPort(address.value)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			return fmt.Errorf("--%s=%q is invalid: must be HOST:PORT, :PORT, or 0 for none", address.flag,
				address.value)
		}
	}
	return nil
}

// ServeHint returns what to do about an address on which nothing can listen. others are the flags of other endpoints.
func ServeHint(err *transport.ListenError, others map[string]string) string {
	known := map[string]string{transport.MetricsEndpoint: "--" + metricsFlag, transport.ProbesEndpoint: "--" +
		probesFlag}
	hint := "Choose another address with " + cmp.Or(known[err.Endpoint], others[err.Endpoint]) + "."
	if errors.Is(err, syscall.EADDRINUSE) {
		hint = "Another process listens there. " + hint
	}
	return hint
}

// Logger returns a logger of JSON on a stream, and sets it for the libraries of this process: klog,
// controller-runtime, net/http.
func (f *ServeFlags) Logger(w io.Writer) logr.Logger {
	level := map[string]slog.Level{"debug": slog.LevelDebug}[f.level.String()] // info is 0
	handler := slog.NewJSONHandler(escape.JSONWriter(w), &slog.HandlerOptions{Level: level})
	log := logr.FromSlogHandler(handler)
	libraries.Do(func() {
		slog.SetDefault(slog.New(handler))
		klog.SetLoggerWithOptions(log, klog.ContextualLogger(true))
		controllerlog.SetLogger(log)
	})
	return log
}

// libraries guards the loggers of libraries, which are global; klog's must not change while it logs.
var libraries sync.Once
