// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
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
	b.WriteString("\n## Kinds of steps\n\nThe last step of a chain is the root cause. `-o json` has its kind in " +
		"`root`.\n\n| kind | meaning |\n|---|---|\n")
	for _, t := range cmd.Topics() {
		if t.Kind == report.TopicStep {
			fmt.Fprintf(b, "| %s | %s |\n", t.Name, t.What)
		}
	}
}

// whyTranscript is the output of why for a captured management cluster. A test compares it with the page.
func whyTranscript(root string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("\n## Transcript\n\nA captured management cluster with four clusters. The objects on the clusters " +
		"were not captured.\n\n")
	for _, step := range []struct{ text, args string }{
		{"On two clusters, `guestbook` waits for a dependency, and no status says why:", "bundle/guestbook"},
		{"The rollout of `shop` allows one unavailable cluster, and one cluster is unavailable:", "bundle/shop"},
		{"The same for one cluster:", "cluster/edge-2"},
	} {
		const notReady = 1
		out, err := printed(filepath.Join(root, "test", "testdata", "why", "management.yaml"), notReady, "why",
			step.args)
		if err != nil {
			return nil, err
		}
		shown := strings.NewReplacer("snapshot -", "snapshot dump.tgz", "SAVED-INPUT", "dump.tgz").Replace(out)
		fmt.Fprintf(&b, "%s\n\n```\n$ kubectl fleetdoctor why %s --snapshot dump.tgz\n%s```\n\n", step.text, step.args,
			shown)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
