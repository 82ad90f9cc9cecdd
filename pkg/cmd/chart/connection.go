// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

// Connection has the flags that select a cluster, a namespace and a format. Subcommands embed it.
type Connection struct {
	*input.Flags
	of Component
	// rights are printed if the cluster refuses a request.
	rights string
	print  *output.PrintFlags // nil if the subcommand prints no document
	show   output.Printer
	// columns is the width of the terminal; 0 without one.
	columns int
}

// NewConnection escapes the output of the subcommand, which quotes names and messages of servers. rights are those that
// it requires, in terms of RBAC.
func NewConnection(env verb.Environment, of Component, rights string) Connection {
	columns := output.Width(env.Streams.Out)
	env.Streams.Out, env.Streams.ErrOut = escape.TextWriter(env.Streams.Out), escape.TextWriter(env.Streams.ErrOut)
	return Connection{Flags: input.New(env), of: of, rights: rights, columns: columns}
}

// subcommand returns the command line of a subcommand.
func (o *Connection) subcommand(name string) string { return o.Command(o.of.Verb + " " + name) }

// namespaceUsage is the usage of --namespace for a subcommand of an installation.
const namespaceUsage = "Namespace of the installation (default the one that its cluster-scoped objects name, else " +
	install.Namespace + ")"

// AddFlags adds kubectl's own flags, with another usage of --namespace.
func (o *Connection) AddFlags(c *cobra.Command, namespace string) {
	o.Config.AddFlags(c.Flags())
	c.Flags().Lookup("namespace").Usage = namespace
}

// AddPrintFlags adds the flags of a document.
func (o *Connection) AddPrintFlags(c *cobra.Command) {
	o.print = output.NewPrintFlags()
	o.print.AddFlags(c)
}

// PrintResult prints a document, and returns the error with the exit status.
func (o *Connection) PrintResult(ctx context.Context, d Document, status int) error {
	if err := o.show.Print(ctx, o.Streams.Out, d); err != nil || status == exit.OK {
		return err
	}
	return &exit.Error{Status: status, Shown: true}
}

// Complete implements verb.Options.
func (o *Connection) Complete([]string) error { return nil }

// Validate implements verb.Options.
func (o *Connection) Validate() (err error) {
	if o.print != nil {
		if o.show, err = o.print.ToPrinter(); err != nil {
			return err
		}
	}
	if *o.Config.Namespace != "" {
		if wrong := validation.IsDNS1123Label(*o.Config.Namespace); wrong != nil {
			return fmt.Errorf("--namespace=%q is invalid: %s", *o.Config.Namespace, wrong[0])
		}
	}
	if _, err := clientcmd.ParseTimeout(*o.Config.Timeout); err != nil {
		return fmt.Errorf("parsing --request-timeout %q: must be a number of seconds, or a duration like 30s or 2m",
			*o.Config.Timeout)
	}
	return nil
}

// maxAnswer is the limit of one response, in bytes: a page of release records, or the metrics of a large API server.
const maxAnswer = 256 << 20

// Connect returns a client and sends no request. Warnings of the API server go to the handler; without one they are
// dropped.
func (o *Connection) Connect(warnings rest.WarningHandlerWithContext) (*install.Cluster, error) {
	config, err := o.RESTConfig("Name a kubeconfig with --kubeconfig or KUBECONFIG, or a context with --context.")
	if err != nil {
		return nil, err
	}
	if warnings != nil {
		config.WarningHandlerWithContext = warnings
	}
	config.QPS = -1 // no rate limit: at most one page is read ahead
	httpClient, err := transport.Client(config, transport.Bounds{Answer: maxAnswer})
	if err != nil {
		return nil, fmt.Errorf("preparing the connection: %w", err)
	}
	objects, err := dynamic.NewForConfigAndClient(config, httpClient)
	disco, discoErr := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err := cmp.Or(err, discoErr); err != nil {
		return nil, fmt.Errorf("preparing the connection: %w", err)
	}
	cached := memory.NewMemCacheClient(disco)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	return &install.Cluster{Dynamic: objects, Mapper: mapper, Getter: getter{o.Config, config, cached, mapper},
		Open: func(ctx context.Context, path string) (io.ReadCloser, error) {
			return disco.RESTClient().Get().AbsPath(path).Stream(ctx)
		}}, nil
}

// getter gives Helm the connection of the command. It keeps no cache on the disk.
type getter struct {
	*genericclioptions.ConfigFlags
	config    *rest.Config
	discovery discovery.CachedDiscoveryInterface
	mapper    meta.RESTMapper
}

// ToRESTConfig implements genericclioptions.RESTClientGetter.
func (g getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }

// ToDiscoveryClient implements genericclioptions.RESTClientGetter.
func (g getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.discovery, nil
}

// ToRESTMapper implements genericclioptions.RESTClientGetter.
func (g getter) ToRESTMapper() (meta.RESTMapper, error) { return g.mapper, nil }

// AddHint implements Subcommand.
func (o *Connection) AddHint(err error) error {
	e := &exit.Error{Status: exit.Failed, Err: err}
	switch {
	case strings.Contains(err.Error(), "cannot be imported into the current release"): // Helm has no type for it
		e.Hint = "Nothing was written. Another program installed this object: remove it, or change its installation " +
			"there."
		if o.of.Generated != "" {
			e.Hint += "\nIf " + o.of.Generated + ": " + o.subcommand("uninstall") + ", then install again."
		}
	case strings.Contains(err.Error(), "another operation (install/upgrade/rollback) is in progress"):
		e.Hint = "An earlier command did not finish. Wait for it, or remove what it wrote: " +
			o.subcommand("uninstall")
	case isAmbiguous(err):
		e.Hint = "Nothing was done. Name the namespace of the installation with -n."
	case meta.IsNoMatchError(err):
		e.Hint = o.of.NoKind
	case apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "denied the request"): // by an admission webhook
		e.Hint = o.rights
	case Unreachable(err):
		return o.Explain(err)
	}
	return e
}

func isAmbiguous(err error) bool {
	var ambiguous *install.AmbiguousError
	return errors.As(err, &ambiguous)
}

// Unreachable reports whether no cluster answered, or one that does not know the user or does not answer like a
// cluster: the kubeconfig may select the wrong cluster. A failed write to a pipe has a type that implements net.Error,
// and does not count.
func Unreachable(err error) bool {
	var request *url.Error
	var network *net.OpError
	var size *transport.SizeError
	isAnswer := !errors.As(err, &request) && !errors.As(err, &network) && !errors.As(err, &size)
	return !isAnswer || errors.Is(err, context.DeadlineExceeded) || apierrors.IsUnauthorized(err)
}
