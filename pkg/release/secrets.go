// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// maxSecret bounds a document that is read by Secrets, in bytes: a Secret holds at most 1 MiB, and base64 makes a third more of it.
const maxSecret = 3 << 19

// Secrets reads the Secrets of the record's hooks, and with all of those of its manifest too: what must not be shown, of a revision whose objects
// are not wanted or cannot be read. Documents that cannot be read are passed over, and so is what is beyond the bounds of Objects.
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
