// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
)

// TestConfigFile checks that the verbs use the user's defaults, and that flags of the same name with another meaning
// do not get them.
func TestConfigFile(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	path := filepath.Join(t.TempDir(), "config.yaml")
	archive := filepath.Join(t.TempDir(), "archive.tar.gz")
	const defaults = "output: yaml\ncolor: always\nnoPager: true\n" +
		"clusters: {cluster: [edge-1=/none], viaRancher: true}\n"
	for _, tc := range []struct {
		content string
		args    []string
		status  int
		want    string
	}{
		{defaults, []string{"audit", "--snapshot", sick}, 1, "kind: AuditReport"},
		{defaults, []string{"audit", "--snapshot", sick, "-o", "table"}, 1, "\x1b["},
		{defaults, []string{"explain", "FD101"}, 0, "kind: Explanation"},
		{defaults, []string{"version", "--client"}, 0, "configFile: " + path},
		{defaults, []string{"owner", "configmap/none", "--snapshot", sick}, 3, ""},
		{defaults, []string{"snapshot", "--snapshot", clean, "-o", archive}, 0, archive},
		{defaults, []string{"audit"}, 2, "/none"}, // the kubeconfig of edge-1
		{"output: yml", []string{"audit", "--snapshot", sick}, 2, path + `:1: output: invalid value "yml"`},
		{"output: json", []string{"audit", "--snapshot", sick, "--by=bundle"}, 1, "BUNDLE "},
		{"output: json", []string{"audit", "--snapshot", sick, "--summary"}, 1, "objects ready"},
		{"output: yml", []string{"__complete", "audit", ""}, 0, "gitrepo/"},
		{"output: yml", []string{"__completeNoDesc", "audit", ""}, 0, "gitrepo/"},
		{"output: yml", []string{"version", "--client"}, 0, path + `:1: output: invalid value "yml"`},
		{"output: yml", []string{"version", "--client", "-o", "yaml"}, 0, "configFile: " + path},
		{"output: yml", []string{"audit", "--help"}, 0, "Exit status"},
		{"output: yml", []string{"help", "audit"}, 0, "Exit status"},
	} {
		if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		status := Main(t.Context(), append([]string{"kubectl-fleetdoctor"}, tc.args...), verb.Environment{
			ConfigFile: path, Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &out}})
		if status != tc.status || !strings.Contains(out.String(), tc.want) {
			t.Errorf("%s: status %d, want %d and %q: %s", tc.args, status, tc.status, tc.want, &out)
		}
	}
}

// TestConfigFileOfUser checks that the program reads the file that the environment names.
func TestConfigFileOfUser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte("output: json\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FLEETDOCTOR_CONFIG", path)
	var out, errOut bytes.Buffer
	status := Process(t.Context(), os.Args[0], []string{"kubectl-fleetdoctor", "version", "--client"},
		genericiooptions.IOStreams{Out: &out, ErrOut: &errOut})
	if status != 0 || !strings.Contains(out.String(), `"kind": "VersionReport"`) {
		t.Errorf("status %d: %s%s", status, &out, &errOut)
	}
}
