// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	environment "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/why"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// whyPage is the page of the verb why with the kinds of steps and a transcript.
func whyPage() ([]byte, error) {
	page, err := verb("why", whyKinds)()
	if err != nil {
		return nil, err
	}
	shown, err := whyTranscript(root)
	return append(page, shown...), err
}

// whyKinds lists the kinds of steps.
func whyKinds(b *bytes.Buffer) {
	b.WriteString("\n## Kinds of steps\n\nThe last step of a chain is the root cause. `-o json` has its kind in `root`.\n\n| kind | meaning |\n|---|---|\n")
	for _, k := range why.Kinds() {
		fmt.Fprintf(b, "| %s | %s |\n", k.Kind, k.Meaning)
	}
}

// whyTranscript is the output of why for a captured management cluster. A test compares it with the page.
func whyTranscript(root string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("\n## Transcript\n\nA captured management cluster with four clusters, whose objects were not captured.\n\n")
	for _, step := range []struct{ text, args string }{
		{"On two clusters, `guestbook` waits for a dependency, and the status of neither says why:", "bundle/guestbook"},
		{"The rollout of `shop` allows one unavailable cluster, and one is:", "bundle/shop"},
		{"The same for one cluster:", "cluster/edge-2"},
	} {
		var head map[string]any
		c, err := cases.Read(filepath.Join(root, "test", "testdata", "why", "management.yaml"), &head)
		if err != nil {
			return nil, err
		}
		if err := c.Complete(nil); err != nil {
			return nil, err
		}
		in, err := c.Stream()
		if err != nil {
			return nil, err
		}
		streams, _, out, errOut := genericiooptions.NewTestIOStreams()
		streams.In = in
		const notReady = 1
		if status := cmd.Main(context.Background(), []string{"kubectl-fleetdoctor", "why", step.args, "--snapshot", "-"}, environment.Environment{Streams: streams}); status != notReady {
			return nil, fmt.Errorf("why %s: status %d: %s", step.args, status, errOut)
		}
		shown := strings.NewReplacer("snapshot -", "snapshot dump.tgz", "kubectl-fleetdoctor", "kubectl fleetdoctor").Replace(out.String())
		fmt.Fprintf(&b, "%s\n\n```\n$ kubectl fleetdoctor why %s --snapshot dump.tgz\n%s```\n\n", step.text, step.args, shown)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
