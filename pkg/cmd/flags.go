// SPDX-License-Identifier: Apache-2.0

package cmd

import "slices"

// FlagGroup is a heading of flags, with the names of the flags below it.
type FlagGroup struct {
	Title string
	Names []string
}

// FlagGroups are the groups in the order of the help. A flag is in the same group in each command that has it.
var FlagGroups = []FlagGroup{
	{"Scope flags", []string{"all-namespaces", "namespace", "selector", "filename", "gitrepo", "path"}},
	{"Output flags", []string{"all", "allow-missing-template-keys", "by", "color", "diff", "full",
		"no-headers", "output", "quiet", "rows", "sort-by", "summary", "template", "watch",
		"watch-interval"}},
	{"Finding flags", []string{"code", "fail-on", "ignore-file", "require-complete", "severity", "since"}},
	{"Cluster flags", []string{"cluster", "cluster-snapshot", "contexts", "via-kubeconfig-secrets", "via-rancher"}},
	{"Input flags", []string{"agent-scope", "as-version", "client", "desired", "print-rbac", "server-check",
		"snapshot", "status-only"}},
	{"Archive flags", []string{"same-masks", "with-bundles"}},
	{"Write flags", []string{"allow", "confirm", "dangerous-take-from", "deployed-by-fleet", "dry-run", "exact",
		"policy", "receipt", "timeout", "undo", "wait", "yes"}},
	{"Installation flags", []string{"api-servers", "certificates", "cluster-name", "dashboards", "events",
		"guard-default", "image", "journal", "keep", "open-reports", "prometheus", "prometheus-labels", "read-rules",
		"release-namespaces", "replicas", "reset-values"}},
	{"Server flags", []string{"bind-address", "cert-dir", "cert-secret", "configuration", "extra-names",
		"health-probe-bind-address", "log-level", "metrics-bind-address", "port", "service", "shutdown-delay"}},
	{"Flags", []string{"no-descriptions", "version"}},
}

// FlagGroupOf returns the title of the group of a flag, "" for a flag of no group.
func FlagGroupOf(name string) string {
	for _, g := range FlagGroups {
		if slices.Contains(g.Names, name) {
			return g.Title
		}
	}
	return ""
}
