// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestStatus(t *testing.T) {
	cause := errors.New("cause")
	for _, tc := range []struct {
		name    string
		err     error
		want    int
		message string
	}{
		{"none", nil, ExitOK, ""},
		{"any", cause, ExitFailed, "cause"},
		{"usage", UsageError(cause), ExitUsage, "cause"},
		{"usage, wrapped", fmt.Errorf("running: %w", UsageError(cause)), ExitUsage, "running: cause"},
		{"findings", &Error{Status: ExitFound, Shown: true}, ExitFound, "findings"},
		{"interrupted", context.Canceled, ExitFailed, "context canceled"},
	} {
		if got := ExitStatus(tc.err); got != tc.want {
			t.Errorf("%s: status %d, want %d", tc.name, got, tc.want)
		}
		if tc.err != nil && tc.err.Error() != tc.message {
			t.Errorf("%s: %q, want %q", tc.name, tc.err, tc.message)
		}
	}
	if !errors.Is(UsageError(cause), cause) {
		t.Error("the cause is lost")
	}
}
