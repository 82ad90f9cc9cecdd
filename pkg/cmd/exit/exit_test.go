// SPDX-License-Identifier: Apache-2.0

package exit

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
		{"none", nil, OK, ""},
		{"any", cause, Failed, "cause"},
		{"usage", UsageError(cause), Usage, "cause"},
		{"usage, wrapped", fmt.Errorf("running: %w", UsageError(cause)), Usage, "running: cause"},
		{"findings", &Error{Status: Found, Shown: true}, Found, "findings"},
		{"interrupted", context.Canceled, Failed, "context canceled"},
	} {
		if got := Status(tc.err); got != tc.want {
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
