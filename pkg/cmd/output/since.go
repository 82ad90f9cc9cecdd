// SPDX-License-Identifier: Apache-2.0

package output

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Since is a flag with a parseAge before the time of a report, or with a time. It implements pflag.Value.
type Since struct {
	text string
	last time.Duration // 0 for a time
	from time.Time
}

// String returns the value.
func (s *Since) String() string { return s.text }

// Type is the placeholder of the value in help.
func (s *Since) Type() string { return "duration" }

// Set parses a value.
func (s *Since) Set(text string) error {
	from, err := time.Parse(time.RFC3339, text)
	if err == nil {
		*s = Since{text: text, from: from}
		return nil
	}
	last, err := parseAge(text)
	if err != nil || last <= 0 {
		return errors.New("must be a duration such as 30m, 2h or 3d, or a time such as 2026-01-02T15:04:05Z")
	}
	*s = Since{text: text, last: last}
	return nil
}

// parseAge parses a parseAge, which may begin with a number of days.
func parseAge(text string) (time.Duration, error) {
	number, rest, found := strings.Cut(text, "d")
	if !found {
		return time.ParseDuration(text)
	}
	days, err := strconv.ParseUint(number, 10, 16)
	out := time.Duration(days) * 24 * time.Hour
	if err != nil || rest == "" {
		return out, err
	}
	more, err := time.ParseDuration(rest)
	return out + more, err
}

// Begin is the time (RFC 3339) for data that was taken at a time; "" without a value.
func (s *Since) Begin(takenAt string) (string, error) {
	from := s.from
	if s.last > 0 {
		taken, err := time.Parse(time.RFC3339, takenAt)
		if err != nil {
			return "", errors.New("--since=" + s.text + ": the time of the data is not known: state a time, such as " +
				"--since=2026-01-02T15:04:05Z")
		}
		from = taken.Add(-s.last)
	}
	return report.Time(from), nil
}
