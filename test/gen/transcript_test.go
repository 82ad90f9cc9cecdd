// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"testing"
)

// TestTranscript repeats the transcripts of the pages. After an intended change, run make generate.
func TestTranscript(t *testing.T) {
	for name, transcript := range map[string]func(root string) ([]byte, error){"agents": agentsTranscript,
		"why": whyTranscript} {
		page, err := os.ReadFile("../../docs/verbs/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		shown, err := transcript("../..")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasSuffix(page, shown) {
			t.Errorf("docs/verbs/%s.md does not end with this transcript:\n%s", name, shown)
		}
	}
}

// TestPicture repeats the picture of the README. After an intended change, run make generate.
func TestPicture(t *testing.T) {
	page, err := os.ReadFile("../../docs/audit.svg")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := pictureOf("../..")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page, shown) {
		t.Errorf("docs/audit.svg is not this picture:\n%s", shown)
	}
}
