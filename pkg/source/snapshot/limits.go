// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Limits bound the cost of one Open for all paths together. A zero field means its default. docs/snapshots.md has a table of them. A limit
// without a field is derived from a limit with a field.
type Limits struct {
	// Bytes of documents, decompressed and with YAML aliases expanded. Default 2 GiB. Aliases may expand to a 64th of it (32 MiB), and a
	// zip archive from a pipe, which is held in memory, may have a quarter of it (512 MiB).
	Bytes int64
	// Decompressed is the size of all decompressed data in bytes, skipped files included. It limits time, not memory. Default 16 GiB.
	Decompressed int64
	// Ratio is the decompressed size divided by the compressed size. It applies to a stream from 16 MiB on, and to all streams together from
	// 256 MiB on. Default 250. Captures of clusters have a ratio of 5 to 100.
	Ratio int64
	// Object is the size of one JSON object, a document or an item of a List, in bytes. Default 64 MiB. In YAML, an object may have a quarter
	// of it (16 MiB), and one scalar, list or map for each 128 bytes of it (524,288), because the parser allocates about 300 bytes for each.
	Object int64
	// Objects is the number of documents and items of Lists. Default 1,000,000. Derived from it: one kind for 50 of them (20,000, each version
	// counted), one file of a path for 5 of them (200,000), and 50 scalars, lists and maps of YAML for each (50,000,000).
	Objects int
}

func newBudget(l Limits) budget {
	return budget{kinds: map[schema.GroupVersionKind]struct{}{}, limits: Limits{
		Bytes:        cmp.Or(l.Bytes, 2<<30),
		Decompressed: cmp.Or(l.Decompressed, 16<<30),
		Ratio:        cmp.Or(l.Ratio, 250),
		Object:       cmp.Or(l.Object, 64<<20),
		Objects:      cmp.Or(l.Objects, 1_000_000),
	}}
}

func (l *Limits) aliases() int64   { return l.Bytes / 64 }
func (l *Limits) pipedZip() int64  { return l.Bytes / 4 }
func (l *Limits) yaml() int64      { return l.Object / 4 }
func (l *Limits) yamlNodes() int   { return int(l.Object / 128) }
func (l *Limits) kinds() int       { return max(l.Objects/50, 1) }
func (l *Limits) files() int       { return max(l.Objects/5, 1) }
func (l *Limits) allNodes() int64  { return 50 * int64(l.Objects) }
func (l *Limits) directory() int64 { return 256*int64(l.files()) + 1<<20 } // of a zip archive; package zip holds it in memory

const (
	// maxNesting of YAML is less than the 10,000 levels of JSON that jsontext and the API server accept, because an item can become part of
	// an object again.
	maxNesting = 9_900
	// maxListNesting is the number of levels of nested Lists. kubectl writes one level, and `jq -s` writes two.
	maxListNesting = 4
	// maxDamaged is the number of damaged documents that have their own gap.
	maxDamaged = 50
	// ratioFloor and totalRatioFloor are the decompressed sizes of a stream, and of all streams, from which the ratio applies. A small file
	// of zeros has a large ratio, but is harmless.
	ratioFloor      = 16 << 20
	totalRatioFloor = 256 << 20
)

// budget counts the cost of all paths together. A limit for each file would not limit a snapshot of many files.
type budget struct {
	limits               Limits
	bytes                int64 // of documents
	objects              int
	nodes, aliases       int64 // of YAML: scalars, lists and maps without aliases, and the bytes of expanded aliases
	packed, decompressed int64 // bytes before and after decompression
	kinds                map[schema.GroupVersionKind]struct{}
}

// exceeded is the error of a limit for all paths together.
func exceeded(format string, args ...any) error {
	return &failure{text: "the snapshot has more than " + fmt.Sprintf(format, args...) + "; capture fewer kinds", scope: endsPath}
}

// object counts a document or an item of a List.
func (b *budget) object() error {
	if b.objects++; b.objects > b.limits.Objects {
		return exceeded("%d documents and items of Lists", b.limits.Objects)
	}
	return nil
}

// kind counts the kind of an object, typed List or definition, because an audit lists each kind separately.
func (b *budget) kind(gvk schema.GroupVersionKind) error {
	if _, ok := b.kinds[gvk]; ok {
		return nil
	}
	if len(b.kinds) >= b.limits.kinds() {
		return exceeded("%d kinds", b.limits.kinds())
	}
	b.kinds[gvk] = struct{}{}
	return nil
}

// yaml counts the scalars, lists and maps of a document or item of YAML before it is parsed.
func (b *budget) yaml(nodes int) error {
	if most := b.limits.yamlNodes(); nodes > most {
		return &failure{text: fmt.Sprintf("it has more than %d scalars, lists and maps; capture it as JSON", most)}
	}
	if b.nodes += int64(nodes); b.nodes > b.limits.allNodes() {
		return exceeded("%d scalars, lists and maps of YAML", b.limits.allNodes())
	}
	return nil
}

// documents counts bytes of documents.
func (b *budget) documents(n int64) error {
	if b.bytes += n; b.bytes > b.limits.Bytes {
		return exceeded("%s of documents", size(b.limits.Bytes))
	}
	return nil
}

// ratio checks the decompressed sizes of a stream and of all streams.
func (b *budget) ratio(packed, decompressed int64) error {
	switch ratio := b.limits.Ratio; {
	case b.decompressed > b.limits.Decompressed:
		return exceeded("%s after decompression, skipped files included", size(b.limits.Decompressed))
	case b.decompressed > totalRatioFloor && b.decompressed/ratio > b.packed:
		return &failure{text: fmt.Sprintf("the snapshot decompresses to more than %d times its size", ratio), scope: endsPath}
	case decompressed > ratioFloor && decompressed/ratio > packed:
		return &failure{text: fmt.Sprintf("it decompresses to more than %d times its size", ratio), scope: endsFile}
	}
	return nil
}

// readFunc implements io.Reader.
type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// documentStream is a stream of documents that ends with the context or at the limit.
func (r *reader) documentStream(in io.Reader) io.Reader {
	return readFunc(func(p []byte) (int, error) {
		left := r.budget.limits.Bytes - r.budget.bytes
		if left <= 0 {
			return 0, r.budget.documents(1)
		}
		if err := r.ended(); err != nil {
			return 0, err
		}
		n, err := in.Read(p[:min(int64(len(p)), left)])
		r.budget.bytes += int64(n)
		return n, err
	})
}

// decompressed reads a file from a decompressed stream, until the context ends or a limit is reached. packed is its compressed size so far.
func (r *reader) decompressed(f *file, in io.Reader, packed *int64) error {
	var decompressed int64
	err := r.read(f, readFunc(func(p []byte) (int, error) {
		if err := cmp.Or(r.ended(), r.budget.ratio(*packed, decompressed)); err != nil {
			return 0, err
		}
		n, err := in.Read(p)
		decompressed += int64(n)
		r.budget.decompressed += int64(n)
		return n, err
	}))
	if e, ok := errors.AsType[*failure](err); ok && e.scope == endsFile {
		return r.cut(f, f.name, err)
	}
	return err
}

// size formats a limit: "2 GiB".
func size(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if shift := 30 - 10*i; n >= 1<<shift && n%(1<<shift) == 0 {
			return fmt.Sprintf("%d %s", n>>shift, unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
