// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

const program = "kubectl-fleetdoctor"

// checkout is the root of the sources. It is absolute, because tests change the directory.
var checkout, _ = filepath.Abs("../../..")

// The captured clusters: one with problems, and one with so many that a result is too long.
var (
	sick  = filepath.Join(checkout, "test", "testdata", "sick")
	drift = filepath.Join(checkout, "test", "testdata", "drift")
)

// environment returns one whose clock shows when the clusters were captured.
func environment(streams genericiooptions.IOStreams) cli.Environment {
	return cli.Environment{Streams: streams,
		Now: func() time.Time { return time.Date(2026, 11, 20, 7, 47, 35, 0, time.UTC) }}
}

// client is a client of a server that runs in this process.
type client struct {
	*mcp.ClientSession
	t         *testing.T
	interrupt context.CancelFunc
	ended     <-chan int // receives the exit status of the server
	errOut    *bytes.Buffer
}

// connect starts "kubectl fleetdoctor mcp" with flags, without any kubeconfig, and connects a client.
func connect(t *testing.T, flags ...string) *client {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	return start(t, flags...)
}

// start starts "kubectl fleetdoctor mcp" in an empty directory, with flags, and connects a client by pipes.
func start(t *testing.T, flags ...string) *client {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Chdir(t.TempDir())
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ctx, interrupt := context.WithCancel(t.Context())
	ended, errOut := make(chan int, 1), &bytes.Buffer{}
	go func() {
		env := environment(genericiooptions.IOStreams{In: fromClient, Out: toClient, ErrOut: errOut})
		ended <- cmd.Main(ctx, append([]string{program, "mcp"}, flags...), env)
		_ = toClient.Close()
	}()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(),
		&mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return &client{session, t, interrupt, ended, errOut}
}

// call calls a tool and returns its texts, joined.
func (c *client) call(tool string, arguments map[string]any) (string, *mcp.CallToolResult) {
	c.t.Helper()
	result, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		c.t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	return texts(result), result
}

// texts returns the texts of a result, joined.
func texts(result *mcp.CallToolResult) string {
	var out strings.Builder
	for _, part := range result.Content {
		if text, ok := part.(*mcp.TextContent); ok {
			out.WriteString(text.Text)
		}
	}
	return out.String()
}

// run runs a command line of the program, and returns what it prints. repair may only read, as in a call: otherwise it
// asks the server.
func run(t *testing.T, line string, flags ...string) string {
	t.Helper()
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	env := environment(streams)
	env.ReadOnly = strings.HasPrefix(line, "repair ")
	cmd.Main(t.Context(), append(append([]string{program}, strings.Fields(line)...), flags...), env)
	return out.String() + errOut.String()
}

// question is a call of a tool, and the command line that answers it.
type question struct {
	tool      string
	arguments map[string]any
	line      string
}

var questions = []question{
	{"audit", nil, "audit"},
	{"audit", map[string]any{"objects": []string{"bundle/ingress-ingress"}, "diff": true},
		"audit bundle/ingress-ingress --diff"},
	{"audit", map[string]any{"severity": "error", "code": []string{"FD101", "Unowned"}},
		"audit --severity=error --code=FD101,Unowned"},
	{"audit", map[string]any{"by": "cluster", "namespace": "fleet-local"}, "audit --by=cluster -n fleet-local"},
	{"audit", map[string]any{"summary": true, "since": "3000d"}, "audit --summary --since=3000d"},
	{"audit", map[string]any{"selector": "fleet.cattle.io/repo-name=ingress"},
		"audit -l fleet.cattle.io/repo-name=ingress"},
	{"why", map[string]any{"objects": []string{"cluster/local"}}, "why cluster/local"},
	{"owner", map[string]any{"objects": []string{"deployment/frontend"}, "namespace": "guestbook"},
		"owner deployment/frontend -n guestbook"},
	{"explain", map[string]any{"words": []string{"FD101", "Unowned"}}, "explain FD101 Unowned"},
	{"targets", map[string]any{"bundles": []string{"bundle/ingress-ingress"}}, "targets bundle/ingress-ingress"},
	{"preflight", map[string]any{"diff": true}, "preflight --server-check=never --diff"},
	{"agents", nil, "agents"},
	{"repair_plan", map[string]any{"allow": []string{"delete"}, "code": []string{"FD101", "FD104"}, "diff": true},
		"repair --dry-run=client --allow=delete --code=FD101,FD104 --diff"},
	{"adoption_plan", map[string]any{"policy": "unmarked"}, "adopt --dry-run=client --policy=unmarked"},
}

// from returns the flags that name the source, for the tools that read one.
func (q question) from(flags ...string) []string {
	if q.tool == "explain" {
		return nil
	}
	return flags
}
