// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/installation"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/chart"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
)

type installOptions struct {
	chart.Install
	values installation.Values

	events, journal        bool
	prometheus, dashboards *flags.Enum
	readRules              string
}

func newInstall(env verb.Environment) *cobra.Command {
	o := &installOptions{
		Install:    chart.NewInstall(env, component),
		prometheus: flags.NewEnum("none", "none", "operator"),
		dashboards: flags.NewEnum("none", "none", "configmap"),
	}
	c := chart.NewCommand(o, &cobra.Command{Use: "install", Short: "Install the auditor, or upgrade it"})
	o.AddInstallFlags(c)
	o.prometheus.AddTo(c, "prometheus", "Also create a PodMonitor and a PrometheusRule of the Prometheus operator")
	o.dashboards.AddTo(c, "dashboards", "Also create a ConfigMap with dashboards for Grafana's sidecar")
	f, v := c.Flags(), &o.values
	f.StringVar(&v.ClusterName, "cluster-name", "",
		"NAMESPACE/NAME of this cluster's Cluster on the management cluster, for the labels of metrics")
	f.BoolVar(&o.events, "events", true, "Write an Event when the state of an object changes")
	f.BoolVar(&v.OpenReports, "open-reports", false,
		"Write the findings as OpenReports, whose kinds must be installed")
	f.BoolVar(&o.journal, "journal", true, "Keep a journal of removed objects and uninstalled releases in ConfigMaps")
	f.StringVar(&o.readRules, "read-rules", "",
		"File with a ClusterRole, as audit --print-rbac prints it: the only kinds that bundles deploy and that the "+
			"auditor may read (default all kinds)")
	f.StringToStringVar(&v.PrometheusLabels, "prometheus-labels", nil,
		"Labels of the PodMonitor and the PrometheusRule, by which a Prometheus selects them")
	f.BoolVar(&v.Keep, "keep", false,
		"Keep all objects if another program uninstalls the release; auditor uninstall removes them")
	f.StringSliceVar(&o.Common.APIServers, "api-servers", nil,
		"The only addresses (IP or CIDR) that the auditor reaches: those of the API servers, and of the Service "+
			"kubernetes (default all)")
	return c
}

// Complete implements verb.Options.
func (o *installOptions) Complete(args []string) error {
	v := &o.values
	v.Prometheus, v.Dashboards = o.prometheus.String(), o.dashboards.String()
	v.Events, v.Journal = &o.events, &o.journal
	err := o.Install.Complete(args)
	v.Common = o.Common
	return err
}

// Validate implements verb.Options.
func (o *installOptions) Validate() error {
	if err := o.Install.Validate(); err != nil {
		return err
	}
	for key, value := range o.values.PrometheusLabels {
		wrong := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...)
		if wrong != nil {
			return fmt.Errorf("--prometheus-labels has the invalid label %q: %s", key+"="+value, wrong[0])
		}
	}
	switch {
	case !o.Changed("read-rules"):
		return nil
	case o.readRules == "": // an unset variable in a script would grant access to all kinds
		return errors.New("--read-rules is empty")
	}
	data, err := os.ReadFile(o.readRules)
	if err != nil {
		return fmt.Errorf("--read-rules: %w", err)
	}
	if o.values.ReadRules, err = installation.ParseReadRules(data); err != nil {
		return fmt.Errorf("--read-rules: %s: %w", o.readRules, err)
	}
	return nil
}

// Run implements verb.Options.
func (o *installOptions) Run(ctx context.Context) error {
	return o.Apply(ctx, &o.values, chart.Hooks{})
}
