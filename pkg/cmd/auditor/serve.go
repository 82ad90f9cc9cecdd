// SPDX-License-Identifier: Apache-2.0

// Package auditor has the verb auditor and its subcommands, which install, inspect, remove and run the auditor.
package auditor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/metrics"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/publish"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/chart"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/heap"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

type serveOptions struct {
	flags   *input.Flags
	serving *chart.ServeFlags
	version string

	clusterName                  string
	events, openReports, journal bool
}

func newServe(env cli.Environment) *cobra.Command {
	o := &serveOptions{flags: input.New(env), serving: chart.NewServe(), version: env.Version}
	o.flags.Config.Timeout = nil // a watch has none
	c := chart.NewCommand(o, &cobra.Command{Use: "serve", Short: "Keep the result of an audit current, in the cluster"})
	f := c.Flags()
	o.flags.Config.AddFlags(f)
	f.Lookup("namespace").Usage = "Namespace of the auditor's own Lease and ConfigMaps (default that of the pod)"
	o.serving.AddFlags(c)
	f.StringVar(&o.clusterName, "cluster-name", "",
		"NAMESPACE/NAME of this cluster's Cluster, for the metrics of bundle deployments that do not show it")
	f.BoolVar(&o.events, "events", true, "Write Events on objects and bundle deployments when their state changes")
	f.BoolVar(&o.openReports, "open-reports", false, "Keep the findings as reports of openreports.io")
	f.BoolVar(&o.journal, "journal", true, "Keep a journal of the objects and releases that vanished, in ConfigMaps")
	return c
}

// Complete implements cli.Options.
func (o *serveOptions) Complete([]string) error { return nil }

// Validate implements cli.Options.
func (o *serveOptions) Validate() error { return o.serving.Validate() }

// Run serves until the context ends.
func (o *serveOptions) Run(ctx context.Context) error {
	heap.KeepSmall()
	config, err := o.flags.RESTConfig("Outside of a cluster, name a kubeconfig with --kubeconfig or a context with " +
		"--context.")
	if err != nil {
		return err
	}
	namespace, _, err := o.flags.Config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return cli.Failure(fmt.Errorf("finding the namespace: %w", err), "Name it with --namespace.")
	}
	identity, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("finding the name of the pod: %w", err)
	}
	log := o.serving.Logger(o.flags.Streams.ErrOut)
	lease := &auditor.Lease{}
	sinks, err := o.sinks(config, lease, namespace, identity, log)
	if err != nil {
		return err
	}
	s, err := auditor.NewServer(auditor.ServerOptions{Config: config, Namespace: namespace,
		Identity: fmt.Sprintf("%s_%d", identity, os.Getpid()), MetricsAddress: o.serving.Metrics,
		ProbesAddress: o.serving.Probes, Lease: lease, Sinks: sinks, Log: log, Audit: audit.Options{Version: o.version},
		Metrics: metrics.New(metrics.Options{Version: o.version, Cluster: o.clusterName})})
	if err != nil {
		return err
	}
	_, ended := o.flags.Interruption.Hold(ctx) // for writes that are in progress, and to release the Lease
	defer ended()
	return s.Run(ctx)
}

// sinks returns what the leader writes to the cluster.
func (o *serveOptions) sinks(config *rest.Config, lease *auditor.Lease, namespace, pod string,
	log logr.Logger) ([]auditor.Sink, error) {
	config = rest.CopyConfig(config)
	config.Wrap(lease.Guard)
	config = transport.Guard(config, transport.Bounds{Answer: maxAnswer})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	anyKind, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	how := publish.Options{Instance: pod, Namespace: namespace, Now: time.Now, Log: log}
	var out []auditor.Sink
	if o.events {
		out = append(out, publish.NewEvents(client.EventsV1(), how))
	}
	if o.openReports {
		out = append(out, publish.NewReports(anyKind, how))
	}
	if o.journal {
		out = append(out, publish.NewJournal(client.CoreV1(), how))
	}
	return out, nil
}

// maxAnswer limits an answer that a writer reads, in bytes.
const maxAnswer = 64 << 20

// AddHint implements chart.Subcommand.
func (o *serveOptions) AddHint(err error) error {
	listen, ok := errors.AsType[*transport.ListenError](err)
	if !ok {
		return err
	}
	return cli.Failure(err, chart.ServeHint(listen, nil))
}

// values are the flags for the values of the chart. They implement chart.Values.
type values struct {
	Values
	events, journal        bool
	prometheus, dashboards *cli.Enum
	readRules              string
}

func newValues() *values {
	return &values{prometheus: cli.NewEnum("none", "none", "operator"),
		dashboards: cli.NewEnum("none", "none", "configmap")}
}

// AddFlags implements chart.Values.
func (v *values) AddFlags(c *cobra.Command, common *install.Common) {
	v.prometheus.AddTo(c, "prometheus", "Also create a PodMonitor and a PrometheusRule of the Prometheus operator")
	v.dashboards.AddTo(c, "dashboards", "Also create a ConfigMap with dashboards for Grafana's sidecar")
	f := c.Flags()
	f.StringVar(&v.ClusterName, "cluster-name", "",
		"NAMESPACE/NAME of this cluster's Cluster on the management cluster, for the labels of metrics")
	f.BoolVar(&v.events, "events", true, "Write an Event when the state of an object changes")
	f.BoolVar(&v.OpenReports, "open-reports", false,
		"Write the findings as OpenReports, whose kinds must be installed")
	f.BoolVar(&v.journal, "journal", true, "Keep a journal of removed objects and uninstalled releases in ConfigMaps")
	f.StringVar(&v.readRules, "read-rules", "",
		"File with a ClusterRole, as audit --print-rbac prints it: the only kinds that bundles deploy and that the "+
			"auditor may read (default all kinds)")
	f.StringToStringVar(&v.PrometheusLabels, "prometheus-labels", nil,
		"Labels of the PodMonitor and the PrometheusRule, by which a Prometheus selects them")
	f.BoolVar(&v.Keep, "keep", false,
		"Keep all objects if another program uninstalls the release; auditor uninstall removes them")
	f.StringSliceVar(&common.APIServers, "api-servers", nil,
		"The only addresses (IP or CIDR) that the auditor reaches: those of the API servers, and of the Service "+
			"kubernetes (default all)")
	for _, former := range []string{"prometheus", "prometheus-labels", "dashboards"} {
		_ = f.MarkHidden(former) // the flag exists; the chart warns of its value
	}
}

// Parse implements chart.Values.
func (v *values) Parse(common install.Common, isGiven install.Given) (any, error) {
	for key, value := range v.PrometheusLabels {
		wrong := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...)
		if wrong != nil {
			return nil, fmt.Errorf("--prometheus-labels has the invalid label %q: %s", key+"="+value, wrong[0])
		}
	}
	v.Common, v.Events, v.Journal = common, &v.events, &v.journal
	v.Prometheus, v.Dashboards = v.prometheus.String(), v.dashboards.String()
	switch {
	case !isGiven("read-rules"):
		return &v.Values, nil
	case v.readRules == "": // an unset variable in a script would grant access to all kinds
		return nil, errors.New("--read-rules is empty")
	}
	role, err := os.ReadFile(v.readRules)
	if err != nil {
		return nil, fmt.Errorf("--read-rules: %w", err)
	}
	if v.ReadRules, err = ParseReadRules(role); err != nil {
		return nil, fmt.Errorf("--read-rules: %s: %w", v.readRules, err)
	}
	return &v.Values, nil
}

// component is what the verb installs.
var component = chart.Component{
	Chart: Chart, Verb: "auditor", Noun: "the auditor",
	NotReady: "It becomes ready when it has read everything.",
	Otherwise: func(o *input.Flags) string {
		return "If Fleet has kept the objects of a bundle that was removed: " +
			o.Command("auditor uninstall --"+chart.DeployedByFleet)
	},
	Kept:     "others may have objects in it, and it has the auditor's journal",
	Outlives: true,
}

// statusRights are the rights that status requires, in terms of RBAC.
const statusRights = "It requires get on the objects of an installation (auditor install --dry-run=client lists " +
	"them) and on pods/proxy,\nand list on secrets and pods."

// NewCommand returns the verb and its subcommands.
func NewCommand(env cli.Environment) *cobra.Command {
	return chart.NewVerb("auditor", "Install, inspect and remove the auditor, which keeps an audit current",
		chart.NewInstall(env, component, "Install the auditor, or upgrade it", newValues()),
		chart.NewStatus(env, component, "Report the state of the auditor", statusRights, nil, evaluate),
		newHistory(env), newServe(env),
		chart.NewUninstall(env, component, "Remove the auditor from the cluster"))
}

// evaluate implements chart.Evaluator.
func evaluate(ctx context.Context, c *install.Cluster, f install.Facts) (*install.Status, any, []string) {
	s := Evaluate(Read(ctx, c, f))
	var names []string
	for _, r := range s.Replicas {
		names = append(names, "pod/"+escape.Line(r.Pod))
	}
	return &s.Status, s, names
}
