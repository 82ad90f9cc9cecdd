// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// row is a row of the table of tools in docs/integrations.md.
var row = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| .* \\| (.*) \\|$")

// plans are the verbs of the tools that only plan.
var plans = map[string]string{"adoption_plan": "adopt", "repair_plan": "repair"}

// TestTools checks the list of tools: each only reads, and its arguments are those of its verb, with the same values,
// and those of the documentation.
func TestTools(t *testing.T) {
	listed, err := connect(t, "--snapshot", sick).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(checkout, "docs", "integrations.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		documented[m[1]] = m[2]
	}
	root := cmd.New(program, cli.Environment{Streams: genericiooptions.NewTestIOStreamsDiscard()})
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint || tool.Description == "" {
			t.Errorf("%s: annotations %+v, description %q", tool.Name, tool.Annotations, tool.Description)
		}
		name, ok := plans[tool.Name]
		if !ok {
			name = tool.Name
		}
		command, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		schema, _ := tool.InputSchema.(map[string]any)
		if schema["additionalProperties"] != false {
			t.Errorf("%s takes other arguments: %v", tool.Name, schema["additionalProperties"])
		}
		properties, _ := schema["properties"].(map[string]any)
		if n := strings.Count(documented[tool.Name], "`") / 2; n != len(properties)-1 { // without format
			t.Errorf("%s has %d arguments, the page names %d", tool.Name, len(properties), n)
		}
		for name, property := range properties {
			if name != "format" && !strings.Contains(documented[tool.Name], "`"+name+"`") {
				t.Errorf("%s: the page does not name the argument %s", tool.Name, name)
			}
			if slices.Contains([]string{"objects", "bundles", "clusters", "words", "format"}, name) {
				continue
			}
			flag := command.Flags().Lookup(name)
			if flag == nil {
				t.Errorf("%s: the argument %s is no flag", tool.Name, name)
				continue
			}
			enum, _ := flag.Value.(*cli.Enum)
			values, _ := property.(map[string]any)["enum"].([]any)
			if enum == nil && len(values) == 0 {
				continue
			}
			for i, value := range values {
				if enum == nil || len(values) != len(enum.Values()) || enum.Values()[i] != value {
					t.Errorf("%s: the argument %s has the values %v, the flag %s", tool.Name, name, values,
						flag.Value.Type())
				}
			}
		}
	}
	want := []string{"adoption_plan", "agents", "audit", "explain", "owner", "preflight", "repair_plan", "targets",
		"why"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

// TestCall checks that each tool answers as the command line does, as a text and as a document.
func TestCall(t *testing.T) {
	c := connect(t, "--snapshot", sick)
	for _, q := range questions {
		source := q.from("--snapshot", sick)
		got, result := c.call(q.tool, q.arguments)
		if diff := cmp.Diff(run(t, q.line, source...), got); diff != "" {
			t.Errorf("%s %v (-command line +tool):\n%s", q.tool, q.arguments, diff)
		}
		if incomplete := q.tool == "agents"; result.IsError != incomplete { // the prediction for an agent is unknown
			t.Errorf("%s %v: error %t\n%s", q.tool, q.arguments, result.IsError, got)
		}
		if q.arguments["by"] != nil || q.arguments["summary"] != nil {
			continue // they are of tables
		}
		arguments := map[string]any{"format": "json"}
		for name, value := range q.arguments {
			arguments[name] = value
		}
		got, result = c.call(q.tool, arguments)
		document := run(t, q.line, append(source, "--output=json")...)
		if diff := cmp.Diff(document, got); diff != "" {
			t.Errorf("%s %v (-command line +tool):\n%s", q.tool, arguments, diff)
		}
		structured, err := json.Marshal(result.StructuredContent)
		if err != nil || !strings.Contains(string(structured), `"apiVersion":"fleetdoctor.io/`) {
			t.Errorf("%s: structured content %s, error %v", q.tool, structured, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if status := <-c.ended; status != cli.ExitOK || c.errOut.Len() > 0 {
		t.Errorf("the server ended with status %d: %s", status, c.errOut)
	}
}

// TestRefused checks hostile and wrong arguments: each is an error of its call, no file appears, and the server goes
// on.
func TestRefused(t *testing.T) {
	c := connect(t, "--snapshot", sick)
	const notTaken = "unexpected additional properties"
	for _, tc := range []struct{ tool, arguments, want string }{
		{"adoption_plan", `{"yes": true}`, notTaken},
		{"adoption_plan", `{"confirm": "0"}`, notTaken},
		{"adoption_plan", `{"receipt": "receipt.jsonl"}`, notTaken},
		{"adoption_plan", `{"undo": "receipt.jsonl"}`, notTaken},
		{"adoption_plan", `{"dry-run": "none"}`, notTaken},
		{"adoption_plan", `{"dangerous-take-from": ["a"]}`, notTaken},
		{"repair_plan", `{"yes": true}`, notTaken},
		{"repair_plan", `{"confirm": "0"}`, notTaken},
		{"repair_plan", `{"receipt": "receipt.jsonl"}`, notTaken},
		{"repair_plan", `{"undo": "receipt.jsonl"}`, notTaken},
		{"repair_plan", `{"dry-run": "none"}`, notTaken},
		{"repair_plan", `{"dangerous-take-from": ["a"]}`, notTaken},
		{"repair_plan", `{"objects": ["--yes"]}`, "it must not begin with -"},
		{"repair_plan", `{"allow": ["--yes"]}`, "does not equal any of"},
		{"repair_plan", `{"code": ["FD1"]}`, "there is no such code"},
		{"audit", `{"kubeconfig": "other"}`, notTaken},
		{"audit", `{"snapshot": ["/"]}`, notTaken},
		{"audit", `{"server-check": "always"}`, notTaken},
		{"audit", `{"output": "go-template-file=/etc/passwd"}`, notTaken},
		{"audit", `{"format": "go-template-file=/etc/passwd"}`, "does not equal any of"},
		{"preflight", `{"filename": "/etc"}`, notTaken},
		{"explain", `{"snapshot": ["/"]}`, notTaken},
		{"adoption_plan", `{"objects": ["--yes"]}`, "it must not begin with -"},
		{"adoption_plan", `{"objects": ["-y", "deployment/frontend"]}`, "it must not begin with -"},
		{"adoption_plan", `{"objects": ["--", "--yes"]}`, "it must not begin with -"},
		{"adoption_plan", `{"policy": "if-unowned --yes"}`, "does not equal any of"},
		{"adoption_plan", `{"selector": "--yes"}`, `parsing --selector "--yes"`},
		{"adoption_plan", `{"namespace": "--yes"}`, `parsing --namespace "--yes"`},
		{"audit", `{"namespace": "a\n--yes"}`, "control characters"},
		{"audit", `{"objects": ["bundle/a\nbundle/b"]}`, "control characters"},
		{"audit", `{"objects": ["bundle/a\u0000"]}`, "control characters"},
		{"audit", `{"objects": [""]}`, "argument objects is empty"},
		{"audit", `{"namespace": ""}`, "argument namespace is empty"},
		{"audit", `{"objects": "bundle/a"}`, `has type "string", want`},
		{"audit", `{"summary": "true"}`, `has type "string", want`},
		{"audit", `{"code": ["FD101", "../../etc/passwd"]}`, `invalid --code "../../etc/passwd"`},
		{"audit", `{"summary": true, "format": "json"}`, "mutually exclusive"},
		{"owner", `{"objects": ["../../../etc/passwd"]}`, `parsing argument "../../../etc/passwd"`},
		{"owner", `{"objects": ["deployment/../x"]}`, `not found`},
		{"owner", `{"objects": ["deployment/nope"]}`, "deployment/nope not found"},
		{"targets", `{"bundles": ["deployment/a"]}`, "it must be bundle/NAME"},
		{"agents", `{"clusters": ["nope"]}`, "cluster/nope not found"},
		{"explain", `{"words": ["completion"]}`, `"completion" is not a code`},
		{"why", `{}`, `missing properties: ["objects"]`},
		{"why", `{"objects": []}`, "minItems"},
		{"why", `{"objects": ["` + strings.Repeat("a", 2000) + `"]}`, "maxLength"},
		{"why", `{"objects": ["a"` + strings.Repeat(`, "a"`, 100) + `]}`, "maxItems"},
	} {
		var arguments map[string]any
		if err := json.Unmarshal([]byte(tc.arguments), &arguments); err != nil {
			t.Fatal(err)
		}
		got, result := c.call(tc.tool, arguments)
		if !result.IsError || !strings.Contains(got, tc.want) {
			t.Errorf("%s %s: error %t, want %q:\n%s", tc.tool, tc.arguments, result.IsError, tc.want, got)
		}
	}
	for _, tool := range []string{"adopt", "repair", "webhook", "snapshot", "mcp"} {
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool}); err == nil {
			t.Errorf("the tool %s exists", tool)
		}
	}
	if got, result := c.call("audit", nil); result.IsError {
		t.Errorf("the next call: %s", got)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("error %v, files %v", err, left)
	}
}

// TestSecret checks that no result has the value of a Secret that differs.
func TestSecret(t *testing.T) {
	secrets, err := os.ReadFile(filepath.Join(sick, "secrets.json"))
	const value, encoded = "changed-by-hand", "Y2hhbmdlZC1ieS1oYW5k"
	if err != nil || !strings.Contains(string(secrets), encoded) {
		t.Fatalf("the test data has no such Secret, error %v", err)
	}
	c := connect(t, "--snapshot", sick)
	masked := false
	for _, format := range []string{"text", "json"} {
		for _, q := range []question{
			{tool: "audit", arguments: map[string]any{"diff": true}}, {tool: "audit", arguments: map[string]any{}},
			{tool: "preflight", arguments: map[string]any{"diff": true}},
			{tool: "adoption_plan", arguments: map[string]any{"diff": true}},
			{tool: "repair_plan", arguments: map[string]any{}},
			{tool: "repair_plan", arguments: map[string]any{"diff": true}},
			{tool: "owner", arguments: map[string]any{"objects": []string{"secret/smtp"}}},
			{tool: "why", arguments: map[string]any{"objects": []string{"secret/smtp", "cluster/local"}}},
		} {
			q.arguments["format"] = format
			got, _ := c.call(q.tool, q.arguments)
			if strings.Contains(got, value) || strings.Contains(got, encoded) {
				t.Errorf("%s %v has the value:\n%s", q.tool, q.arguments, got)
			}
			masked = masked || strings.Contains(got, "***")
		}
	}
	if !masked {
		t.Error("no result has a masked value")
	}
}

// TestLong checks results that are too long: a text is cut, and a document is an error. Both say how to get less.
func TestLong(t *testing.T) {
	c := connect(t, "--snapshot", drift)
	got, result := c.call("audit", map[string]any{"all": true, "diff": true})
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	last := lines[len(lines)-1]
	whole := run(t, "audit", "--all", "--diff", "--snapshot", drift)
	switch {
	case result.IsError || len(got) > 33<<10 || len(got) < 31<<10:
		t.Errorf("error %t, %d bytes", result.IsError, len(got))
	case !strings.HasPrefix(whole, strings.Join(lines[:len(lines)-1], "\n")+"\n"):
		t.Errorf("it does not begin as the whole text: %s", got)
	case !strings.HasPrefix(last, "… ") || !strings.Contains(last, "To get less, name objects, or set severity"):
		t.Errorf("last line %q", last)
	}
	got, result = c.call("explain", map[string]any{"format": "json"})
	if !result.IsError || result.StructuredContent != nil || !strings.Contains(got, "limit is 64 KiB: name one word") {
		t.Errorf("error %t: %s", result.IsError, got)
	}
}

// TestConcurrent checks that calls at the same time have the answers of calls one after the other.
func TestConcurrent(t *testing.T) {
	c := connect(t, "--snapshot", sick)
	var wait sync.WaitGroup
	for _, q := range questions {
		want := run(t, q.line, q.from("--snapshot", sick)...)
		wait.Go(func() {
			result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: q.tool, Arguments: q.arguments})
			if err != nil {
				t.Errorf("%s: %v", q.tool, err)
				return
			}
			if diff := cmp.Diff(want, texts(result)); diff != "" {
				t.Errorf("%s %v (-command line +tool):\n%s", q.tool, q.arguments, diff)
			}
		})
	}
	wait.Wait()
}

// TestNoProgram checks that no call starts the user's program for differences.
func TestNoProgram(t *testing.T) {
	t.Setenv("KUBECTL_EXTERNAL_DIFF", "no-such-program")
	if got := run(t, "audit --diff --snapshot "+sick); !strings.Contains(got, "no-such-program") {
		t.Fatalf("the command line does not start it: %s", got)
	}
	got, result := connect(t, "--snapshot", sick).call("audit", map[string]any{"diff": true})
	if result.IsError || !strings.Contains(got, "+++ ") {
		t.Errorf("error %t: %s", result.IsError, got)
	}
}

// TestFlags checks which flags of the server reach which tools, and which are refused.
func TestFlags(t *testing.T) {
	clusters := filepath.Join(checkout, "test", "testdata", "impact")
	management, edge := filepath.Join(clusters, "management.yaml"), filepath.Join(clusters, "edge-1.yaml")
	c := connect(t, "--snapshot", management, "--cluster-snapshot", "edge-1="+edge, "--context", "prod")
	if got, _ := c.call("audit", nil); !strings.Contains(got, "1 cluster was read") ||
		!strings.Contains(got, "--context prod") {
		t.Errorf("audit does not read the other cluster: %s", got)
	}
	for tool, arguments := range map[string]map[string]any{"agents": nil, "preflight": nil,
		"owner":         {"objects": []string{"service/operator"}},
		"targets":       {"bundles": []string{"bundle/databases"}},
		"adoption_plan": nil, "repair_plan": nil, "explain": {"words": []string{"FD101"}}} {
		if got, _ := c.call(tool, arguments); strings.Contains(got, "unknown flag") {
			t.Errorf("%s: %s", tool, got)
		}
	}
	for line, want := range map[string]string{
		"mcp --snapshot -":                     "--snapshot names standard input",
		"mcp --cluster-snapshot edge-1=-":      "--cluster-snapshot names standard input",
		"mcp --contexts nope":                  "no such context",
		"mcp --namespace a":                    "unknown flag",
		"mcp audit":                            `unknown command "audit"`,
		"mcp --via-rancher --snapshot " + edge: "mutually exclusive",
	} {
		if got := run(t, line); !strings.Contains(got, want) {
			t.Errorf("%s: %s", line, got)
		}
	}
}

// TestProcess runs the program as an agent does: as a process, over its standard input and output.
func TestProcess(t *testing.T) {
	binary := filepath.Join(t.TempDir(), program)
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", binary, "./cmd/"+program)
	build.Dir = checkout
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := run(t, "audit --snapshot "+sick)
	var stderr strings.Builder
	server := exec.CommandContext(t.Context(), binary, "mcp", "--snapshot", sick)
	server.Stderr = &stderr
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(),
		&mcp.CommandTransport{Command: server}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{ClientSession: session, t: t}
	if got, result := c.call("audit", nil); result.IsError || got != want {
		t.Errorf("error %t: %s", result.IsError, cmp.Diff(want, got))
	}
	// It renders bundles in a child process, which has the same binary but other streams.
	if got, _ := c.call("preflight", nil); !strings.Contains(got, "Preflight of snapshot") {
		t.Errorf("preflight: %s", got)
	}
	if err := c.Close(); err != nil || stderr.Len() > 0 || server.ProcessState.ExitCode() != cli.ExitOK {
		t.Errorf("error %v, %v: %s", err, server.ProcessState, &stderr)
	}
}
