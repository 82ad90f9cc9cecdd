// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	controllerlog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/server"
)

const serveLong = `Serve the admission webhook: the process that runs in the cluster, behind the Service that both webhook
configurations name. "webhook install" puts all of it there; this verb is what its pods run.

The certificate is self-signed, kept in a Secret, and replaced before it expires; or it comes from files,
as cert-manager's mounted Secret. Either is taken up while serving. The Secret has to exist; it may be
empty.

It is ready (/readyz) when it holds a certificate and knows all release records and namespaces. Until
then, and whenever it cannot be reached, requests go on unchanged.

On SIGTERM it says that it is not ready, serves on for --shutdown-delay, finishes what it was asked, and
ends. Logs are JSON, on standard error; they never hold an object.

Exit status: 0 it was told to end, and drained, 2 wrong usage, 3 it could not serve.`

const serveExamples = `  # as it runs in the cluster: namespace and credentials are the pod's
  kubectl-fleetdoctor webhook serve --cert-dir=/certs

  # with the certificate of cert-manager, mounted, and a guard that refuses
  kubectl-fleetdoctor webhook serve --certificates=files --cert-dir=/certs --guard-default=deny

  # only the releases of two namespaces
  kubectl-fleetdoctor webhook serve --release-namespaces=cattle-fleet-system,apps

  # on this machine, for a cluster whose webhook configurations name https://localhost:9443/stamp
  kubectl-fleetdoctor webhook serve --context=dev -n fleetdoctor-system --extra-names=localhost`

// The choices of --certificates.
const (
	selfSigned = "self-signed"
	fromFiles  = "files"
)

// The choices of --log-level.
const (
	levelInfo  = "info"
	levelDebug = "debug"
)

// serveOptions mirror the command line.
type serveOptions struct {
	streams      genericiooptions.IOStreams
	interruption *verb.Interruption
	config       *genericclioptions.ConfigFlags

	certificates  *flags.Enum
	guardDefault  *flags.Enum
	logLevel      *flags.Enum
	certDir       string
	certSecret    string
	service       string
	configuration string
	extraNames    []string
	releases      []string
	port          int
	host          string
	metrics       string
	probes        string
	shutdownDelay time.Duration
}

// newServe makes the verb `webhook serve`.
func newServe(env verb.Environment) *cobra.Command {
	o := &serveOptions{
		streams:      env.Streams,
		interruption: env.Interruption,
		config:       genericclioptions.NewConfigFlags(true),
		certificates: flags.NewEnum(selfSigned, selfSigned, fromFiles),
		guardDefault: newGuardDefault(),
		logLevel:     flags.NewEnum(levelInfo, levelInfo, levelDebug),
	}
	// A watch has no timeout, and what was discovered another day is not asked for.
	o.config.Timeout, o.config.CacheDir = nil, nil
	c := &cobra.Command{
		Use:               "serve",
		Short:             "Serve the admission webhook, in the cluster",
		Long:              serveLong,
		Example:           serveExamples,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, _ []string) error { return o.run(c.Context()) },
	}
	f := c.Flags()
	o.config.AddFlags(f)
	f.Lookup("namespace").Usage = "Namespace of the webhook itself, where its Secret and its Service are; in a pod, the pod's"
	f.Var(o.certificates, "certificates", "Where the serving certificate comes from")
	f.StringVar(&o.certDir, "cert-dir", "", "Folder of "+server.CertName+" and "+server.KeyName+", with --certificates=files; else one to write the public certificate to (default one below the system's temporary folder)")
	f.StringVar(&o.certSecret, "cert-secret", install.SecretName, "Secret that keeps a self-signed certificate")
	f.StringVar(&o.service, "service", install.Name, "Service that a self-signed certificate is for")
	f.StringVar(&o.configuration, "configuration", install.Name, "Webhook configurations, mutating and validating, whose caBundle is set to the authority of a self-signed certificate")
	f.StringSliceVar(&o.extraNames, "extra-names", nil, "Further DNS names of a self-signed certificate. Those of one that exists do not change")
	f.Var(o.guardDefault, "guard-default", "What the guard does where no label "+admission.GuardLabel+" says it")
	f.StringSliceVar(&o.releases, "release-namespaces", nil, "Namespaces whose release records are read (default all)")
	f.IntVar(&o.port, "port", 9443, "Port for admission requests")
	f.StringVar(&o.host, "bind-address", "", "IP address for admission requests (default all)")
	f.StringVar(&o.metrics, "metrics-bind-address", ":8080", "Address for /metrics; 0 for none")
	f.StringVar(&o.probes, "health-probe-bind-address", ":8081", "Address for /livez and /readyz; 0 for none")
	f.DurationVar(&o.shutdownDelay, "shutdown-delay", 5*time.Second, "How long to serve on when told to end, while the endpoint is withdrawn")
	f.Var(o.logLevel, "log-level", "What to log")
	for name, e := range map[string]*flags.Enum{"certificates": o.certificates, "guard-default": o.guardDefault, "log-level": o.logLevel} {
		if err := c.RegisterFlagCompletionFunc(name, e.Complete); err != nil {
			return c // the flags were just added: there is nothing that could be missing
		}
	}
	return c
}

// noArgs is cobra.NoArgs, as a usage error.
func noArgs(c *cobra.Command, args []string) error {
	if err := cobra.NoArgs(c, args); err != nil {
		return exit.UsageError(err)
	}
	return nil
}

// run serves until the context ends.
func (o *serveOptions) run(ctx context.Context) error {
	so, err := o.toOptions()
	if err != nil {
		return err
	}
	so.Log = o.logger()
	s, err := server.New(so)
	if err != nil {
		return o.explain(err)
	}
	_, drained := o.interruption.Hold(ctx)
	defer drained()
	if err := s.Run(ctx); err != nil {
		if ctx.Err() != nil { // the root would call it interrupted
			so.Log.Error(err, "not drained")
			return &exit.Error{Status: exit.Failed, Err: err, Shown: true}
		}
		return o.explain(err)
	}
	return nil
}

// logger logs as JSON on standard error, and makes this process's libraries do so: klog, controller-runtime, and what logs for net/http.
func (o *serveOptions) logger() logr.Logger {
	level := slog.LevelInfo
	if o.logLevel.String() == levelDebug {
		level = slog.LevelDebug
	}
	handler := slog.NewJSONHandler(escape.JSONWriter(o.streams.ErrOut), &slog.HandlerOptions{Level: level})
	log := logr.FromSlogHandler(handler)
	libraries.Do(func() {
		slog.SetDefault(slog.New(handler))
		klog.SetLoggerWithOptions(log, klog.ContextualLogger(true))
		controllerlog.SetLogger(log)
	})
	return log
}

// libraries take their logger for the whole process, and klog not while it logs.
var libraries sync.Once

// explain adds to an error what to do about it.
func (o *serveOptions) explain(err error) error {
	e := &exit.Error{Status: exit.Failed, Err: err}
	var listen *server.ListenError
	if errors.As(err, &listen) {
		flag := map[string]string{server.Requests: "--port", server.Metrics: "--metrics-bind-address", server.Probes: "--health-probe-bind-address"}[listen.Endpoint]
		e.Hint = "Choose where with " + flag + "."
		if errors.Is(err, syscall.EADDRINUSE) {
			e.Hint = "Somebody listens there already. Choose another with " + flag + "."
		}
	}
	var status apierrors.APIStatus
	if apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Name == o.certSecret {
		e.Hint = fmt.Sprintf("Secret %q has to exist, and may be empty; name another with --cert-secret and --namespace.", o.certSecret)
	}
	return e
}
