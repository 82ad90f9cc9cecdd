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

	"github.com/mitchellh/go-wordwrap"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

// options has the flags of every subcommand: those that select a cluster, a namespace and a format, and --dry-run.
type options struct {
	*input.Flags
	component Component
	// rights are printed if the cluster refuses a request.
	rights string
	print  *output.PrintFlags
	show   output.Printer
	dryRun *cli.Enum
	// columns is the width of the terminal; 0 without one.
	columns int
}

// The values of --dry-run.
const (
	dryRunNone   = "none"
	dryRunClient = "client" // no request that writes
	dryRunServer = "server" // Helm and the server check the change, and nothing is stored
)

// newOptions escapes the output of the subcommand, which quotes names and messages of servers. rights are those that it
// requires, in terms of RBAC.
func newOptions(env cli.Environment, component Component, rights string) options {
	columns := output.Width(env.Streams.Out)
	env.Streams.Out, env.Streams.ErrOut = escape.TextWriter(env.Streams.Out), escape.TextWriter(env.Streams.ErrOut)
	return options{Flags: input.New(env), component: component, rights: rights, columns: columns,
		print: output.NewPrintFlags(), dryRun: cli.NewEnum(dryRunNone, dryRunNone, dryRunClient, dryRunServer)}
}

// subcommand returns the command line of a subcommand.
func (o *options) subcommand(name string) string { return o.Command(o.component.Verb + " " + name) }

// namespaceUsage is the usage of --namespace for a subcommand of an installation.
const namespaceUsage = "Namespace of the installation (default the one that its cluster-scoped objects name, else " +
	install.Namespace + ")"

// addFlags adds kubectl's own flags, with another usage of --namespace.
func (o *options) addFlags(c *cobra.Command, namespace string) {
	o.Changed = c.Flags().Changed
	o.Config.AddFlags(c.Flags())
	c.Flags().Lookup("namespace").Usage = namespace
}

// Complete implements cli.Options.
func (o *options) Complete([]string) error { return nil }

// Validate implements cli.Options.
func (o *options) Validate() (err error) {
	if o.show, err = o.print.ToPrinter(); err != nil {
		return err
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

// isDryRun reports whether nothing may be written, and isClientDryRun whether not even a dry run may be sent to the
// server.
func (o *options) isDryRun() bool       { return o.dryRun.String() != dryRunNone }
func (o *options) isClientDryRun() bool { return o.dryRun.String() == dryRunClient }

// report prints what was done with an object, as kubectl does.
func (o *options) report(r object.Ref, done string) {
	switch o.dryRun.String() {
	case dryRunClient:
		done += " (dry run)"
	case dryRunServer:
		done += " (server dry run)"
	}
	fmt.Fprintf(o.Streams.Out, "%s %s\n", nameOf(r), done)
}

func (o *options) reportDeleted(r object.Ref) { o.report(r, "deleted") }

// remove deletes objects and reports them.
func (o *options) remove(ctx context.Context, c *install.Cluster, targets []*unstructured.Unstructured) error {
	if !o.isClientDryRun() {
		return c.Delete(ctx, targets, o.isDryRun(), o.reportDeleted)
	}
	for _, t := range targets {
		o.reportDeleted(install.RefOf(t))
	}
	return nil
}

// maxAnswer is the limit of one response, in bytes: a page of release records, or the metrics of an auditor.
const maxAnswer = 256 << 20

// connect returns a client and sends no request. Warnings of the API server go to the handler; without one they are
// dropped.
func (o *options) connect(warnings rest.WarningHandlerWithContext) (*install.Cluster, error) {
	config, err := o.RESTConfig("Name a kubeconfig with --kubeconfig or KUBECONFIG, or a context with --context.")
	if err != nil {
		return nil, err
	}
	if warnings != nil {
		config.WarningHandlerWithContext = warnings
	}
	config.QPS = -1 // no rate limit: few pages are read ahead
	httpClient, err := transport.Client(config, transport.Bounds{Answer: maxAnswer})
	if err != nil {
		return nil, fmt.Errorf("preparing the connection: %w", err)
	}
	objects, err := dynamic.NewForConfigAndClient(config, httpClient)
	disco, discoErr := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err := cmp.Or(err, discoErr); err != nil {
		return nil, fmt.Errorf("preparing the connection: %w", err)
	}
	return &install.Cluster{Dynamic: objects, Getter: getter{o.Config, config, memory.NewMemCacheClient(disco)},
		Open: func(ctx context.Context, path string) (io.ReadCloser, error) {
			return disco.RESTClient().Get().AbsPath(path).Stream(ctx)
		}}, nil
}

// getter gives Helm the connection of the command. It keeps no cache on the disk.
type getter struct {
	*genericclioptions.ConfigFlags
	config    *rest.Config
	discovery discovery.CachedDiscoveryInterface
}

// ToRESTConfig implements genericclioptions.RESTClientGetter.
func (g getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }

// ToDiscoveryClient implements genericclioptions.RESTClientGetter.
func (g getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.discovery, nil
}

// ToRESTMapper implements genericclioptions.RESTClientGetter.
func (g getter) ToRESTMapper() (meta.RESTMapper, error) {
	return restmapper.NewDeferredDiscoveryRESTMapper(g.discovery), nil
}

// installed is a cluster with its installation and its Helm release.
type installed struct {
	cluster *install.Cluster
	*install.Installation
	helm *install.Helm
}

// open connects with a cluster, and finds its installation in order to change it. It refuses another namespace than
// that of the installation, because a cluster has one, and an installation by Fleet unless ofFleet is set. Without an
// installation, the result has the namespace for it.
func (o *options) open(ctx context.Context, ofFleet bool) (*installed, error) {
	c, err := o.connect(nil)
	if err != nil {
		return nil, err
	}
	in, err := c.Find(ctx, o.component.Chart, *o.Config.Namespace)
	if err != nil {
		return nil, err
	}
	switch {
	case in.Named != "" && in.Named != in.Namespace:
		err := fmt.Errorf("%s is installed in namespace %s, not in %s", o.component.Noun, in.Named, in.Namespace)
		return nil, cli.Failure(err, "ClusterRoleBinding "+o.component.Name+" names it, and a cluster has one "+
			"installation.\nLeave out -n, or remove that installation first: "+o.subcommand("uninstall")+
			" -n "+in.Named)
	case in.Fleet != "" && !ofFleet:
		err := fmt.Errorf("%s is deployed by Fleet (release %s), which would undo the change", o.component.Noun,
			in.Fleet)
		return nil, cli.Failure(err, "Change the values in its fleet.yaml, or remove it from the GitRepo. "+
			o.component.Otherwise(o.Flags))
	}
	h, err := c.Helm(o.component.Chart, in.Namespace, in.Release)
	return &installed{c, in, h}, err
}

// noKind are the hints for the groups of kinds that another program installs.
var noKind = map[string]string{
	"cert-manager.io": "Install cert-manager first, or leave out --certificates=cert-manager.",
	install.PodMonitorKind.Group: "Install the CustomResourceDefinitions of the Prometheus operator first, or leave " +
		"out podMonitor.enabled\nand prometheusRule.enabled.",
}

// missingKinds returns the kinds that the cluster does not have, in the form Issuer.cert-manager.io.
func missingKinds(err error) []string {
	all := []error{err}
	if several, ok := errors.AsType[utilerrors.Aggregate](err); ok {
		all = utilerrors.Flatten(several).Errors()
	}
	kinds := sets.New[string]()
	for _, e := range all {
		if missing, ok := errors.AsType[*meta.NoKindMatchError](e); ok {
			kinds.Insert(missing.GroupKind.String())
		}
	}
	return sets.List(kinds)
}

// AddHint implements Subcommand.
func (o *options) AddHint(err error) error {
	hint := ""
	switch {
	case strings.Contains(err.Error(), "cannot be imported into the current release"): // Helm has no type for it
		hint = "Nothing was written. Another program installed this object: remove it, or change its installation " +
			"there."
		if o.component.Generated != "" {
			hint += "\nIf " + o.component.Generated + ": " + o.subcommand("uninstall") + ", then install again."
		}
	case strings.Contains(err.Error(), "another operation (install/upgrade/rollback) is in progress"):
		hint = "An earlier command did not finish. Wait for it, or remove what it wrote: " + o.subcommand("uninstall")
	case meta.IsNoMatchError(err):
		if missing := missingKinds(err); missing != nil {
			err = fmt.Errorf("nothing was written: the cluster does not have %s", strings.Join(missing, ", "))
			_, group, _ := strings.Cut(missing[0], ".")
			hint = noKind[group]
		}
	case apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "denied the request"): // by an admission webhook
		hint = o.rights
	case unreachable(err):
		return o.Explain(err)
	}
	return cli.Failure(err, hint)
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

// Evaluator reads the rest of an installation and evaluates it. It returns the part that every chart has, the whole
// document, and what -o name prints.
type Evaluator func(ctx context.Context, c *install.Cluster, f install.Facts) (common *install.Status, whole any,
	names []string)

type statusOptions struct {
	options
	warnings rest.WarningHandlerWithContext
	evaluate Evaluator
}

// NewStatus returns the subcommand status. Warnings of the API server go to the handler; without one they are dropped.
func NewStatus(env cli.Environment, component Component, short, rights string,
	warnings rest.WarningHandlerWithContext, e Evaluator,
) *cobra.Command {
	o := &statusOptions{newOptions(env, component, rights), warnings, e}
	c := NewCommand(o, &cobra.Command{Use: "status", Short: short})
	o.addFlags(c, namespaceUsage)
	o.print.AddFlags(c)
	return c
}

// Run implements cli.Options.
func (o *statusOptions) Run(ctx context.Context) error {
	c, err := o.connect(o.warnings)
	if err != nil {
		return err
	}
	in, err := c.Find(ctx, o.component.Chart, *o.Config.Namespace)
	if err != nil {
		return err
	}
	facts := c.ReadFacts(o.component.Chart, in)
	facts.TakenAt = o.Now()
	s, whole, names := o.evaluate(ctx, c, facts)
	if err := ctx.Err(); err != nil {
		return err
	}
	d := document{whole, []any{whole}, names, func(w io.Writer) { o.printTable(w, s) }}
	if err := o.show.Print(ctx, o.Streams.Out, d); err != nil {
		return err
	}
	switch s.State {
	case install.Wrong:
		return &cli.Error{Status: cli.ExitFound, Shown: true}
	case install.Unknown:
		return &cli.Error{Status: cli.ExitFailed, Shown: true}
	}
	return nil
}

func (o *statusOptions) printTable(w io.Writer, s *install.Status) {
	fmt.Fprintf(w, "Namespace:  %s\n", escape.Line(s.Namespace))
	if s.Image != "" {
		fmt.Fprintf(w, "Image:      %s\n", escape.Line(s.Image))
	}
	switch {
	case s.Release != "":
		fmt.Fprintf(w, "Release:    %s, by Fleet\n", escape.Line(s.Release))
	case s.HelmRelease != "":
		fmt.Fprintf(w, "Release:    %s, by Helm\n", escape.Line(s.HelmRelease))
	}
	fmt.Fprintf(w, "State:      %s\n\n", s.State)
	for _, c := range s.Checks {
		head := fmt.Sprintf("%-8s %-12s ", c.State, c.Name)
		o.wrap(w, head, c.Message)
		for _, text := range c.Details {
			o.wrap(w, strings.Repeat(" ", len(head))+"- ", text)
		}
	}
	if !s.Installed {
		fmt.Fprintf(w, "\nTo install it: %s\n", o.subcommand("install"))
	}
}

// width is the number of columns of the text if the output is no terminal. On a terminal, the text has its width,
// within limits that can be read well.
const width, minWidth, maxWidth = 80, 60, 120

// wrap writes text after a head, with the width of the terminal, and indents further lines by the width of the head.
func (o *options) wrap(w io.Writer, head, text string) {
	columns := width
	if o.columns > 0 {
		columns = min(max(o.columns, minWidth), maxWidth)
	}
	lines := wordwrap.WrapString(strings.Join(strings.Fields(text), " "), uint(max(1, columns-len(head))))
	fmt.Fprintln(w, strings.TrimRight(head+strings.ReplaceAll(lines, "\n", "\n"+strings.Repeat(" ", len(head))), " "))
}
