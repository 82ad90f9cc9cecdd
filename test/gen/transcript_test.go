// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"testing"
)

// TestTranscript repeats the transcript of docs/agents.md. After an intended change, run make generate.
func TestTranscript(t *testing.T) {
	page, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := agentsTranscript("../..")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(page, shown) {
		t.Errorf("docs/agents.md does not end with this transcript:\n%s", shown)
	}
}
