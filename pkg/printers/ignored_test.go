// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"testing"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// ignored is a report without the findings that an ignore file names.
func ignored(t *testing.T, a *report.Audit) *report.Audit {
	t.Helper()
	f, err := report.ParseIgnoreFile(".fleetdoctor.yaml", []byte(`ignore:
- {code: FD104, object: {kind: Secret}, reason: the password is rotated by hand, expires: 2027-01-31}
- {code: [FD101, FD701], reason: "a reason with \u001b[31m colour"}
- {code: FD205, cluster: absent, reason: it matches nothing}
- {code: FD205, reason: it has expired, expires: 2020-01-31}
`))
	if err != nil {
		t.Fatal(err)
	}
	return f.Apply(a, time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC))
}
