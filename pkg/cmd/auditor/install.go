// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/installation"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// values are the flags for the values of the chart. They implement chart.Values.
type values struct {
	installation.Values
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
	if v.ReadRules, err = installation.ParseReadRules(role); err != nil {
		return nil, fmt.Errorf("--read-rules: %s: %w", v.readRules, err)
	}
	return &v.Values, nil
}
