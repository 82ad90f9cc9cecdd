// SPDX-License-Identifier: Apache-2.0

package audit

import "testing"

// TestCommentEscapes checks that a name of a snapshot cannot change the terminal.
func TestCommentEscapes(t *testing.T) {
	if got := comment("names \x1b[31m"); got != "# names \ufffd[31m\n" {
		t.Errorf("got %q", got)
	}
}
