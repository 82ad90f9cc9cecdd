// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
)

// Pages is the address of the directory docs/.
const Pages = "https://github.com/fleetdoctor/kubectl-fleetdoctor/blob/main/docs/"

// documentation is the page that explains the findings. It has an anchor for each code.
const documentation = Pages + "findings.md"

// URL returns the address of the explanation of a code.
func URL(code string) string { return documentation + "#" + Anchor(code) }

// Anchor is the anchor of a code in that page.
func Anchor(code string) string { return strings.ToLower(code) }
