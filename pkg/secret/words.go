// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"strings"
	"time"
)

// separates reports whether a character separates words in configuration files.
func separates(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`,;:=.()[]{}<>|&", r) }

// isTime reports whether a value is a time or a duration, which fields of Kubernetes and Fleet must have. It is masked
// in Secrets only.
func isTime(v string) bool {
	if v == "" || v[0] < '0' || v[0] > '9' {
		return false
	}
	if _, err := time.ParseDuration(v); err == nil {
		return true
	}
	_, err := time.Parse(time.RFC3339, v)
	return err == nil
}
