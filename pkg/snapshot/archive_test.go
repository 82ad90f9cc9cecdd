// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"io/fs"
	"strings"
	"testing"
)

// TestFileName checks that the file of an object is in the folder of its resource, whatever a server or another
// snapshot has as names.
func TestFileName(t *testing.T) {
	hostile := []string{"..", "../../etc", "/etc/cron.d", `..\..\x`, "a/../../b", "C:x", ".", "a\x00b", "a\nb"}
	for _, resource := range append(hostile, "deployments.apps") {
		for _, name := range append(hostile, "x") {
			for _, namespace := range append(hostile, "") {
				got := fileName(resource, namespace, name)
				folders := 1
				if namespace != "" {
					folders = 2
				}
				if !fs.ValidPath(got) || strings.Count(got, "/") != folders || strings.ContainsAny(got, "\\:\x00\n") {
					t.Errorf("resource %q, namespace %q, name %q: %q", resource, namespace, name, got)
				}
			}
		}
	}
	if got, want := fileName("deployments.apps", "web", "frontend"), "deployments.apps/web/frontend.json"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
