// SPDX-License-Identifier: Apache-2.0

package output

import "testing"

// TestSince checks the time of --since for a report that was taken at a time.
func TestSince(t *testing.T) {
	const taken = "2026-01-02T15:04:05Z"
	for text, want := range map[string]string{"": "", "30m": "2026-01-02T14:34:05Z", "3d": "2025-12-30T15:04:05Z",
		"1d2h30m": "2026-01-01T12:34:05Z", "2025-01-02T15:04:05+01:00": "2025-01-02T14:04:05Z"} {
		f := NewFilter()
		if text != "" {
			if err := f.since.Set(text); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		if got, err := f.Since(taken); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "2", "x", "-2h", "0s", "d", "-1d", "1dx", "99999999999d", "2026-01-02"} {
		if err := (&Since{}).Set(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	f := NewFilter()
	if err := f.since.Set("2h"); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Since(""); err == nil {
		t.Errorf("a duration before an unknown time is %s", got)
	}
}
