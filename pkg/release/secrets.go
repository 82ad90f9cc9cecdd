// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// maxSecret limits the size, in bytes, of a document that Secrets reads. A Secret has at most 1 MiB, and base64 adds a
// third.
const maxSecret = 3 << 19

// Secrets reads the Secrets among the hooks of the record and, if all is set, in its manifest. Their values must not be
// shown, even if the objects of the revision are not needed or could not be read. It ignores documents that cannot be
// read or exceed the limits of Objects.
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
	return slices.DeleteFunc(out, func(o Object) bool {
		return o.Kind != secretKind || object.Group(o.APIVersion) != ""
	})
}
