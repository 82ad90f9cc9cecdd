// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
)

// write writes a file of this content, and returns its path.
func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPath checks which file is read.
func TestPath(t *testing.T) {
	home, xdg := t.TempDir(), t.TempDir()
	for _, dir := range []string{filepath.Join(home, ".config"), xdg} {
		dir = filepath.Join(dir, "fleetdoctor")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "config.yaml"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inHome := filepath.Join(home, ".config", "fleetdoctor", "config.yaml")
	for name, tc := range map[string]struct {
		home, xdg string
		named     []string
		want      string
	}{
		"in the home":           {home: home, want: inHome},
		"XDG_CONFIG_HOME":       {home: home, xdg: xdg, want: filepath.Join(xdg, "fleetdoctor", "config.yaml")},
		"a relative directory":  {home: home, xdg: "config", want: inHome},
		"no file":               {home: xdg},
		"a home that is a file": {home: inHome},
		"named":                 {home: home, named: []string{"other.yaml"}, want: "other.yaml"},
		"none":                  {home: home, named: []string{""}},
	} {
		t.Setenv("HOME", tc.home)
		t.Setenv("USERPROFILE", tc.home)
		t.Setenv("XDG_CONFIG_HOME", tc.xdg)
		t.Setenv(variable, strings.Join(tc.named, ""))
		if tc.named == nil {
			if err := os.Unsetenv(variable); err != nil {
				t.Fatal(err)
			}
		}
		if got := Path(); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestErrors checks that the error of a wrong file is one of usage, and names the file, the line, the field and what is
// allowed.
func TestErrors(t *testing.T) {
	const (
		top      = "output, color, noPager, ignoreFile, clusters"
		clusters = "cluster, contexts, viaRancher, viaKubeconfigSecrets"
		outputs  = "must be one of table, wide, json, yaml, name"
	)
	for content, want := range map[string]string{
		"output: wide\ncolour: never":     `:2: unknown field "colour": must be one of ` + top,
		"output: sarif":                   `:1: output: invalid value "sarif": ` + outputs,
		"output: [wide]":                  `:1: output: invalid value "": ` + outputs,
		"color: blue":                     `:1: color: invalid value "blue": must be one of auto, always, never`,
		"noPager: 1":                      `:1: noPager: invalid value "1": must be one of true, false`,
		"ignoreFile:":                     `:1: ignoreFile: invalid value "": must be a text`,
		"output: wide\noutput: json":      `:2: the field output is stated twice`,
		"clusters: {tokens: []}":          `:1: unknown field "clusters.tokens": must be one of ` + clusters,
		"clusters:\n  cluster: one=kube":  `:2: clusters.cluster: expected a list`,
		"clusters:\n  cluster:\n  - x":    `:3: clusters.cluster: invalid value "x": must be NAME=KUBECONFIG[#CONTEXT]`,
		"clusters: all":                   `:1: clusters: expected a map with the fields ` + clusters,
		"- output":                        `:1: the file: expected a map with the fields ` + top,
		"output: wide\n---\ncolor: never": `: it has several YAML documents: join them`,
		"{":                               `: line 1: did not find expected node content`,
	} {
		path := write(t, content)
		err := Apply(path, pflag.NewFlagSet("", pflag.ContinueOnError))
		if exit.Status(err) != exit.Usage || err.Error() != "reading the configuration file: "+path+want {
			t.Errorf("%s: status %d, %v, want %s", content, exit.Status(err), err, want)
		}
	}
	if err := Apply(filepath.Join(t.TempDir(), "none"), nil); exit.Status(err) != exit.Usage {
		t.Errorf("a file that does not exist: %v", err)
	}
}

// TestApply checks the values that flags get.
func TestApply(t *testing.T) {
	path := write(t, "output: wide\nignoreFile: ignore.yaml\nclusters:\n"+
		"  cluster: [a=a.yaml#x, b=/b.yaml, c=~/c.yaml]\n  contexts: [d, e]\n  viaRancher: true\n")
	home, dir := t.TempDir(), filepath.Dir(path)
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	all := map[string]string{"output": "wide", "ignore-file": filepath.Join(dir, "ignore.yaml"),
		"cluster":  "[a=" + filepath.Join(dir, "a.yaml#x") + ",b=/b.yaml,c=" + filepath.Join(home, "c.yaml") + "]",
		"contexts": "[d,e]", "via-rancher": "true"}
	replaced := map[string]string{"cluster": "[]", "contexts": "[]", "via-rancher": "false"}
	for _, tc := range []struct {
		args []string
		want map[string]string // what differs from all
	}{
		{nil, nil},
		{[]string{"--output=json"}, map[string]string{"output": "json"}},
		{[]string{"--template=x"}, map[string]string{"output": "table"}},
		{[]string{"--ignore-file="}, map[string]string{"ignore-file": ""}},
		{[]string{"--snapshot=x"}, replaced},
		{[]string{"--via-rancher=false"}, replaced},
		{[]string{"--context=x"}, replaced},
		{[]string{"--kubeconfig=x"}, replaced},
		{[]string{"--status-only"}, replaced},
		{[]string{"--filename=x"}, replaced},
		{[]string{"--by=bundle"}, nil}, // wide is a table
	} {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		flags.String("output", "table", "")
		flags.String("template", "", "")
		flags.String("ignore-file", ".fleetdoctor.yaml", "")
		for _, name := range []string{"snapshot", "context", "kubeconfig", "filename", "by"} {
			flags.String(name, "", "")
		}
		flags.Bool("status-only", false, "")
		flags.StringArray("cluster", nil, "")
		flags.StringSlice("contexts", nil, "")
		flags.Bool("via-rancher", false, "")
		if err := flags.Parse(tc.args); err != nil {
			t.Fatal(err)
		}
		if err := Apply(path, flags); err != nil {
			t.Errorf("%s: %v", tc.args, err)
		}
		for name, value := range all {
			if differs, ok := tc.want[name]; ok {
				value = differs
			}
			if got := flags.Lookup(name).Value.String(); got != value {
				t.Errorf("%s: --%s is %s, want %s", tc.args, name, got, value)
			}
		}
	}
}
