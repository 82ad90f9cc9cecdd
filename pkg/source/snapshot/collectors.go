// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"regexp"
	"slices"
)

// Collectors write files of their own beside the objects. They are no gap, unless they report that the collector could not read something.
// Sources: troubleshoot, pkg/constants and pkg/collect/cluster_resources.go; crust-gather, src/scanners; fleet, pkg/troubleshooting/types.go.
var (
	// collectorFiles are files without objects and without information that is used.
	collectorFiles = regexp.MustCompile(`(^|/)(analysis\.json|app-versions\.yaml|cluster-resources/(auth-cani-list/[^/]+|groups|resources)\.json)$`)
	// collectorErrors are the errors of a collector: null, {} or [] if there are none.
	collectorErrors = regexp.MustCompile(`(^|/)([a-z-]+-)?errors\.json$`)
	// dumpedSecret is the name of a Secret in an archive of fleet dump, which writes it without apiVersion and kind.
	dumpedSecret = regexp.MustCompile(`^secrets_([a-z0-9-]+)_([a-z0-9.-]+)$`)
	// monitorOutput begins the output of fleet monitor.
	monitorOutput = regexp.MustCompile(`^\{\s*"timestamp":\s*"[^"]+",\s*"(controller|gitrepos|bundles|bundledeployments|contents|clusters|diagnostics)":`)
)

// supportBundleKit is a note about its archives (support-bundle-kit, pkg/manager/collectors/common.go).
const supportBundleKit = `support-bundle-kit writes "null" for empty strings and leaves out the data of Secrets, so fields of its objects can seem to differ from what a bundle specifies`

// ofCollector recognizes a file that a collector writes beside the objects, by its name and its beginning.
func (f *file) ofCollector(head []byte) {
	switch text := bytes.TrimSpace(head); {
	case collectorFiles.MatchString(f.rel):
		f.known = true
	case collectorErrors.MatchString(f.rel) && !objectJSON.Match(text):
		f.known = true
		if !slices.Contains([]string{"", "null", "{}", "[]"}, string(text)) {
			f.r.gaps.add(f.name, "the collector reports in it that it could not read something", "what it could not read is not in the snapshot")
		}
	case monitorOutput.Match(text):
		f.known = true
		f.r.gaps.add(f.name, "it is the output of fleet monitor, which has summaries and not the objects", "it is not used; capture the objects with fleet dump")
	}
}

// complete adds the apiVersion and the kind to a Secret of fleet dump. The Secret proves nothing about others: fleet dump may have captured some only.
func (f *file) complete(d *document, h *head) {
	m := dumpedSecret.FindStringSubmatch(f.file)
	if m == nil || h.apiVersion+h.kind != "" || h.namespace != m[1] || h.name != m[2] || d.listed || d.damaged {
		return
	}
	h.apiVersion, h.kind, f.partly = "v1", "Secret", true
	d.body = slices.Concat([]byte(`{"apiVersion":"v1","kind":"Secret",`), d.body[1:])
}
