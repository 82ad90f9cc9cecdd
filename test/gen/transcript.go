// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// root is the directory of the module: gen runs there.
const root = "."

// agentsPage is the page of the verb agents with a transcript.
func agentsPage() ([]byte, error) {
	page, err := verb("agents")()
	if err != nil {
		return nil, err
	}
	shown, err := agentsTranscript(root)
	return append(page, shown...), err
}

// agentsTranscript is the output of agents for a case. A test compares it with the page.
func agentsTranscript(root string) ([]byte, error) {
	const findings = 1
	out, err := printed(filepath.Join(root, "test", "testdata", "cases", "agents-mixed.yaml"), findings, "agents", "-o",
		"wide")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("\n## Transcript\n\nA management cluster with Fleet 0.12. Every kubeconfig Secret has its own URL " +
		"and CA, so every restart of the controller imports these agents " +
		"again. An upgrade ends that; only the agent with a raised generation is imported in any case. The cluster " +
		"`edge-1` registered itself.\n\n")
	fmt.Fprintf(&b, "```\n$ kubectl fleetdoctor agents -o wide --snapshot dump.tgz\n%s```\n",
		strings.Replace(out, "snapshot -", "snapshot dump.tgz", 1))
	return b.Bytes(), nil
}

// printed returns what a verb prints for a case, which it reads from standard input. It returns an error if the exit
// status is another one.
func printed(file string, want int, args ...string) (string, error) {
	var head map[string]any
	c, err := cases.Read(file, &head)
	if err != nil {
		return "", err
	}
	if err := c.Complete(nil); err != nil {
		return "", err
	}
	in, err := c.Stream()
	if err != nil {
		return "", err
	}
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	streams.In = in
	command := slices.Concat([]string{"kubectl-fleetdoctor"}, args, []string{"--snapshot", "-"})
	if status := cmd.Main(context.Background(), command, cli.Environment{Streams: streams}); status != want {
		return "", fmt.Errorf("%s: status %d: %s", strings.Join(args, " "), status, errOut)
	}
	return out.String(), nil
}
