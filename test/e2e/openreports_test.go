// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openreports/reports-api/apis/openreports.io/v1alpha1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/openreports"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/reports"
)

// openReportsCRDs returns the directory with the definitions of the API, at the version in go.mod.
func openReportsCRDs(t *testing.T) string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/openreports/reports-api").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "config", "crd")
}

// TestOpenReports applies the objects of -o openreports with kubectl to a server that has the API, and reads them
// again.
func TestOpenReports(t *testing.T) {
	// The namespaces of the samples would remain on the shared server.
	server := cluster.Start(t, cluster.WithCRDs(openReportsCRDs(t)))
	kubeconfig := server.Kubeconfig(t)
	kubectl := func(stdin string, args ...string) []byte {
		t.Helper()
		args = append([]string{"--kubeconfig", kubeconfig}, args...)
		c := exec.CommandContext(t.Context(), server.Kubectl(), args...)
		var stdout, stderr bytes.Buffer
		c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &stdout, &stderr
		if err := c.Run(); err != nil {
			t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, &stderr)
		}
		return stdout.Bytes()
	}
	const kinds = "reports.openreports.io,clusterreports.openreports.io"
	for name, a := range map[string]*report.Audit{
		"sick":    reports.Sample(t, "sick"),
		"unread":  reports.Unread(),
		"hostile": reports.Hostile(reports.Full(), reports.Evil),
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := openreports.Write(&b, a); err != nil {
				t.Fatal(err)
			}
			namespaces := map[string]bool{}
			for line := range strings.Lines(b.String()) {
				ns, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "  namespace: ")
				if ok && !namespaces[ns] {
					namespaces[ns] = true
					kubectl("apiVersion: v1\nkind: Namespace\nmetadata: {name: "+ns+"}\n", "apply", "-f", "-")
				}
			}
			kubectl(b.String(), "apply", "--validate=strict", "-f", "-")
			var list v1alpha1.ReportList
			if err := json.Unmarshal(kubectl("", "get", kinds, "-A", "-o", "json"), &list); err != nil {
				t.Fatal(err)
			}
			results := 0
			for _, r := range list.Items {
				results += len(r.Results)
			}
			if want := strings.Count(b.String(), "\n- category: Fleet\n"); results != want || want == 0 {
				t.Errorf("the server has %d results, want %d", results, want)
			}
			kubectl("", "delete", kinds, "-A", "-l", "app.kubernetes.io/managed-by=fleetdoctor")
		})
	}
}
