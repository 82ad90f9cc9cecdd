// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// completed returns what a shell is offered for the last argument.
func completed(t *testing.T, args ...string) []string {
	t.Helper()
	got := run(t, append([]string{"__complete"}, args...)...)
	lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
	if got.status != 0 || !strings.HasPrefix(lines[len(lines)-1], ":") {
		t.Fatalf("%q: status %d: %s%s", args, got.status, got.out, got.errOut)
	}
	return lines[:len(lines)-1]
}

// TestCompleteNames checks the names that a shell is offered from a snapshot and from the kubeconfig.
func TestCompleteNames(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "config")
	const config = "apiVersion: v1\nkind: Config\ncurrent-context: gone\ncontexts: [{name: prod, context: {cluster: " +
		"c}}, {name: dev, context: {cluster: c}}]\n" +
		"clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: u}]\n"
	if err := os.WriteFile(kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ args, last, want string }{
		{"audit --snapshot " + sick, "bundle/", "bundle/guestbook-guestbook bundle/ingress-ingress"},
		{"audit --snapshot " + sick, "bundles.fleet.cattle.io/g",
			"bundles.fleet.cattle.io/guestbook-guestbook bundles.fleet.cattle.io/ingress-ingress"},
		{"audit --snapshot " + sick + " bundle", "", "guestbook-guestbook ingress-ingress"},
		{"audit --snapshot " + sick + " -n nowhere", "bundle/", ""},
		{"audit --snapshot " + sick, "service/fr", "service/edge service/frontend service/kubernetes"},
		{"impact --snapshot " + sick, "pod/", "gitrepo/ helmop/ bundle/ cluster/ bundledeployment/"},
		{"why --snapshot " + sick, "gitrepo/fleet-local/", "gitrepo/fleet-local/guestbook gitrepo/fleet-local/ingress"},
		{"preflight --snapshot " + sick, "cluster/", "cluster/local"},
		{"impact --snapshot " + sick, "bundledeployment/",
			"bundledeployment/guestbook-guestbook bundledeployment/ingress-ingress"},
		{"targets --snapshot " + sick, "", "bundle/"},
		{"targets --snapshot " + sick, "bundle/", "bundle/guestbook-guestbook bundle/ingress-ingress"},
		{"agents --snapshot " + sick, "", "local"},
		{"owner --snapshot " + sick, "service/guestbook/", "service/guestbook/frontend"},
		{"owner --snapshot " + sick, "clustergroup/", "clustergroup/default"},
		{"adopt --snapshot " + sick, "service/guestbook/", "service/guestbook/frontend"},
		{"adopt --snapshot " + sick, "gitrepo/", "gitrepo/guestbook gitrepo/ingress"},
		{"audit --snapshot " + sick + " --namespace", "", "fleet-local"},
		{"audit --kubeconfig " + kubeconfig + " --context", "", "dev prod"},
		{"audit --kubeconfig " + kubeconfig + " --contexts", "dev,", "dev,dev dev,prod"},
		{"why --kubeconfig " + kubeconfig + " --user", "", "u"},
		{"webhook status --kubeconfig " + kubeconfig + " --context", "", "dev prod"},
		// What cannot be read offers nothing, and prints nothing.
		{"audit --kubeconfig " + kubeconfig + " --context prod", "bundle/", ""},
		{"audit --kubeconfig " + kubeconfig + " --context prod --namespace", "", ""},
		{"audit --snapshot " + sick + "/nowhere", "bundle/", ""},
		{"audit --snapshot -", "bundle/", ""},
	} {
		got := strings.Join(completed(t, append(strings.Fields(tc.args), tc.last)...), " ")
		if got != tc.want {
			t.Errorf("%s %q: %q, want %q", tc.args, tc.last, got, tc.want)
		}
	}
}

// TestCompletePlainNames checks that a name, a kind or a context that a shell or a terminal would interpret is not
// offered.
func TestCompletePlainNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bundles.yaml")
	var objects strings.Builder
	for _, name := range []string{"good", `$(touch x)`, `a\x1b[31mb`, "a b", "-o"} {
		objects.WriteString("---\napiVersion: fleet.cattle.io/v1alpha1\nkind: Bundle\nmetadata: {namespace: " +
			"fleet-local, name: \"" + name + "\"}\n")
	}
	if err := os.WriteFile(file, []byte(objects.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := completed(t, "audit", "--snapshot", file, "bundle/"); len(got) != 1 || got[0] != "bundle/good" {
		t.Errorf("%q", got)
	}
	for i, kind := range []string{"Good", `$(touch x)`, `a;b`, `a\x1b[31mb`, "a b", "-o"} {
		fmt.Fprintf(&objects, "---\napiVersion: hostile.example.com/v%d\nkind: \"%s\"\nmetadata: {name: x, namespace: "+
			"y}\n", i, kind)
	}
	kubeconfig := filepath.Join(t.TempDir(), "config")
	config := "apiVersion: v1\nkind: Config\ncontexts:\n"
	for _, name := range []string{"good", "arn:aws:eks:eu-west-1:1234:cluster/prod", "me/host:6443/kube:admin",
		`$(touch x)`, `a;b`, `a\x1b[31mb`, "a b", "-o"} {
		config += "- {name: \"" + name + "\", context: {cluster: c}}\n"
	}
	for path, text := range map[string]string{file: objects.String(), kubeconfig: config} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kinds := completed(t, "owner", "--snapshot", file, "")
	if slices.ContainsFunc(kinds, func(k string) bool {
		return strings.ContainsAny(k, "$;\x1b -")
	}) || !slices.Contains(kinds, "good/") {
		t.Errorf("kinds %q", kinds)
	}
	contexts := completed(t, "audit", "--kubeconfig", kubeconfig, "--context", "")
	if want := []string{"arn:aws:eks:eu-west-1:1234:cluster/prod", "good",
		"me/host:6443/kube:admin"}; !slices.Equal(contexts, want) {
		t.Errorf("contexts %q, want %q", contexts, want)
	}
}

// TestCompleteEveryValue checks that every flag with a list of values completes all of them.
func TestCompleteEveryValue(t *testing.T) {
	root := New("kubectl-fleetdoctor", cli.Environment{Streams: genericiooptions.NewTestIOStreamsDiscard()})
	flags := 0
	var visit func(c *cobra.Command, path []string)
	visit = func(c *cobra.Command, path []string) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(f.Value.Type(), "|") {
				return
			}
			flags++
			flag := []string{"--" + f.Name, ""}
			if f.NoOptDefVal != "" { // the value is a part of the argument
				flag = []string{"--" + f.Name + "="}
			}
			args := slices.Concat(path, flag)
			if got := strings.Join(completed(t, args...), "|"); got != f.Value.Type() {
				t.Errorf("%s --%s: %q, want %q", c.CommandPath(), f.Name, got, f.Value.Type())
			}
		})
		for _, child := range c.Commands() {
			visit(child, append(path[:len(path):len(path)], child.Name()))
		}
	}
	visit(root, nil)
	if flags == 0 {
		t.Error("no flag has a list of values")
	}
}
