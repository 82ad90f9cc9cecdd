// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"fmt"

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
	// packed is the size of the record in the cluster, kept about its size in memory, in bytes. charged is what it
	// unpacks to, 0 for a record that is not dense.
	packed, kept, charged int
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

// ReadRecord decodes the release record in a Secret, and its manifest if it is Fleet's. It is safe for concurrent use.
// unpacked is the number of bytes that the record unpacks to. If it unpacks to more, ReadRecord returns nil.
func (w *Work) ReadRecord(secret release.Name, value []byte, unpacked int) *Record {
	out := &Record{packed: len(value)}
	if unpacked > release.MostUnpacked(len(value)) {
		return out.damaged(secret, release.ErrUnpacked)
	}
	read, err := release.Read(value, unpacked, func(r *release.Record) release.Part {
		ofFleet := r.Name == secret && r.BundleID != ""
		if ofFleet && w.charge(out, unpacked) {
			return release.Whole
		}
		return release.Nothing
	})
	switch {
	case errors.Is(err, release.ErrTooLarge):
		return nil
	case err != nil:
		return out.damaged(secret, err)
	case read.Name != secret:
		return out.damaged(secret, fmt.Errorf("decoding release record: it is the record of release %s", read.Name))
	}
	out.Record, out.Objects, out.Secrets, out.ManifestError = read.Record, read.Objects, read.Secrets, read.Problem
	out.Skipped, out.OverBound = read.Part != release.Whole, boundOf(read.Problem)
	if out.charged > 0 && read.Part == release.Nothing {
		out.drop(errDense)
	}
	return out
}

// damaged makes the record in a Secret one that could not be decoded.
func (r *Record) damaged(secret release.Name, why error) *Record {
	r.Name, r.Damaged, r.OverBound = secret, why.Error(), boundOf(why)
	return r
}

// boundOf returns the limit that an error states; empty if it states none.
func boundOf(err error) string {
	if bound, ok := errors.AsType[*release.BoundError](err); ok {
		return bound.Error()
	}
	return ""
}
