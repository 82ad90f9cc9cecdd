// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"strings"
	"testing"
)

// TestHints checks that the hint names the required rights after a refusal, and other clusters only if this one did not
// answer.
func TestHints(t *testing.T) {
	f := onCluster(t)
	user := f.UserKubeconfig(t, "visitor")
	for verb, want := range map[string]string{"install": "bind and escalate",
		"uninstall": "It requires get, list and delete"} {
		r := f.as(t, user, verb)
		if r.status != 3 || !strings.Contains(r.errOut, want) || strings.Contains(r.errOut, "Is this the cluster") {
			t.Errorf("%s, without rights: status %d: %s", verb, r.status, r.errOut)
		}
	}
	if r := f.call(t, "uninstall", "--server=https://127.0.0.1:1"); r.status != 3 ||
		!strings.Contains(r.errOut, "current-context") {
		t.Errorf("no cluster: status %d: %s", r.status, r.errOut)
	}
}
