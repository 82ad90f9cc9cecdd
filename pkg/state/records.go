// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Record is a Helm release record. For a release that is not Fleet's, only the identity is read.
type Record struct {
	release.Record
	// Objects are those of the manifest, with their JSON; nil if the manifest was not needed or could not be read.
	Objects []release.Object
	// Secrets are the Secrets of the manifest that are not among Objects.
	Secrets []release.Object
	// Skipped is true if the manifest was not read because it was not needed.
	Skipped bool
	// ManifestError is the reason why the manifest could not be read.
	ManifestError error
	// Damaged is the reason why the record could not be decoded; then only its name is known.
	Damaged string
	// OverBound is the limit that the record or its manifest exceeds, as a sentence. The release itself is valid, but
	// it is not read.
	OverBound string
	// Dense is true if the manifest was not read, because the record costs much more than its stored size.
	Dense bool
	// packed is the size of the record in the cluster, kept about its size in memory, in bytes.
	packed, kept int
}

// Identity returns a copy of the record without its objects and hooks.
func (r *Record) Identity() *Record {
	out := &Record{Record: r.Record, Damaged: r.Damaged, OverBound: r.OverBound}
	out.Hooks = nil
	return out
}

// Unreadable makes the record one that could not be read, for the reasons that were found before its values were
// masked. A manifest that is not needed need not be readable.
func (r *Record) Unreadable(damaged, manifest, limit string) {
	switch {
	case damaged != "":
		*r = Record{Record: release.Record{Name: r.Name}, Damaged: damaged, OverBound: limit, packed: r.packed}
	case manifest != "" && !r.Skipped:
		r.Objects, r.Secrets, r.ManifestError, r.OverBound = nil, nil, errors.New(manifest), limit
	}
}
