// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"os"
	"strings"
	"testing"
)

// TestWarningCodes writes and reads a warning of each code, and checks that docs/webhook.md describes each.
func TestWarningCodes(t *testing.T) {
	docs, err := os.ReadFile("../../docs/webhook.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range WarningCodes() {
		want := Warning{code, "configmap web/a: a sentence"}
		if got := ParseWarning(want.String()); got != want ||
			want.String() != "fleetdoctor/"+string(code)+": configmap web/a: a sentence" {
			t.Errorf("%s is read as %+v", want, got)
		}
		if !strings.Contains(string(docs), "| `fleetdoctor/"+string(code)+"` |") {
			t.Errorf("docs/webhook.md does not describe %s", code)
		}
	}
	for _, text := range []string{"", "Restored: a sentence", "fleetdoctor/Restored", "fleetdoctor/Other: a sentence",
		"fleetdoctor/: a sentence", "fleetdoctor/Two words: a sentence", "policy: fleetdoctor/Restored: a sentence"} {
		if got := ParseWarning(text); got != (Warning{Message: text}) {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}
