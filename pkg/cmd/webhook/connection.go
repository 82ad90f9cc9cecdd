// SPDX-License-Identifier: Apache-2.0

package webhook

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
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// The rights that the subcommands require, in terms of RBAC.
const (
	configurationsAPI = "mutatingwebhookconfigurations and validatingwebhookconfigurations " +
		"(admissionregistration.k8s.io)"

	installRights = "It requires the rights of helm install: get, create, patch and delete on every kind of the " +
		"chart\n(--dry-run=client lists them) and on secrets, and the rights that its roles grant, or bind and " +
		"escalate.\n" +
		"cluster-admin has all of them."
	uninstallRights = "It requires get, list and delete on every kind of an installation (webhook install " +
		"--dry-run=client lists\nthem), and update on secrets. cluster-admin has all of them."
	disableRights = "It requires list and delete on " + configurationsAPI + "."
	enableRights  = installRights
	statusRights  = "It requires get on every kind of an installation (webhook install --dry-run=client lists them), " +
		"list on secrets,\nnamespaces and endpointslices, and get on the nonResourceURL /metrics."
	testRights = "It requires get, patch and delete on the object to test with, list on secrets to find one, " +
		"and list on\n" + configurationsAPI + "."
)

// connection has the flags that select a cluster, a namespace and a format. Subcommands embed it.
type connection struct {
	*input.Flags
	// rights are printed if the cluster refuses a request.
	rights string
	print  *output.PrintFlags // nil if the subcommand prints no document
	show   output.Printer
	// columns is the width of the terminal; 0 without one.
	columns int
}

// newConnection escapes the output of the subcommand, which quotes names and messages of servers.
func newConnection(env verb.Environment, rights string) connection {
	columns := output.Width(env.Streams.Out)
	env.Streams.Out, env.Streams.ErrOut = escape.TextWriter(env.Streams.Out), escape.TextWriter(env.Streams.ErrOut)
	return connection{Flags: input.New(env), rights: rights, columns: columns}
}

const namespaceUsage = "Namespace of the installation (default the one that the configurations name, else " +
	installation.Namespace + ")"

// addFlags adds kubectl's own flags, with another usage of --namespace.
func (o *connection) addFlags(c *cobra.Command, namespace string) {
	o.Config.AddFlags(c.Flags())
	c.Flags().Lookup("namespace").Usage = namespace
}

func (o *connection) addPrintFlags(c *cobra.Command) {
	o.print = output.NewPrintFlags()
	o.print.AddFlags(c)
}

// printResult prints a document, and returns the error with the exit status.
func (o *connection) printResult(ctx context.Context, d document, status int) error {
	if err := o.show.Print(ctx, o.Streams.Out, d); err != nil || status == exit.OK {
		return err
	}
	return &exit.Error{Status: status, Shown: true}
}

// Complete implements verb.Options.
func (o *connection) Complete([]string) error { return nil }

// Validate implements verb.Options.
func (o *connection) Validate() (err error) {
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

// namespaceOr returns --namespace, else the namespace where an installation was found, else the default. The namespace
// of the kubeconfig's context is not used: it is that of the user's own objects.
func (o *connection) namespaceOr(found string) string {
	return cmp.Or(*o.Config.Namespace, found, installation.Namespace)
}

// maxAnswer is the limit of one response, in bytes: a page of release records, or the metrics of a large API server.
const maxAnswer = 256 << 20

// connect returns a client and sends no request. Warnings of the API server go to the handler; without one they are
// dropped.
func (o *connection) connect(warnings rest.WarningHandlerWithContext) (*installation.Cluster, error) {
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
	return &installation.Cluster{Dynamic: objects, Mapper: mapper, Getter: getter{o.Config, config, cached, mapper},
		Metrics: func(ctx context.Context) (io.ReadCloser, error) {
			return disco.RESTClient().Get().AbsPath("/metrics").Stream(ctx)
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

// explain adds a hint to an error.
func (o *connection) explain(err error) error {
	e := &exit.Error{Status: exit.Failed, Err: err}
	switch {
	case strings.Contains(err.Error(), "cannot be imported into the current release"): // Helm has no type for it
		e.Hint = "Nothing was written. Another program installed this object: remove it, or change its installation " +
			"there.\nIf cert-manager made the Secret: " + o.Command("webhook uninstall") + ", then install again."
	case strings.Contains(err.Error(), "another operation (install/upgrade/rollback) is in progress"):
		e.Hint = "An earlier command did not finish. Wait for it, or remove what it wrote: " +
			o.Command("webhook uninstall")
	case meta.IsNoMatchError(err):
		e.Hint = "Install cert-manager first, or leave out --certificates=cert-manager."
	case apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "denied the request"): // by an admission webhook
		e.Hint = o.rights
	case unreachable(err):
		return o.Explain(err)
	}
	return e
}

// unreachable reports whether no cluster answered, or one that does not know the user or does not answer like a
// cluster: the kubeconfig may select the wrong cluster. A failed write to a pipe has a type that implements net.Error,
// and does not count.
func unreachable(err error) bool {
	var request *url.Error
	var network *net.OpError
	var size *transport.SizeError
	isAnswer := !errors.As(err, &request) && !errors.As(err, &network) && !errors.As(err, &size)
	return !isAnswer || errors.Is(err, context.DeadlineExceeded) || apierrors.IsUnauthorized(err)
}
