// SPDX-License-Identifier: Apache-2.0

package check

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
)

// TestTexts checks that each code of the catalogue has a text with all sections, and that no other code has one.
func TestTexts(t *testing.T) {
	var want []string
	for _, c := range Catalogue() {
		want = append(want, filepath.Join("codes", c.Code+".yaml"))
		text, err := codes.TextOf(c.Code)
		if err != nil {
			t.Errorf("%s: %v", c.Code, err)
		}
		for section, content := range map[string]string{"explanation": text.Explanation, "evidence": text.Evidence,
			"remedy": text.Remedy, "versions": text.Versions, "sections": strings.Join(text.Sections, " ")} {
			if content == "" || strings.ContainsAny(content, "\n\t") || strings.Contains(content, "  ") {
				t.Errorf("%s: %s is not one paragraph: %q", c.Code, section, content)
			}
		}
		if !strings.HasSuffix(text.Explanation, ".") {
			t.Errorf("%s: an explanation ends with a full stop: %q", c.Code, text.Explanation)
		}
	}
	got, err := filepath.Glob("codes/*.yaml")
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q (%v)", got, want, err)
	}
	if _, err := codes.TextOf("FD999"); err == nil {
		t.Error("FD999 has a text")
	}
}
