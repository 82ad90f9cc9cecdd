// SPDX-License-Identifier: Apache-2.0

package cli

import "strings"

// removed are the commands, flags and formats that only the previous version had, with what replaces each. A name
// without a command is that of a flag of several commands. They are kept for one version.
var removed = map[string]string{
	"audit --from-metrics": "the dashboards of the auditor show this",
	"audit --as-version":   "use compare --as-version",
	"audit --baseline": "compare shows what changed since a report, and the ignore file leaves known findings " +
		"out",
	"audit -o github":         "use -o markdown for the summary of a job, or -o sarif for code scanning",
	"audit -o openreports":    "use the auditor with --open-reports, or -o sarif for code scanning",
	"audit -o prometheus":     "the auditor exports metrics",
	"--no-pager":              "the output never goes through a pager",
	"completion --install":    "docs/install.md shows how to complete kubectl fleetdoctor",
	"auditor install --adopt": "use the admission webhook, or the verb adopt",
	"auditor serve --adopt":   "use the admission webhook, or the verb adopt",
	"tree":                    "use audit -o tree",
	"webhook test":            "use webhook status, which sends the same requests",
	"webhook enable":          "use webhook install",
	"webhook disable":         "delete the webhook configurations (docs/webhook.md), or use webhook uninstall",
}

// Removed says that a word on the command line was removed, and what replaces it: a command, a flag or a format; "" for
// another word. command is the path of the command before the word. The flags whose names begin with that of a removed
// flag and a hyphen were removed with it.
func Removed(command, word string) string {
	given := command + " " + word
	for name, replacement := range removed {
		if strings.HasSuffix(given, " "+name) || strings.Contains(given, " "+name+"-") {
			return word + " was removed: " + replacement
		}
	}
	return ""
}
