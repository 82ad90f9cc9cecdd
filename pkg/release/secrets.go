// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// maxSecret bounds, in bytes, a document that Secrets reads: a Secret holds at most 1 MiB, and base64 adds a third to it.
const maxSecret = 3 << 19

// Secrets reads the Secrets of the record's hooks and, where all is set, those of its manifest. Their values must not be shown, even where the
// objects of the revision are not needed or could not be read. It ignores documents that could not be read, or are beyond the bounds of Objects.
func (r *Record) Secrets(all bool) []Object {
	var out []Object
	d := reader{limits: objectLimits}
	read := func(manifest string) {
		for doc := range documents(manifest) {
			if !strings.Contains(doc, secretKind) || len(doc) > maxSecret {
				continue
			}
			raw, err := d.json(doc)
			if err != nil {
				continue
			}
			if found, err := appendObjects(nil, raw, 0); err == nil {
				out = append(out, found...)
			}
		}
	}
	for _, h := range r.Hooks {
		read(h.Manifest)
	}
	if all {
		read(r.Manifest)
	}
	return slices.DeleteFunc(out, func(o Object) bool { return o.Kind != secretKind || object.Group(o.APIVersion) != "" })
}

const secretKind = "Secret"
