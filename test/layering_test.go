// SPDX-License-Identifier: Apache-2.0

// Package test checks rules for the whole project: imports between layers, forbidden names in sources, entries at the
// top level, and krew's rules for the manifest.
package test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/fleetdoctor/kubectl-fleetdoctor"

// layer is one row of the table of layers in CONTRIBUTING.md.
type layer struct {
	// packages are the packages of the layer, by their path below the module; the first one is its name. `*` as the
	// last element matches any one name, and each matching package is a layer of its own; `...` matches the package and
	// all below it.
	packages []string
	// may lists the names of the layers that it may import.
	may []string
	// never lists packages that must not be imported directly or indirectly, including all packages below them.
	never []string
	// pure layers have no client, file, clock, goroutine or logger: see pureImports and pureNames. pureFiles are pure
	// files of a layer that is not pure.
	pure      bool
	pureFiles []string
}

// commands are packages that only commands may use.
var commands = []string{
	"k8s.io/cli-runtime",
	"sigs.k8s.io/controller-runtime",
	"github.com/spf13/cobra",
	"github.com/spf13/pflag",
}

// clients are packages that connect to a cluster or read the command line. Of client-go, only packages that
// connect are listed; its scheme has only types. All connections use rest, so this short list is sufficient.
var clients = slices.Concat(commands, []string{
	"k8s.io/client-go/discovery",
	"k8s.io/client-go/dynamic",
	"k8s.io/client-go/kubernetes/typed",
	"k8s.io/client-go/metadata",
	"k8s.io/client-go/rest",
	"k8s.io/client-go/tools/clientcmd",
	"k8s.io/client-go/transport",
})

// requesting are packages that could call the API server while a request is answered. The typed clients cannot be
// listed: controller-runtime's metrics import them through leader election.
var requesting = []string{
	"k8s.io/client-go/dynamic",
	"k8s.io/client-go/metadata",
	"sigs.k8s.io/controller-runtime/pkg/client",
}

// printing are packages that format text. Only printers may use them.
var printing = []string{
	"github.com/fatih/color",
	"github.com/olekukonko/tablewriter",
}

// evaluating are packages that the layers between source and printers must not reach.
var evaluating = slices.Concat(clients, printing)

// layers is the table: a layer may import only the layers in `may`. A package without a row, and a row without a
// package, are errors.
var layers = []layer{
	{packages: []string{"pkg/object"}, pure: true, never: evaluating},
	{packages: []string{"pkg/fleet", "pkg/fleet/v1alpha1", "pkg/fleet/agentconfig", "pkg/fleet/values"}, pure: true,
		never: evaluating,
		may:   []string{"pkg/escape", "pkg/object"}},
	{packages: []string{"pkg/fleet/targeting"}, pure: true, never: evaluating,
		may: []string{"pkg/fleet"}},
	// One package decides which characters may be printed, for printers and for lines on standard error.
	{packages: []string{"pkg/escape"}, pure: true, never: evaluating},
	{packages: []string{"pkg/release"}, pure: true, never: evaluating,
		may: []string{"pkg/object", "pkg/fleet"}},
	{packages: []string{"pkg/ownership"}, pure: true, never: evaluating,
		may: []string{"pkg/object", "pkg/fleet"}},
	// Helm's engine imports the clients of its lookup function; it gets none.
	{packages: []string{"pkg/render"}, pure: true, never: slices.Concat(commands, printing),
		may: []string{"pkg/escape", "pkg/object", "pkg/fleet", "pkg/release", "pkg/secret"}},
	// The loader of directories is a separate package, so that rendering opens no file.
	{packages: []string{"pkg/render/files"}, never: slices.Concat(commands, printing),
		may: []string{"pkg/object", "pkg/fleet", "pkg/release", "pkg/render"}},
	// Rendering in a child process is a separate package, so that rendering starts no process.
	{packages: []string{"pkg/render/process"}, never: slices.Concat(commands, printing),
		may: []string{"pkg/render"}},

	// Sources only read.
	{packages: []string{"pkg/source"}, pure: true, never: evaluating,
		may: []string{"pkg/object"}},
	// The limits of every connection with an API server, including those of the webhook.
	{packages: []string{"pkg/transport"}, never: printing},
	{packages: []string{"pkg/source/cluster"}, never: printing,
		may: []string{"pkg/escape", "pkg/object", "pkg/source", "pkg/transport"}},
	{packages: []string{"pkg/source/snapshot/files"}, never: evaluating,
		may: []string{"pkg/object", "pkg/source"}},
	{packages: []string{"pkg/source/snapshot"}, never: evaluating,
		may: []string{"pkg/object", "pkg/source", "pkg/source/snapshot/files"}},

	// A cluster in memory, for the auditor. Who reads it reads as from a cluster.
	{packages: []string{"pkg/source/watched"}, never: printing,
		may: []string{"pkg/object", "pkg/release", "pkg/source", "pkg/source/cluster"}},

	// The stages: what was read, what is desired, and the result. Each stage may import the previous ones.
	{packages: []string{"pkg/state"}, pure: true, never: evaluating,
		may: []string{"pkg/escape", "pkg/object", "pkg/fleet", "pkg/fleet/targeting", "pkg/release", "pkg/ownership",
			"pkg/source"}},
	// It reads through an interface.
	{packages: []string{"pkg/settle"}, pure: true, never: evaluating,
		may: []string{"pkg/object", "pkg/fleet", "pkg/release", "pkg/source", "pkg/state"}},
	{packages: []string{"pkg/directory"}, pure: true, never: evaluating,
		may: []string{"pkg/object", "pkg/fleet", "pkg/release", "pkg/ownership", "pkg/source", "pkg/state"}},
	{packages: []string{"pkg/desired"}, pure: true, never: evaluating,
		may: []string{"pkg/object", "pkg/fleet", "pkg/release", "pkg/ownership", "pkg/source", "pkg/state",
			"pkg/directory"}},
	{packages: []string{"pkg/compare"}, pure: true, never: evaluating,
		may: []string{"pkg/object", "pkg/fleet"}},
	{packages: []string{"pkg/health"}, pure: true, never: evaluating},
	{packages: []string{"pkg/secret"}, pure: true, never: evaluating,
		may: []string{"pkg/object", "pkg/escape", "pkg/fleet", "pkg/release"}},
	{packages: []string{"pkg/evaluate"}, pure: true, never: evaluating,
		may: []string{"pkg/object", "pkg/fleet", "pkg/release", "pkg/ownership", "pkg/source", "pkg/state",
			"pkg/directory", "pkg/desired", "pkg/compare", "pkg/health", "pkg/secret"}},
	{packages: []string{"pkg/check/codes"}, pure: true, never: evaluating},
	{packages: []string{"pkg/check/facts"}, pure: true, never: evaluating,
		may: []string{"pkg/object", "pkg/fleet", "pkg/fleet/targeting", "pkg/state", "pkg/directory", "pkg/desired",
			"pkg/settle", "pkg/evaluate", "pkg/secret"}},
	{packages: []string{"pkg/check/remedy"}, pure: true, never: evaluating,
		may: []string{"pkg/object", "pkg/fleet", "pkg/release", "pkg/state", "pkg/directory", "pkg/desired",
			"pkg/evaluate", "pkg/escape", "pkg/check/facts"}},
	{packages: []string{"pkg/check"}, pure: true, never: evaluating,
		may: []string{"pkg/check/codes", "pkg/check/facts", "pkg/check/remedy", "pkg/object", "pkg/fleet",
			"pkg/fleet/targeting", "pkg/release", "pkg/ownership", "pkg/state", "pkg/directory", "pkg/settle",
			"pkg/desired", "pkg/evaluate", "pkg/compare", "pkg/secret", "pkg/escape"}},
	{packages: []string{"pkg/report"}, pure: true, never: evaluating,
		may: []string{"pkg/check/codes", "pkg/object", "pkg/fleet", "pkg/source", "pkg/state", "pkg/directory",
			"pkg/desired", "pkg/evaluate", "pkg/check", "pkg/check/facts", "pkg/check/remedy", "pkg/secret",
			"pkg/escape"}},
	// It explains the result of an audit.
	{packages: []string{"pkg/query"}, never: slices.Concat(commands, printing),
		may: []string{"pkg/check/codes", "pkg/object", "pkg/fleet", "pkg/fleet/targeting", "pkg/source", "pkg/state",
			"pkg/directory", "pkg/desired", "pkg/evaluate", "pkg/check", "pkg/check/facts", "pkg/check/remedy",
			"pkg/report", "pkg/collect", "pkg/secret", "pkg/ownership", "pkg/compare", "pkg/audit", "pkg/release"}},
	// It explains the words of the documents.
	{packages: []string{"pkg/cmd"},
		may: []string{"pkg/ownership", "pkg/check", "pkg/preflight", "pkg/report", "pkg/query", "pkg/cmd/*",
			"pkg/cmd/auditor", "pkg/cmd/webhook", "pkg/cmd/input", "pkg/cmd/cli", "pkg/cmd/output", "pkg/audit",
			"pkg/collect", "pkg/escape", "pkg/render/process", "pkg/cmd/query", "pkg/printers", "pkg/snapshot",
			"pkg/source/snapshot", "pkg/check/codes"}},
	{packages: []string{"pkg/printers"}, pure: true, never: clients,
		may: []string{"pkg/check/codes", "pkg/object", "pkg/report", "pkg/escape", "pkg/printers/digest"}},
	{packages: []string{"pkg/printers/digest"}, pure: true, never: evaluating,
		may: []string{"pkg/report", "pkg/escape", "pkg/secret", "pkg/check/codes", "pkg/object"}},
	// Of the rules that it writes, only pkg/compare knows which are the smallest.
	{packages: []string{"pkg/printers/export"}, pure: true, never: clients,
		may: []string{"pkg/check/codes", "pkg/object", "pkg/report", "pkg/escape", "pkg/compare", "pkg/check",
			"pkg/printers/digest"}},
	// It uses a source only as an interface. The clients that it reaches are those of Helm's engine.
	{packages: []string{"pkg/collect"}, never: slices.Concat(commands, printing),
		may: []string{"pkg/object", "pkg/fleet", "pkg/release", "pkg/render", "pkg/source", "pkg/state",
			"pkg/directory", "pkg/desired", "pkg/evaluate", "pkg/secret", "pkg/fleet/targeting"}},
	// Runs the stages one after the other.
	{packages: []string{"pkg/audit"}, never: slices.Concat(commands, printing),
		may: []string{"pkg/check/codes", "pkg/object", "pkg/fleet", "pkg/fleet/targeting", "pkg/release",
			"pkg/ownership", "pkg/render", "pkg/source", "pkg/state", "pkg/directory", "pkg/desired", "pkg/settle",
			"pkg/collect", "pkg/evaluate", "pkg/check", "pkg/check/facts", "pkg/check/remedy", "pkg/journal",
			"pkg/report", "pkg/secret"}},
	// The auditor decides nothing by itself: it runs audits.
	{packages: []string{"pkg/auditor"}, never: printing,
		may: []string{"pkg/object", "pkg/source", "pkg/source/cluster", "pkg/source/watched", "pkg/settle",
			"pkg/check", "pkg/collect", "pkg/audit", "pkg/transport", "pkg/auditor/metrics", "pkg/auditor/view"}},
	// What the auditor keeps of an audit has no values of Secrets.
	{packages: []string{"pkg/auditor/view"}, pure: true, never: slices.Concat(commands, printing),
		may: []string{"pkg/check/codes", "pkg/object", "pkg/fleet", "pkg/state", "pkg/directory", "pkg/evaluate",
			"pkg/check", "pkg/audit", "pkg/report"}},
	{packages: []string{"pkg/auditor/metrics"}, never: slices.Concat(commands, printing),
		pureFiles: []string{"collect.go", "families.go", "history.go"},
		may:       []string{"pkg/object", "pkg/fleet", "pkg/escape", "pkg/check", "pkg/report", "pkg/auditor/view"}},
	// What vanished: the entries, and the auditor that writes them.
	{packages: []string{"pkg/journal"}, pure: true, never: evaluating,
		may: []string{"pkg/object", "pkg/source"}},
	{packages: []string{"pkg/auditor/publish"}, never: slices.Concat(commands, printing),
		pureFiles: []string{"entries.go", "plan.go", "reports.go", "results.go", "text.go"},
		may: []string{"pkg/journal", "pkg/auditor/view", "pkg/object", "pkg/report", "pkg/printers/digest",
			"pkg/fleet", "pkg/release", "pkg/state", "pkg/escape"}},
	// It runs an audit to find out what a snapshot needs.
	{packages: []string{"pkg/snapshot"}, never: slices.Concat(commands, printing),
		may: []string{"pkg/fleet", "pkg/object", "pkg/release", "pkg/render", "pkg/directory", "pkg/desired",
			"pkg/source", "pkg/source/snapshot", "pkg/state", "pkg/collect", "pkg/audit", "pkg/journal", "pkg/secret"}},
	// Repair plans from the result of an audit, and writes through a small interface of its own.
	{packages: []string{"pkg/repair"}, never: evaluating,
		may: []string{"pkg/check", "pkg/check/remedy", "pkg/object", "pkg/fleet", "pkg/ownership", "pkg/source",
			"pkg/directory", "pkg/desired", "pkg/compare", "pkg/evaluate", "pkg/report", "pkg/escape"}},
	// Preflight predicts from the result of an audit.
	{packages: []string{"pkg/preflight"}, pure: true, never: evaluating,
		may: []string{"pkg/object", "pkg/fleet", "pkg/release", "pkg/ownership", "pkg/state", "pkg/directory",
			"pkg/desired", "pkg/evaluate", "pkg/report", "pkg/check", "pkg/check/facts", "pkg/escape"}},
	// Packages that verbs share. The first row that matches a package is its layer.
	{packages: []string{"pkg/cmd/cli"}, never: printing,
		may: []string{"pkg/fleet", "pkg/audit", "pkg/collect"}},
	// It prints documents; verbs pass it the function that prints the table.
	{packages: []string{"pkg/cmd/output"},
		may: []string{"pkg/cmd/cli", "pkg/escape", "pkg/collect", "pkg/check", "pkg/report", "pkg/printers",
			"pkg/evaluate", "pkg/object", "pkg/printers/digest"}},
	{packages: []string{"pkg/cmd/input"},
		may: []string{"pkg/cmd/cli", "pkg/cmd/output", "pkg/escape", "pkg/source", "pkg/source/cluster",
			"pkg/source/snapshot", "pkg/audit", "pkg/collect", "pkg/evaluate", "pkg/check", "pkg/check/remedy",
			"pkg/render/files", "pkg/object", "pkg/fleet", "pkg/state"}},
	// It passes the options of printed documents to the function that prints them.
	{packages: []string{"pkg/cmd/query"},
		may: []string{"pkg/cmd/input", "pkg/cmd/output", "pkg/cmd/cli", "pkg/audit", "pkg/printers", "pkg/report",
			"pkg/evaluate", "pkg/query", "pkg/source", "pkg/source/snapshot"}},
	// Helm's actions import libraries that print; they print nothing here.
	{packages: []string{"pkg/cmd/chart"},
		may: []string{"pkg/cmd/cli", "pkg/cmd/input", "pkg/cmd/output", "pkg/escape", "pkg/install", "pkg/object",
			"pkg/transport"}},
	{packages: []string{"pkg/cmd/auditor"},
		may: []string{"pkg/cmd/chart", "pkg/cmd/input", "pkg/cmd/cli", "pkg/cmd/output", "pkg/cmd/query",
			"pkg/escape", "pkg/heap", "pkg/install", "pkg/journal", "pkg/ownership", "pkg/report", "pkg/transport",
			"pkg/source", "pkg/source/cluster", "pkg/collect", "pkg/audit", "pkg/auditor/publish",
			"pkg/auditor/metrics", "pkg/auditor"}},
	{packages: []string{"pkg/cmd/webhook"},
		may: []string{"pkg/cmd/chart", "pkg/cmd/cli", "pkg/cmd/input", "pkg/transport", "pkg/escape", "pkg/install",
			"pkg/object", "webhook/admission", "webhook/installation", "webhook/server"}},
	{packages: []string{"pkg/cmd/*"},
		may: []string{"pkg/check/codes", "pkg/cmd/input", "pkg/cmd/output", "pkg/cmd/cli", "pkg/install",
			"pkg/cmd/query", "pkg/source", "pkg/source/cluster", "pkg/source/snapshot", "pkg/directory",
			"pkg/desired", "pkg/collect", "pkg/evaluate", "pkg/secret", "pkg/audit", "pkg/repair", "pkg/preflight",
			"pkg/object", "pkg/ownership", "pkg/check", "pkg/report", "pkg/printers", "pkg/printers/export",
			"pkg/escape", "pkg/snapshot", "pkg/query", "pkg/journal", "pkg/fleet", "pkg/state"}},
	// It must not import other packages of the module: then it is initialized before them and before their libraries.
	{packages: []string{"pkg/heap"}, never: slices.Concat(evaluating, []string{"k8s.io", "sigs.k8s.io"})},
	{packages: []string{"cmd/kubectl-fleetdoctor"},
		may: []string{"pkg/cmd", "pkg/heap"}},
	// Embedded files.
	{packages: []string{"manifests"}},
	// The handlers have no client: only the watches of the index connect to the API server.
	{packages: []string{"webhook/admission"}, never: slices.Concat(requesting, printing),
		pureFiles: []string{"decision.go", "facts.go", "guard_mode.go", "harm.go", "mutating.go", "request.go",
			"response.go", "user.go", "validating.go", "warning.go"},
		may: []string{"pkg/object", "pkg/fleet", "pkg/ownership", "pkg/desired", "pkg/journal"}},
	{packages: []string{"webhook/seen"}, never: printing, may: []string{"pkg/object", "pkg/journal"}},
	{packages: []string{"webhook/index"}, never: printing,
		may: []string{"pkg/object", "pkg/release", "pkg/desired"}},
	{packages: []string{"webhook/server"}, never: printing,
		may: []string{"pkg/transport", "pkg/journal", "webhook/admission", "webhook/index", "webhook/seen"}},
	// Helm's actions import libraries of commands.
	{packages: []string{"pkg/install"},
		may: []string{"pkg/object", "pkg/fleet", "manifests"}},
	{packages: []string{"webhook/installation"},
		may: []string{"pkg/object", "pkg/fleet", "pkg/install", "webhook/admission"}},
	// Tests import what they test. No row above names this one, so the product cannot import it.
	{packages: []string{"test/..."},
		may: []string{"pkg/object", "pkg/fleet", "pkg/release", "pkg/ownership", "pkg/render", "pkg/render/files",
			"pkg/render/process", "pkg/source", "pkg/source/cluster", "pkg/source/snapshot", "pkg/state",
			"pkg/directory", "pkg/desired", "pkg/collect", "pkg/evaluate", "pkg/secret", "pkg/compare", "pkg/health",
			"pkg/report", "pkg/check", "pkg/check/facts", "pkg/check/remedy", "pkg/escape", "pkg/printers",
			"pkg/printers/export", "pkg/audit", "pkg/repair", "pkg/query", "pkg/preflight", "pkg/cmd", "pkg/cmd/*",
			"pkg/cmd/chart", "pkg/cmd/input", "pkg/cmd/output", "pkg/cmd/cli", "pkg/cmd/query", "pkg/cmd/webhook",
			"pkg/snapshot", "pkg/auditor/view", "pkg/auditor/metrics", "pkg/auditor/publish", "pkg/journal",
			"pkg/install", "pkg/cmd/auditor", "webhook/admission", "webhook/index", "webhook/server",
			"webhook/installation", "webhook/seen", "manifests"}},
}

// TestLayering compares the table with the imports that the go command lists.
func TestLayering(t *testing.T) {
	// The test cache tracks files that this process opens, not those of the go command: another version of a library
	// may have other imports. (TestSources opens the sources.)
	if _, err := os.ReadFile("../go.mod"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-deps", "-json=ImportPath,Imports,Error", "./...")
	cmd.Dir = ".."
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	graph, faults, err := readGraph(out)
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	// Imports of packages that could not be listed are not checked.
	for _, fault := range faults {
		t.Errorf("go list: %s", fault)
	}
	for _, wrong := range slices.Concat(checkLayering(layers, graph), checkTable(layers, graph)) {
		t.Error(wrong)
	}
}

// allowedImports is the end of a message: what the table lets a layer import.
func allowedImports(t *testing.T, name string) string {
	t.Helper()
	i := slices.IndexFunc(layers, func(l layer) bool { return l.packages[0] == name })
	if i < 0 {
		t.Fatalf("the table has no layer %s", name)
	}
	return "\tof this module it may import only " + strings.Join(layers[i].may, ", ")
}

// TestLayeringRefuses checks, with invented imports, that the check can fail, and its messages.
func TestLayeringRefuses(t *testing.T) {
	tests := []struct {
		name  string
		graph importGraph
		want  []string
	}{
		{name: "allowed", graph: importGraph{
			"cmd/kubectl-fleetdoctor":     {"os", "pkg/cmd"},
			"pkg/cmd":                     {"github.com/spf13/cobra", "pkg/cmd/audit"},
			"pkg/cmd/audit":               {"pkg/audit", "pkg/printers", "pkg/source/cluster"},
			"pkg/source/cluster":          {"k8s.io/client-go/dynamic", "pkg/source"},
			"pkg/audit":                   {"pkg/source", "pkg/ownership"},
			"pkg/ownership":               {"pkg/fleet"},
			"pkg/fleet":                   {"pkg/fleet/v1alpha1", "pkg/object"},
			"pkg/printers":                {"github.com/olekukonko/tablewriter", "pkg/report"},
			"test/bench":                  {"pkg/audit", "test/cluster"},
			"k8s.io/client-go/dynamic":    {"k8s.io/client-go/rest"},
			"k8s.io/client-go/kubernetes": {"k8s.io/client-go/rest"},
		}},
		{name: "a client at the end of a path", graph: importGraph{
			"pkg/ownership":               {"pkg/object", "pkg/fleet"},
			"pkg/fleet":                   {"k8s.io/client-go/kubernetes"},
			"k8s.io/client-go/kubernetes": {"k8s.io/client-go/rest"},
		}, want: []string{
			"pkg/fleet must not reach k8s.io/client-go/rest:\n" +
				"\tpkg/fleet -> k8s.io/client-go/kubernetes -> k8s.io/client-go/rest",
			"pkg/ownership must not reach k8s.io/client-go/rest:\n" +
				"\tpkg/ownership -> pkg/fleet -> k8s.io/client-go/kubernetes -> k8s.io/client-go/rest",
		}},
		{name: "a client that a library imports, by the shortest path", graph: importGraph{
			"pkg/health":            {"example.com/detour", "example.com/summary"},
			"example.com/detour":    {"example.com/summary"},
			"example.com/summary":   {"k8s.io/client-go/rest/watch", "example.com/detour"},
			"k8s.io/client-go/rest": {"net/http"},
		}, want: []string{
			"pkg/health must not reach k8s.io/client-go/rest/watch:\n" +
				"\tpkg/health -> example.com/summary -> k8s.io/client-go/rest/watch",
		}},
		{name: "a name with the same prefix", graph: importGraph{
			"pkg/health": {"k8s.io/client-go/restmapper"},
		}},
		{name: "a printer's library in a check", graph: importGraph{
			"pkg/check": {"github.com/fatih/color"},
		}, want: []string{
			"pkg/check must not reach github.com/fatih/color:\n\tpkg/check -> github.com/fatih/color",
		}},
		{name: "a later layer", graph: importGraph{
			"pkg/compare": {"pkg/object", "pkg/evaluate"},
		}, want: []string{
			"pkg/compare must not import pkg/evaluate:\n" +
				"\tpkg/compare -> pkg/evaluate\n" + allowedImports(t, "pkg/compare"),
		}},
		{name: "a leaf that imports a layer", graph: importGraph{
			"pkg/object": {"pkg/fleet"},
		}, want: []string{
			"pkg/object must not import pkg/fleet:\n\tpkg/object -> pkg/fleet\n\tof this module it may import nothing",
		}},
		{name: "the audit and a source", graph: importGraph{
			"pkg/audit":          {"pkg/source/cluster"},
			"pkg/source/cluster": {"k8s.io/client-go/dynamic"},
		}, want: []string{
			"pkg/audit must not import pkg/source/cluster:\n\tpkg/audit -> pkg/source/cluster\n" +
				allowedImports(t, "pkg/audit"),
		}},
		{name: "a verb and another verb", graph: importGraph{
			"pkg/cmd/mcp": {"pkg/cmd/audit"},
		}, want: []string{
			"pkg/cmd/mcp must not import pkg/cmd/audit:\n\tpkg/cmd/mcp -> pkg/cmd/audit\n" +
				allowedImports(t, "pkg/cmd/*"),
		}},
		{name: "main without the root command", graph: importGraph{
			"cmd/kubectl-fleetdoctor": {"pkg/audit"},
		}, want: []string{
			"cmd/kubectl-fleetdoctor must not import pkg/audit:\n\tcmd/kubectl-fleetdoctor -> pkg/audit\n" +
				allowedImports(t, "cmd/kubectl-fleetdoctor"),
		}},
		{name: "a test that is imported", graph: importGraph{
			"pkg/cmd": {"test/bench"},
		}, want: []string{
			"pkg/cmd must not import test/bench:\n\tpkg/cmd -> test/bench\n" +
				allowedImports(t, "pkg/cmd"),
		}},
		{name: "no layer", graph: importGraph{
			"pkg/fleet/v1beta1": nil,
		}, want: []string{
			"pkg/fleet/v1beta1 belongs to no layer: add it to the table in test/layering_test.go, and say why in " +
				"CONTRIBUTING.md",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, checkLayering(layers, tt.graph)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTableRefuses checks that entries of the table without a package or a layer are reported.
func TestTableRefuses(t *testing.T) {
	table := []layer{
		{packages: []string{"pkg/object"}},
		{packages: []string{"pkg/cmd/*"}, may: []string{"pkg/object", "pkg/removed"}},
		{packages: []string{"pkg/removed/..."}},
	}
	want := []string{
		"the row pkg/cmd/* allows pkg/removed, which is not a layer",
		"the row pkg/removed/... names pkg/removed/..., which matches no package",
	}
	if diff := cmp.Diff(want, checkTable(table, importGraph{"pkg/object": nil, "pkg/cmd/audit": nil})); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestReadGraph decodes what `go list -json` prints: one document after another, with short paths for this module.
func TestReadGraph(t *testing.T) {
	graph, faults, err := readGraph([]byte(`
		{"ImportPath": "` + module + `/pkg/fleet", "Imports": ["os", "` + module + `/pkg/object"]}
		{"ImportPath": "` + module + `/pkg/object", "Error": {"Err": "expected 'package'"}}
		{"ImportPath": "` + module + `ed/pkg/object"}`))
	if err != nil {
		t.Fatal(err)
	}
	wantGraph := importGraph{
		"pkg/fleet":              {"os", "pkg/object"},
		"pkg/object":             {},
		module + "ed/pkg/object": {},
	}
	if diff := cmp.Diff(wantGraph, graph); diff != "" {
		t.Errorf("imports (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"pkg/object: expected 'package'"}, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if _, _, err := readGraph([]byte(`{"ImportPath": `)); err == nil {
		t.Error("no error for a truncated document")
	}
}
