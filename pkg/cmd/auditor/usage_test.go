// SPDX-License-Identifier: Apache-2.0

package auditor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUsage checks that a wrong command line is refused before anything is read.
func TestUsage(t *testing.T) {
	invalid := filepath.Join(t.TempDir(), "role.yaml")
	if err := os.WriteFile(invalid, []byte("kind: Role\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"install now":                                    `unknown command "now"`,
		"install --prometheus=yes":                       "must be one of none, operator",
		"install --dashboards=yes":                       "must be one of none, configmap",
		"install --api-servers=":                         "--api-servers is empty",
		"install --image=":                               "--image is empty",
		"install --replicas=0":                           "to stop the auditor, use `auditor uninstall`",
		"install -n kube-system":                         "use a namespace that only the auditor uses",
		"install --wait --dry-run=server":                "--wait and --dry-run are mutually exclusive",
		"install --read-rules=":                          "--read-rules is empty",
		"install --values=none.yaml":                     "open none.yaml",
		"install --set=a":                                `key "a" has no value`,
		"install --dry-run=client --set=image.tag=a/b":   "at '/image/tag'",
		"install --dry-run=client --cluster-name=edge-1": "at '/clusterName'",
		"install --dry-run server":                       `unknown command "server"`,
		"install --dry-run=some":                         "must be one of none, client, server",
		"install --read-rules=none.yaml":                 "--read-rules: open none.yaml",
		"install --read-rules=" + invalid:                `it has the kind "Role", not ClusterRole`,
		"install --prometheus-labels=a=b!":               `--prometheus-labels has the invalid label "a=b!"`,
		"uninstall everything":                           `unknown command "everything"`,
		"status -o xml":                                  "must be one of table, wide, json, yaml, name",
		"status --dry-run=client":                        "unknown flag: --dry-run",
		"install --cluster-name=a --keep=maybe":          `invalid argument "maybe"`,
	} {
		r := run(t.Context(), filepath.Join(t.TempDir(), "none"), strings.Fields(args)...)
		if r.status != 2 || r.out != "" || !strings.Contains(r.errOut, want) {
			t.Errorf("auditor %s: status %d, want 2, and %q:\n%s%s", args, r.status, want, r.out, r.errOut)
		}
	}
}

// TestInstallOffline checks that only the manifests can be printed without a cluster, with the options.
func TestInstallOffline(t *testing.T) {
	none, file := filepath.Join(t.TempDir(), "none"), filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte("{replicas: 5, podMonitor: {enabled: false, labels: {release: monitoring}}}"),
		0o600); err != nil {
		t.Fatal(err)
	}
	r := run(t.Context(), none, "install", "--dry-run=client", "-o", "yaml", "--cluster-name=fleet-default/edge-1",
		"--events=false", "--open-reports", "--journal=false", "--keep", "--replicas=3",
		"--api-servers=192.0.2.1", "--values="+file, monitored, "--set-string=podLabels.tier=1")
	for _, want := range []string{"--cluster-name=fleet-default/edge-1\n", "--events=false\n", "--open-reports=true\n",
		"--journal=false\n", "helm.sh/resource-policy: keep\n", "replicas: 3\n",
		"cidr: 192.0.2.1/32\n", "kind: PodMonitor\n", "kind: PrometheusRule\n", "release: monitoring\n", `tier: "1"`,
		`grafana_dashboard: "1"`, "image: fleetdoctor/kubectl-fleetdoctor:v0.1.0\n"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("status %d, without %q:\n%s%s", r.status, want, r.out, r.errOut)
		}
	}
	for _, verb := range []string{"install", "uninstall", "status"} {
		if r := run(t.Context(), none, verb); r.status != 3 || r.out != "" || r.errOut == "" {
			t.Errorf("%s, without a kubeconfig: status %d: %s%s", verb, r.status, r.out, r.errOut)
		}
	}
}
