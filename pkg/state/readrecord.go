// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// ReadRecord decodes the release record in a Secret, and its manifest if it is Fleet's and not dense. If w is nil, no
// record is dense. It is safe for concurrent use. unpacked is the number of bytes that the record unpacks to. If it
// unpacks to more, ReadRecord returns nil.
func (w *Work) ReadRecord(secret release.Name, value []byte, unpacked int) *Record {
	out := &Record{packed: len(value)}
	if unpacked > release.MostUnpacked(len(value)) {
		return out.damaged(secret, release.ErrUnpacked)
	}
	counted := 0
	read, err := release.Read(value, unpacked, func(r *release.Record) release.Part {
		ofFleet := r.Name == secret && r.BundleID != ""
		if !ofFleet {
			return release.Nothing
		}
		counted = objectsIn(r)
		if out.Dense = w.charge(r, out.packed, unpacked, counted); out.Dense {
			return release.Nothing
		}
		return release.Whole
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
	out.Skipped, out.OverBound = read.Part != release.Whole, release.BoundOf(read.Problem)
	if n := len(out.Objects) + len(out.Hooks); n > counted && !out.Dense { // YAML has many ways to write a kind
		if out.Dense = w.charge(&out.Record, out.packed, unpacked, n); out.Dense {
			out.Objects, out.Secrets = nil, nil
		}
	}
	return out
}

// damaged makes the record in a Secret one that could not be decoded.
func (r *Record) damaged(secret release.Name, why error) *Record {
	r.Name, r.Damaged, r.OverBound = secret, why.Error(), release.BoundOf(why)
	return r
}
