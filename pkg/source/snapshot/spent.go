// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// spent is what all paths together have cost so far. A limit for each file is none for a snapshot of many files.
type spent struct {
	documents        int
	nodes            int64 // of YAML, before aliases are expanded
	aliases          int64 // bytes that aliases expanded to
	packed, inflated int64 // bytes that went into and came out of decompression
	kinds            map[schema.GroupVersionKind]struct{}
}

// total puts the errors of limits that hold for all paths together into words; "" for another error.
func (r *reader) total(err error) string {
	switch {
	case errors.Is(err, errBytes):
		return fmt.Sprintf("the snapshot holds more than %s of documents", size(r.limits.Bytes))
	case errors.Is(err, errPassed):
		return fmt.Sprintf("with what was read before it decompresses to more than %s", size(r.limits.Passed))
	case errors.Is(err, errTotalRatio):
		return fmt.Sprintf("the snapshot decompresses to more than %d times its size", r.limits.Ratio)
	case errors.Is(err, errObjects):
		return fmt.Sprintf("the snapshot holds more than %d objects", r.limits.Objects)
	case errors.Is(err, errDocuments):
		return fmt.Sprintf("the snapshot holds more than %d documents", r.limits.Documents)
	case errors.Is(err, errNodes):
		return fmt.Sprintf("the snapshot holds more than %d scalars, lists and maps of YAML", r.limits.AllNodes)
	case errors.Is(err, errKinds):
		return fmt.Sprintf("the snapshot holds more than %d kinds", r.limits.Kinds)
	case errors.Is(err, errAliases):
		return fmt.Sprintf("the YAML aliases of the snapshot expand to more than %s", size(r.limits.Aliases))
	}
	return ""
}

// document counts a document.
func (r *reader) document() error {
	if r.spent.documents++; r.spent.documents > r.limits.Documents {
		return errDocuments
	}
	return nil
}

// count counts an object or List.
func (r *reader) count() error {
	if r.objects++; r.objects > r.limits.Objects {
		return errObjects
	}
	return nil
}

// kind counts the kind of an object, typed List or definition: each kind is listed by itself when the snapshot is audited.
func (r *reader) kind(gvk schema.GroupVersionKind) error {
	if _, ok := r.spent.kinds[gvk]; ok {
		return nil
	}
	if len(r.spent.kinds) >= r.limits.Kinds {
		return errKinds
	}
	if r.spent.kinds == nil {
		r.spent.kinds = map[schema.GroupVersionKind]struct{}{}
	}
	r.spent.kinds[gvk] = struct{}{}
	return nil
}

// inflate says whether more may be decompressed.
func (r *reader) inflate() error {
	switch s := &r.spent; {
	case s.inflated > r.limits.Passed:
		return errPassed
	case s.inflated > totalRatioFloor && s.inflated/r.limits.Ratio > s.packed:
		return errTotalRatio
	}
	return nil
}

// overlap returns errOverlap if compressed data of an archive of that length counts for several of its files: a small archive would
// then decompress to any size.
func overlap(files []*zip.File, length int64) error {
	type span struct{ begin, end int64 }
	var spans []span
	left := uint64(length)
	for _, f := range files {
		if f.CompressedSize64 > left {
			return errOverlap
		}
		left -= f.CompressedSize64
		begin, err := f.DataOffset()
		if err != nil || f.CompressedSize64 == 0 { // the first says so again when it is opened
			continue
		}
		spans = append(spans, span{begin, begin + int64(f.CompressedSize64)})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.begin, b.begin) })
	for i := 1; i < len(spans); i++ {
		if spans[i].begin < spans[i-1].end {
			return errOverlap
		}
	}
	return nil
}
