// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRuleNames checks that each name of a rule in the code is that of a rule of the file.
func TestRuleNames(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	used := regexp.MustCompile(`\b(?:add|ruleOf)\("(\w+)"`)
	found := 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range used.FindAllStringSubmatch(string(content), -1) {
			found++
			if ruleOf(m[1]).Verdict == "" {
				t.Errorf("%s: there is no rule %s", file, m[1])
			}
		}
	}
	if found < len(Rules()) {
		t.Errorf("%d names in the code, but %d rules", found, len(Rules()))
	}
}
