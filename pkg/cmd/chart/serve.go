// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
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
	"k8s.io/klog/v2"
	controllerlog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

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
	known := map[string]string{transport.MetricsEndpoint: "--" + metricsFlag, transport.ProbesEndpoint: "--" + probesFlag}
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
