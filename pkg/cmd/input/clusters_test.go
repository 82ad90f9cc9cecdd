// SPDX-License-Identifier: Apache-2.0

package input

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// parse returns the flags of a command line.
func parse(t *testing.T, args string) (*ClusterFlags, error) {
	t.Helper()
	env := cli.Environment{Streams: genericiooptions.NewTestIOStreamsDiscard(), Now: time.Now,
		Name: "kubectl fleetdoctor"}
	in := New(env)
	f := NewClusters(in)
	fs := pflag.NewFlagSet("audit", pflag.ContinueOnError)
	in.AddFlags(fs, "namespace")
	f.AddFlags(fs)
	if err := fs.Parse(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	err := f.Complete()
	return f, err
}

// TestComplete parses command lines. The result is "name: kubectl command" of each cluster, or part of an error.
func TestComplete(t *testing.T) {
	for args, want := range map[string][]string{
		"":                          nil,
		"--cluster prod":            nil, // kubectl's own meaning
		"--cluster one=one.yaml":    {"one: kubectl --kubeconfig one.yaml"},
		"--cluster one=one.yaml#c1": {"one: kubectl --kubeconfig one.yaml --context c1"},
		"--cluster prod --cluster one=one.yaml --contexts a,b": {"one: kubectl --kubeconfig one.yaml",
			"a: kubectl --context a", "b: kubectl --context b"},
		"--kubeconfig all.yaml --contexts a":         {"a: kubectl --kubeconfig all.yaml --context a"},
		"--cluster-snapshot one=one.tgz":             {"one: kubectl --context one"},
		"--snapshot dump.tgz --cluster one=one.yaml": {"one: kubectl --kubeconfig one.yaml"},
		"--cluster one=":                             {`error: --cluster "one=": it must be NAME=KUBECONFIG[#CONTEXT]`},
		"--cluster =one.yaml":                        {`error: --cluster "=one.yaml": it must be`},
		"--cluster-snapshot one":                     {`error: --cluster-snapshot "one": it must be NAME=PATH`},
		"--cluster one=a --contexts one":             {`error: --contexts "one": another cluster is named "one"`},
		"--cluster a --cluster b":                    {`error: "a" already names`},
		"--snapshot dump.tgz --via-rancher":          {"error: --snapshot and --via-rancher"},
		"--via-rancher --via-kubeconfig-secrets":     {"error: --via-rancher and --via-kubeconfig-secrets"},
	} {
		f, err := parse(t, args)
		var got []string
		if err != nil {
			got = []string{"error: " + err.Error()}
			if len(want) == 1 && strings.Contains(err.Error(), strings.TrimPrefix(want[0], "error: ")) {
				got = want
			}
		} else if find := f.Clusters(nil); find != nil {
			found, _ := find(&state.Fleet{})
			for _, c := range found {
				got = append(got, c.Name+": "+c.Commands.Kubectl)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", args, diff)
		}
	}
}

// TestCheck checks that a name of something that does not exist is wrong usage, and that every other problem is left to
// the reader of the cluster.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"config": "contexts: [{name: edge, context: {cluster: edge}}]\n",
		"wrong": "contexts: invented\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		"--cluster-snapshot one=DIR":      "",
		"--cluster-snapshot one=-":        "",
		"--cluster-snapshot one=DIR/nope": "--cluster-snapshot one=DIR/nope: no such file or directory",
		"--cluster one=DIR/config":        "",
		"--cluster one=DIR/config#edge":   "",
		"--cluster one=DIR/wrong#edge":    "",
		"--cluster one=DIR/nope":          "--cluster one=DIR/nope: no such file or directory",
		"--cluster one=DIR/config#egde": "--cluster one=DIR/config#egde: the kubeconfig has no such " +
			"context; kubectl config get-contexts lists the contexts",
		"--kubeconfig DIR/config --contexts edge": "",
		"--kubeconfig DIR/config --contexts other": "--contexts other: the kubeconfig has no such context; kubectl " +
			"config get-contexts lists the contexts",
	} {
		f, err := parse(t, strings.ReplaceAll(args, "DIR", dir))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err = f.Check(); err != nil {
			got = strings.ReplaceAll(err.Error(), dir, "DIR")
		}
		if got != want || want != "" && cli.ExitStatus(err) != cli.ExitUsage {
			t.Errorf("%s: %q, status %d, want %q", args, got, cli.ExitStatus(err), want)
		}
	}
}

func TestRancherServer(t *testing.T) {
	const c1 = "/k8s/clusters/c-m-1"
	for host, want := range map[string]string{
		"https://rancher.example.com":                              "https://rancher.example.com" + c1,
		"https://rancher.example.com/":                             "https://rancher.example.com" + c1,
		"https://rancher.example.com/k8s/clusters/local":           "https://rancher.example.com" + c1,
		"https://rancher.example.com:8443/a/b/k8s/clusters/c-m-2/": "https://rancher.example.com:8443/a/b" + c1,
		"http://rancher.example.com":                               "",
	} {
		if got, err := rancherServer(host, "c-m-1"); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: got %q, %v, want %q", host, got, err, want)
		}
	}
}

// fleetOf returns a state with Clusters, given as YAML.
func fleetOf(t *testing.T, clusters ...string) *state.Fleet {
	t.Helper()
	out := &state.Fleet{}
	for _, document := range clusters {
		var c v1alpha1.Cluster
		if err := yaml.UnmarshalStrict([]byte(document), &c); err != nil {
			t.Fatal(err)
		}
		out.Clusters = append(out.Clusters, &c)
	}
	return out
}

// TestThroughRancher omits the local cluster, and a cluster that Rancher does not know is a gap.
func TestThroughRancher(t *testing.T) {
	f, err := parse(t, "--via-rancher --server https://rancher.example.com/k8s/clusters/local --kubeconfig /dev/null")
	if err != nil {
		t.Fatal(err)
	}
	clusters, gaps := f.Clusters(nil)(fleetOf(t,
		"metadata: {name: local, namespace: fleet-local, labels: {"+fleet.RancherClusterLabel+": local}}",
		"metadata: {name: one, namespace: fleet-default, labels: {"+fleet.RancherClusterLabel+": c-m-1}}",
		"metadata: {name: two, namespace: fleet-default}"))
	if len(clusters) != 1 || clusters[0].Name != "fleet-default/one" || len(gaps) != 1 ||
		gaps[0].Cluster != "fleet-default/two" {
		t.Fatalf("clusters %+v, gaps %+v", clusters, gaps)
	}
	src, err := clusters[0].Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := src.Describe(ctx); err == nil || !strings.Contains(err.Error(),
		"https://rancher.example.com/k8s/clusters/c-m-1") {
		t.Errorf("the address is not that of the cluster: %v", err)
	}
}

// secrets is a source with one Secret.
type secrets struct {
	source.Source
	raw      string
	coverage source.Coverage
}

func (s secrets) List(_ context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	if s.raw == "" {
		return s.coverage, nil
	}
	return s.coverage, yield(source.Object{Item: object.Item{Raw: []byte(s.raw)}, Kind: q.Kind})
}

const kubeconfig = `
clusters: [{name: c, cluster: {server: "https://one.example.com"%s}}]
users: [{name: u, user: {%s}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

// TestThroughSecrets accepts a kubeconfig with a token, and refuses one that runs a program or reads a file. No error
// quotes the kubeconfig.
func TestThroughSecrets(t *testing.T) {
	const invented = "an-invented-token"
	f, err := parse(t, "--via-kubeconfig-secrets")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		cluster, user, secret string
		coverage              source.Coverage
		want                  string
	}{
		{user: "token: " + invented, coverage: source.Covered()},
		{user: "token: " + invented + ", exec: {apiVersion: client.authentication.k8s.io/v1, command: touch}",
			coverage: source.Covered(), want: "credential plugin"},
		{user: "tokenFile: /etc/passwd", coverage: source.Covered(), want: "tokenFile"},
		{user: "client-certificate: /etc/passwd", coverage: source.Covered(), want: "client-certificate"},
		{user: "client-key: /etc/passwd", coverage: source.Covered(), want: "client-key"},
		{user: "auth-provider: {name: gcp}", coverage: source.Covered(), want: "auth-provider"},
		{user: "token: " + invented, cluster: ", certificate-authority: /etc/passwd", coverage: source.Covered(),
			want: "certificate-authority"},
		{secret: `{"data": {"value": "` + base64.StdEncoding.EncodeToString([]byte("{"+invented)) + `"}}`,
			coverage: source.Covered(), want: "not a kubeconfig"},
		{secret: `{"data": {"other": "eA=="}}`, coverage: source.Covered(), want: "no kubeconfig in the key"},
		{secret: "-", coverage: source.Covered(), want: "not found"},
		{secret: "-", coverage: source.NotCovered(source.Failure{Reason: source.Forbidden, Detail: "no"}),
			want: "Forbidden"},
	} {
		raw := strings.TrimPrefix(test.secret, "-")
		if test.secret == "" {
			raw = `{"data": {"value": "` + base64.StdEncoding.EncodeToString(fmt.Appendf(nil, kubeconfig, test.cluster,
				test.user)) + `"}}`
		}
		clusters, gaps := f.Clusters(secrets{raw: raw, coverage: test.coverage})(fleetOf(t,
			"{metadata: {name: one, namespace: fleet-default}, spec: {kubeConfigSecret: one-kubeconfig}}",
			"metadata: {name: two, namespace: fleet-default}"))
		if len(clusters) != 1 || len(gaps) != 1 || gaps[0].Cluster != "fleet-default/two" {
			t.Fatalf("clusters %+v, gaps %+v", clusters, gaps)
		}
		_, err := clusters[0].Open(t.Context())
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%+v: %v", test, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%+v: the error is %v, want %q", test, err, test.want)
		case err != nil && strings.Contains(err.Error(), invented):
			t.Errorf("the error quotes the kubeconfig: %v", err)
		}
	}
}
