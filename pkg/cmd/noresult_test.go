// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withoutRecords are captures of a cluster with one bundle deployment and one object, in which no release record can be
// read.
func withoutRecords(t *testing.T) map[string]string {
	t.Helper()
	const deployment = `{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"BundleDeployment","metadata":{"name":"web",` +
		`"namespace":"one"},"status":{"release":"web/web:1"}}
{"apiVersion":"v1","kind":"ConfigMapList","metadata":{},"items":[{"metadata":{"name":"theme","namespace":"web"}}]}
`
	agent := fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"fleet-agent",`+
		`"namespace":"cattle-fleet-system"},"data":{"deploymentNamespace":%q}}
`, base64.StdEncoding.EncodeToString([]byte("one")))
	const damaged = `{"apiVersion":"v1","kind":"Secret","type":"helm.sh/release.v1",` +
		`"metadata":{"name":"sh.helm.release.v1.web.v1","namespace":"web"},"data":{"release":"AAAA"}}
`
	out := map[string]string{}
	for name, text := range map[string]string{
		"no record captured":                          deployment,
		"no record captured, and this is the cluster": deployment + agent,
		"the record is damaged":                       deployment + agent + damaged,
	} {
		path := filepath.Join(t.TempDir(), "capture.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out[name] = path
	}
	return out
}

// TestNoResult checks that every verb fails if no release record could be read.
func TestNoResult(t *testing.T) {
	for name, path := range withoutRecords(t) {
		for _, tc := range []struct {
			args    []string
			message string
		}{
			{[]string{"audit", "--fail-on=none"}, "no bundle deployment has a result"},
			{[]string{"adopt", "--desired=release"}, "no bundle deployment has a result"},
			{[]string{"owner", "configmap/theme"}, "configmap web/theme"},
			{[]string{"preflight"}, ""},
		} {
			t.Run(name+"/"+tc.args[0], func(t *testing.T) {
				got := run(t, append(tc.args, "--snapshot", path)...)
				if got.status != 3 || !strings.Contains(got.errOut, tc.message) {
					t.Errorf("status %d, want 3 and %q:\n%s%s", got.status, tc.message, got.out, got.errOut)
				}
				if strings.Contains(got.out, "other clusters") || strings.Contains(got.out, "Nothing is wrong") {
					t.Errorf("the report looks complete:\n%s", got.out)
				}
			})
		}
	}
}

// TestManagementClusterAlone checks that no flag is needed if every deployment is certainly on another cluster: all
// Secrets were captured, and none belongs to an agent. A capture of one namespace does not show that.
func TestManagementClusterAlone(t *testing.T) {
	const deployment = `{"metadata":{"name":"web","namespace":"%s"},"status":{"release":"web/web:1"}}`
	const captured = `{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"BundleDeploymentList","metadata":{},"items":[%s]}
{"apiVersion":"v1","kind":"SecretList","metadata":{},"items":[]}
`
	one, two := fmt.Sprintf(deployment, "one"), fmt.Sprintf(deployment, "two")
	for items, want := range map[string]string{one + "," + two: "listing Bundle objects",
		one: "no bundle deployment has a result"} {
		got := called(t, fmt.Sprintf(captured, items), "kubectl-fleetdoctor", "audit", "--snapshot", "-")
		if got.status != 3 || !strings.Contains(got.errOut, want) {
			t.Errorf("status %d, want 3 and %q: %s%s", got.status, want, got.out, got.errOut)
		}
	}
}

// TestTruncated checks that no verb says of a truncated capture that there is no Fleet, or that something does not
// exist, and that none succeeds.
func TestTruncated(t *testing.T) {
	const cluster = `{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"ClusterList","metadata":{},` +
		`"items":[{"metadata":{"name":"local","namespace":"fleet-local"},"status":{"namespace":"one"}}]}
`
	const bundle = `{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"BundleList","metadata":{},` +
		`"items":[{"metadata":{"name":"web","namespace":"fleet-local"}}]}
`
	const deployment = `{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"BundleDeployment","metadata":{"name":"web",` +
		`"namespace":"one","labels":{"fleet.cattle.io/bundle-name":"web",` +
		`"fleet.cattle.io/bundle-namespace":"fleet-local"}}}
`
	const cut = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"web"}}
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a`
	const nothing = "no object of Fleet could be read in -: "
	const perhaps = "it may exist, because not everything could be read: "
	for _, tc := range []struct{ text, args, want string }{
		{cut, "agents", nothing},
		{cut, "agents local", nothing},
		{cut, "audit", nothing},
		{cut, "owner configmap/theme", nothing},
		{cut, "targets bundle/web", perhaps},
		{cluster + bundle + deployment + cut, "agents other", perhaps},
		{cluster + bundle + deployment + cut, "audit bundle/other", perhaps},
		{cluster + bundle + deployment + cut, "why bundle/other", perhaps},
		{cluster + bundle + deployment + cut, "impact bundle/other", perhaps},
		{cluster + bundle + deployment + cut, "targets bundle/other", perhaps},
		{cluster + bundle + deployment + cut, "owner configmap/theme", perhaps},
	} {
		args := strings.Fields("kubectl-fleetdoctor " + tc.args + " --snapshot -")
		got := called(t, tc.text, args...)
		said := strings.Contains(got.errOut, tc.want) && strings.Contains(got.errOut, "it ends in the middle")
		if got.status != 3 || !said {
			t.Errorf("%s: status %d, want 3 and %q:\n%s%s", tc.args, got.status, tc.want, got.out, got.errOut)
		}
	}
}

// TestNothingDeployed checks what the help of audit says: that nothing is deployed is no failure, but a name for which
// there is nothing is one.
func TestNothingDeployed(t *testing.T) {
	var captured strings.Builder
	for _, kind := range []string{"Bundle", "BundleDeployment", "HelmOp", "Cluster", "ClusterGroup"} {
		fmt.Fprintf(&captured, `{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"%sList","metadata":{},"items":[]}
`, kind)
	}
	captured.WriteString(`{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"GitRepo",
"metadata":{"name":"new","namespace":"a"}}
{"apiVersion":"v1","kind":"SecretList","metadata":{},"items":[]}
`)
	for status, args := range map[int][]string{0: {"--fail-on=none"}, 3: {"--fail-on=none", "bundle/web"}} {
		command := append([]string{"kubectl-fleetdoctor", "audit", "--snapshot", "-"}, args...)
		got := called(t, captured.String(), command...)
		if got.status != status {
			t.Errorf("%q: status %d, want %d:\n%s%s", args, got.status, status, got.out, got.errOut)
		}
	}
}
