// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// release is the version of the program in these tests: a development build installs nothing without --image.
const release = "v0.1.0"

// offline runs a subcommand without a cluster.
func offline(t *testing.T, args ...string) result {
	t.Helper()
	var out, errOut bytes.Buffer
	status := cmd.Main(t.Context(), slices.Concat([]string{"kubectl-fleetdoctor", "webhook"}, args,
		[]string{"--kubeconfig", filepath.Join(t.TempDir(), "none")}),
		cli.Environment{Version: release, Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out,
			ErrOut: &errOut}})
	return result{status, out.String(), errOut.String()}
}

// TestUsage checks that a wrong command line is refused before anything is read.
func TestUsage(t *testing.T) {
	for args, want := range map[string]string{
		"install now":                                     `unknown command "now"`,
		"install --dry-run=maybe":                         "must be one of none, client, server",
		"install --guard-default=denny":                   "must be one of off, warn, deny",
		"install --certificates=mine":                     "must be one of self-signed, cert-manager",
		"install -n Not_A_Name":                           `--namespace="Not_A_Name" is invalid`,
		"install --release-namespaces=":                   "--release-namespaces is empty",
		"install --release-namespaces=a,B":                `--release-namespaces has the invalid name "B"`,
		"install -n kube-system":                          "refusing to install into namespace kube-system",
		"install -n default --dry-run=client":             "refusing to install into namespace default",
		"install -n cattle-fleet-system --dry-run=client": "refusing to install into namespace cattle-fleet-system",
		"install --api-servers=":                          "--api-servers is empty",
		"install --api-servers=here":                      `--api-servers has the invalid address "here"`,
		"install --image=":                                "--image is empty",
		"install --replicas=0":                            "--replicas=0: must be 1 or more",
		"install --wait --dry-run=server":                 "--wait and --dry-run are mutually exclusive",
		"install --wait --timeout=0s":                     "--timeout=0s",
		"install --request-timeout=soon":                  `parsing --request-timeout "soon"`,
		"uninstall everything":                            `unknown command "everything"`,
		"uninstall --dry-run=yes":                         "must be one of none, client, server",
		"status -o xml":                                   "must be one of table, wide, json, yaml, name",
		"status -o jsonpath":                              "no template given",
		"status -o columns":                               "must be one of table, wide, json, yaml, name",
		"status configmap/a":                              `unknown command "configmap/a"`,
	} {
		r := offline(t, strings.Fields(args)...)
		if r.status != 2 || r.out != "" || !strings.Contains(r.errOut, want) {
			t.Errorf("webhook %s: status %d, want 2, and %q:\n%s%s", args, r.status, want, r.out, r.errOut)
		}
	}
}

func TestUnknownVerb(t *testing.T) {
	var out, errOut bytes.Buffer
	status := cmd.Main(t.Context(), []string{"kubectl-fleetdoctor", "webhook", "instal"},
		cli.Environment{Version: release, Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out,
			ErrOut: &errOut}})
	want := "error: unknown command \"instal\"\nDid you mean \"install\"?\nSee 'kubectl-fleetdoctor webhook --help'.\n"
	if diff := cmp.Diff(want, errOut.String()); diff != "" || status != 2 || out.Len() > 0 {
		t.Errorf("status %d (-want +got):\n%s", status, diff)
	}
}

// TestInstallOffline checks that only the manifests can be printed without a cluster.
func TestInstallOffline(t *testing.T) {
	for output, want := range map[string]string{
		"table": "deployment.apps/fleetdoctor-webhook applied (dry run)\n",
		"text":  "deployment.apps/fleetdoctor-webhook applied (dry run)\n",
		"yaml":  "---\napiVersion: apps/v1\nkind: Deployment\n",
		"json":  `"kind": "Deployment"`,
		"name":  "deployment.apps/fleetdoctor-webhook\n",

		"jsonpath={.items[0].kind}": "Namespace",
	} {
		r := offline(t, "install", "--dry-run=client", "-o", output)
		if r.status != 0 || !strings.Contains(r.out, want) || r.errOut != "" {
			t.Errorf("-o %s: status %d: %s%s", output, r.status, r.out, r.errOut)
		}
	}
	for _, verb := range []string{"install", "uninstall", "status"} {
		if r := offline(t, verb); r.status != 3 || r.out != "" || r.errOut == "" {
			t.Errorf("%s, without a kubeconfig: status %d: %s%s", verb, r.status, r.out, r.errOut)
		}
	}
}

// TestDevelopmentBuild checks that a development build installs only an image that the user names, and a release the
// image of its own version.
func TestDevelopmentBuild(t *testing.T) {
	for _, tt := range []struct {
		version string
		args    []string
		image   string // empty if the command is refused
	}{
		{"dev", nil, ""},
		{"v1.2.3-4-g0123abc", nil, ""},
		{"v1.2.3-dirty", nil, ""},
		{"0123abc", nil, ""},
		{"v0.0.0-20260102030405-0123456789ab", nil, ""}, // go install of a commit
		{"v1.2.4-0.20260102030405-0123456789ab", nil, ""},
		{"v1.2.3+dirty", nil, ""},
		{"dev", []string{"--image=registry.example.com/doctor:1"}, "registry.example.com/doctor:1"},
		{"v1.2.3", nil, "fleetdoctor/kubectl-fleetdoctor:v1.2.3"},
		{"v1.2.3-rc.1", nil, "fleetdoctor/kubectl-fleetdoctor:v1.2.3-rc.1"},
		{"v1.2.3", []string{"--image=registry.example.com/doctor:1"}, "registry.example.com/doctor:1"},
	} {
		var out, errOut bytes.Buffer
		args := append([]string{"kubectl-fleetdoctor", "webhook", "install", "--dry-run=client", "-o", "yaml"},
			tt.args...)
		status := cmd.Main(t.Context(), args, cli.Environment{Version: tt.version,
			Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut}})
		switch {
		case tt.image == "" && (status != 2 || out.Len() > 0 || !strings.Contains(errOut.String(), "--image")):
			t.Errorf("%s %s: status %d, want 2 and a message that names --image: %s", tt.version, tt.args, status,
				errOut.String())
		case tt.image != "" && (status != 0 || !strings.Contains(out.String(), "image: "+tt.image+"\n")):
			t.Errorf("%s %s: status %d, want image %s: %s", tt.version, tt.args, status, tt.image, errOut.String())
		}
	}
}
