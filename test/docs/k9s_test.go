// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// k9sPlugin is a plugin of k9s, with the fields that the file uses.
type k9sPlugin struct {
	ShortCut, Description, Command string
	Scopes, Args                   []string
}

// selected is an object that is selected in k9s, and the snapshot that has it.
type selected struct{ group, namespace, name, snapshot string }

const (
	sick       = "test/testdata/sick"
	fleetGroup = "fleet.cattle.io"
)

// objects are objects by the scope of their list.
var objects = map[string]selected{
	"gitrepos.fleet.cattle.io": {fleetGroup, "fleet-local", "guestbook", sick},
	"helmops.fleet.cattle.io":  {fleetGroup, "fleet-local", "vault", "dump.tgz"},
	"bundles.fleet.cattle.io":  {fleetGroup, "fleet-local", "guestbook-guestbook", sick},
	"bundledeployments.fleet.cattle.io": {fleetGroup, "cluster-fleet-local-local-1a3d67d0a899",
		"guestbook-guestbook", sick},
	"clusters.fleet.cattle.io": {fleetGroup, "fleet-local", "local", sick},
	"deployments":              {"apps", "guestbook", "frontend", sick},
	"services":                 {"", "guestbook", "frontend", sick},
	"secrets":                  {"", "guestbook", "smtp", sick},
}

// TestK9s runs the command of each plugin for an object of each of its scopes, with the values that k9s has for its
// variables, on a captured cluster. Other scopes must be plural names of kinds, as k9s knows them.
func TestK9s(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "docs", "k9s-plugins.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Plugins map[string]k9sPlugin }
	if err := yaml.UnmarshalStrict(raw, &file); err != nil {
		t.Fatal(err)
	}
	kinds := builtIn()
	dir := directory(t)
	t.Chdir(dir)
	capture(t, "cases/sick-management.yaml")
	ran, used := 0, map[string]string{}
	for name, p := range file.Plugins {
		if p.ShortCut == "" || p.Description == "" {
			t.Errorf("%s has no shortCut, or no description", name)
		}
		for _, scope := range p.Scopes {
			if other := used[scope+p.ShortCut]; other != "" {
				t.Errorf("%s and %s use %s for %s", name, other, p.ShortCut, scope)
			}
			used[scope+p.ShortCut] = name
			o, ok := objects[scope]
			switch {
			case ok:
				ran++
				plural, _, _ := strings.Cut(scope, ".")
				runPlugin(t, p, o, map[string]string{"RESOURCE_NAME": plural, "RESOURCE_GROUP": o.group,
					"NAME": o.name, "NAMESPACE": o.namespace, "CONTEXT": "a context; $(exit 9)", "KUBECONFIG": ""})
			case !kinds[scope]:
				t.Errorf("%s: no kind has the name %s", name, scope)
			}
		}
	}
	if want := 4*5 + 3; ran != want {
		t.Errorf("ran %d commands, want %d", ran, want)
	}
}

// builtIn returns the plural names of Kubernetes' own kinds.
func builtIn() map[string]bool {
	kinds := map[string]bool{}
	for kind := range scheme.Scheme.AllKnownTypes() {
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		kinds[plural.Resource] = true
	}
	return kinds
}

// runPlugin runs the command of a plugin: "env VARIABLE=value sh -c SCRIPT NAME ARGUMENT...".
func runPlugin(t *testing.T, p k9sPlugin, o selected, variables map[string]string) {
	t.Helper()
	args := make([]string, 0, len(p.Args))
	for _, a := range p.Args {
		args = append(args, os.Expand(a, func(name string) string {
			if value, ok := variables[name]; ok {
				return value
			}
			return "$" + name // k9s keeps what is not one of its variables
		}))
	}
	if len(args) < 6 {
		t.Fatalf("command %s %q", p.Command, args)
	}
	if got := append([]string{p.Command}, args[:3]...); !slices.Equal(got, []string{"env", "KUBECONFIG=", "sh", "-c"}) {
		t.Fatalf("command %q", got)
	}
	runs, err := execute(t, args[3], append(args[5:], "--snapshot="+o.snapshot)...)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%q: %v, %d calls of the program", args, err, len(runs))
	}
	if !slices.Contains([]int{cli.ExitOK, cli.ExitFound}, runs[0].status) {
		t.Errorf("%q: status %d\n%s", args, runs[0].status, runs[0].stderr)
	}
	if out := runs[0].stdout; !strings.Contains(out, o.name) && !strings.Contains(out, "Nothing to repair.") {
		t.Errorf("%q does not print %s:\n%s", args, o.name, runs[0].stdout)
	}
}
