// SPDX-License-Identifier: Apache-2.0

// Package webhook is the verb webhook and those below it: they put the admission webhook on a cluster, take it away, say how it is doing,
// and are it.
package webhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fleetdoctor/kubectl-fleetdoctor/manifests"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/status"
)

const groupLong = `The admission webhook does at the moment of adoption what adopt does afterwards: it writes Fleet's marks
on objects that a release of Fleet's desires, and warns, or denies, when somebody else takes them away.

A cluster never depends on it: while it does not answer, requests go on without it. If it is in the way
all the same, disable takes it out at once.`

// NewCommand makes the verb and those below it.
func NewCommand(env verb.Environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "webhook",
		Short: "Install, inspect and remove the admission webhook that keeps Fleet's marks",
		Long:  groupLong,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			err := &exit.Error{Status: exit.Usage, Err: fmt.Errorf("unknown command %q", args[0])}
			if meant := c.SuggestionsFor(args[0]); len(meant) > 0 {
				err.Hint = "Did you mean " + strings.Join(meant, " or ") + "?"
			}
			return err
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },

		SuggestionsMinimumDistance: 2,
	}
	c.AddCommand(newInstall(env), newUninstall(env), newStatus(env), newTest(env), newDisable(env), newServe(env))
	return c
}

// The choices of --dry-run, as kubectl has them.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

func newDryRun() *flags.Enum {
	return flags.NewEnum(dryRunNone, dryRunNone, dryRunClient, dryRunServer)
}

// newGuardDefault makes the flag --guard-default.
func newGuardDefault() *flags.Enum {
	var modes []string
	for _, m := range admission.GuardModes() {
		modes = append(modes, string(m))
	}
	return flags.NewEnum(string(admission.GuardWarn), modes...)
}

// dryRunMark is what kubectl writes behind what it only would have done.
func dryRunMark(dryRun *flags.Enum) string {
	switch dryRun.String() {
	case dryRunClient:
		return " (dry run)"
	case dryRunServer:
		return " (server dry run)"
	}
	return ""
}

// connection is the part of a command line that says which cluster, and where in it.
type connection struct {
	*input.Flags
	// rights is what a verb asks the cluster for, said where it was refused.
	rights string
}

// newConnection makes the connection of a verb. What the verb prints is escaped on its way to the streams: it quotes names, and what servers say.
func newConnection(env verb.Environment, rights string) connection {
	env.Streams.Out, env.Streams.ErrOut = escape.TextWriter(env.Streams.Out), escape.TextWriter(env.Streams.ErrOut)
	return connection{input.New(env), rights}
}

// The rights that verbs take, in the words of RBAC.
const (
	configurationsAPI = "mutatingwebhookconfigurations and validatingwebhookconfigurations (admissionregistration.k8s.io)"

	installRights = "It takes get, create, patch and delete on every kind that it applies (--dry-run=client lists them), list on roles and rolebindings,\n" +
		"and the rights that its roles grant, or bind and escalate. cluster-admin has all of it."
	uninstallRights = "It takes get and delete on every kind of an installation (webhook install --dry-run=client lists them), list on roles and rolebindings,\n" +
		"and list on " + configurationsAPI + ". cluster-admin has all of it."
	disableRights = "It takes list and delete on " + configurationsAPI + "."
	statusRights  = "It takes get on every kind of an installation (webhook install --dry-run=client lists them), list on namespaces and endpointslices,\n" +
		"and get on the nonResourceURL /metrics."
	testRights = "It takes get, patch and delete on the object to test with, list on secrets to find one, and list on\n" + configurationsAPI + "."
)

// add adds kubectl's own flags, with another word for --namespace.
func (o connection) add(c *cobra.Command, namespace string) {
	o.Config.AddFlags(c.Flags())
	c.Flags().Lookup("namespace").Usage = namespace
}

// installed is the namespace of an installation: the one that is named, else the one that it was found in. That of the kubeconfig's
// context is where its user works, and never meant.
func (o connection) installed(home string) string {
	return cmp.Or(*o.Config.Namespace, home, install.Namespace)
}

// place finds the namespace of the one installation that a cluster has, and refuses another one.
func (o connection) place(ctx context.Context, cluster *install.Cluster) (string, error) {
	configurations, err := cluster.Configurations(ctx)
	if err != nil {
		return "", o.explain(err)
	}
	is, err := cluster.Home(ctx, configurations)
	if err != nil {
		return "", o.explain(err)
	}
	namespace := o.installed(is)
	if is != "" && is != namespace {
		return "", &exit.Error{Status: exit.Failed, Err: fmt.Errorf("the webhook is installed in namespace %s, and not in %s", is, namespace),
			Hint: "A cluster has one. Leave out -n, or take that one off first: " + o.Command("webhook uninstall") + " -n " + is}
	}
	return namespace, nil
}

func (o connection) validate() error {
	if *o.Config.Namespace != "" {
		if wrong := validation.IsDNS1123Label(*o.Config.Namespace); wrong != nil {
			return fmt.Errorf("--namespace=%q is no name: %s", *o.Config.Namespace, wrong[0])
		}
	}
	if _, err := clientcmd.ParseTimeout(*o.Config.Timeout); err != nil {
		return fmt.Errorf("parsing --request-timeout %q: want a number of seconds, or one with a unit, like 30s or 2m", *o.Config.Timeout)
	}
	return nil
}

// opened is what asks a cluster.
type opened struct {
	*install.Cluster
	// kinds finds a kind by any name that kubectl knows.
	kinds   meta.RESTMapper
	metrics func(context.Context) (io.ReadCloser, error)
}

// reader reads how the webhook of the cluster is doing.
func (o *opened) reader() status.Reader {
	return status.Reader{Cluster: o.Cluster, Metrics: o.metrics, Files: manifests.Files}
}

// maxAnswer bounds one answer, in bytes: a page of release records, or the metrics of a large API server.
const maxAnswer = 256 << 20

// open prepares what asks a cluster, and makes no request. Warnings of the API server go to the handler, to nobody where it is nil.
func (o connection) open(warnings rest.WarningHandlerWithContext) (*opened, error) {
	config, err := o.RESTConfig("Name one with --kubeconfig or --context.")
	if err != nil {
		return nil, err
	}
	if warnings != nil {
		config.WarningHandlerWithContext = warnings
	}
	config.QPS = -1 // requests are made one after the other
	httpClient, err := transport.Client(config, transport.Bounds{Answer: maxAnswer})
	if err != nil {
		return nil, fmt.Errorf("preparing the connection: %w", err)
	}
	client, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection: %w", err)
	}
	objects, err := metadata.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection: %w", err)
	}
	cached := memory.NewMemCacheClient(disco)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	metrics := func(ctx context.Context) (io.ReadCloser, error) {
		return disco.RESTClient().Get().AbsPath("/metrics").Stream(ctx)
	}
	return &opened{&install.Cluster{Dynamic: client, Mapper: mapper, Discovery: disco, Metadata: objects}, restmapper.NewShortcutExpander(mapper, cached, nil), metrics}, nil
}

// explain adds to an error what to do about it.
func (o connection) explain(err error) error {
	var explained *exit.Error
	var foreign *install.ForeignError
	switch {
	case err == nil || errors.As(err, &explained):
		return err
	case errors.As(err, &foreign):
		hint := "Nothing was written. Install into another namespace with -n, or, if they are the webhook's own, hand them over:\n" +
			"  kubectl label KIND NAME " + install.Selector
		if slices.ContainsFunc(foreign.Objects, func(r object.Ref) bool { return r.Kind == "Secret" }) {
			hint += "\nIf cert-manager made the Secret: " + o.Command("webhook uninstall") + ", then install anew."
		}
		return &exit.Error{Status: exit.Failed, Err: err, Hint: hint}
	}
	switch {
	case apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "denied the request"): // which is an admission webhook's word
		return &exit.Error{Status: exit.Failed, Err: err, Hint: o.rights}
	case unreached(err):
		return o.Explain(err)
	}
	return &exit.Error{Status: exit.Failed, Err: err}
}

// unreached says whether no cluster answered, or none that knows the user, or one that answers more than a cluster does: another one may have
// been meant.
func unreached(err error) bool {
	var network net.Error
	var size *transport.SizeError
	return errors.As(err, &network) || errors.As(err, &size) || errors.Is(err, context.DeadlineExceeded) || apierrors.IsUnauthorized(err)
}

// nameOf names an object as kubectl does when it says what became of it. A RoleBinding may be in any namespace, and says which: it grants rights there.
func nameOf(r object.Ref) string {
	kind := strings.ToLower(r.Kind)
	r.Name, r.Namespace = escape.Line(r.Name), escape.Line(r.Namespace) // a line end would make lines of what is no name
	if g := object.Group(r.APIVersion); g != "" {
		kind += "." + g
	}
	if r.Kind == "RoleBinding" {
		return kind + "/" + r.Name + " -n " + r.Namespace
	}
	return kind + "/" + r.Name
}

// complete adds what a shell offers for flags of a few words.
func complete(c *cobra.Command, words map[string]*flags.Enum) *cobra.Command {
	for name, e := range words {
		if err := c.RegisterFlagCompletionFunc(name, e.Complete); err != nil {
			return c // the flags were just added: there is nothing that could be missing
		}
	}
	return c
}

// fleetNote says of objects that Fleet deployed that it may bring them back. It is empty where there are none.
func fleetNote(targets []install.Target) string {
	for _, t := range targets {
		if t.Release == "" {
			continue
		}
		_, name, _ := strings.Cut(t.Release, "/")
		return fmt.Sprintf("Fleet deployed %s (release %s), and may bring it back: with its next deploy, or at once where\n"+
			"correctDrift is on. To keep it away, pause the bundle where Fleet's controller runs:\n"+
			"  kubectl patch bundles.fleet.cattle.io %s -n WORKSPACE --type=merge -p '{\"spec\":{\"paused\":true}}'\n"+
			"or take it out of the GitRepo.\n", nameOf(t.Ref), t.Release, name)
	}
	return ""
}
