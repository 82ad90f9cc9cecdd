// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Limits bound the cost of one Open, whatever the files contain, for all paths together. A zero field means its default.
// docs/snapshots.md has a table of them. A limit without a field is derived from one that has a field.
type Limits struct {
	// Bytes of documents, decompressed and with YAML aliases expanded. Default 2 GiB. Aliases may expand to a 64th of it (32 MiB), and a
	// zip archive from a pipe, which is held in memory, may have a quarter of it (512 MiB).
	Bytes int64
	// Decompressed is how many bytes all compressed streams may decompress to, skipped files included: a limit of time, not of memory.
	// Default 16 GiB.
	Decompressed int64
	// Ratio is how many times its compressed size a stream may decompress to, from 16 MiB on, and all streams together, from 256 MiB on.
	// Default 250. What clusters write has a ratio of 5 to 100.
	Ratio int64
	// Object is the size of one JSON object, a document or an item of a List. Default 64 MiB. In YAML it may have a quarter of it (16 MiB)
	// and one scalar, list or map for each 128 bytes of it (524,288), as the parser allocates some 300 bytes for each of them.
	Object int64
	// Objects is how many documents and items of Lists there may be. Default 1,000,000. There may be one kind for 50 of them (20,000, each
	// version counted), one file of a path for 5 of them (200,000), and 50 scalars, lists and maps of YAML for each (50,000,000).
	Objects int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Bytes:        cmp.Or(l.Bytes, 2<<30),
		Decompressed: cmp.Or(l.Decompressed, 16<<30),
		Ratio:        cmp.Or(l.Ratio, 250),
		Object:       cmp.Or(l.Object, 64<<20),
		Objects:      cmp.Or(l.Objects, 1_000_000),
	}
}

func (l *Limits) aliases() int64   { return l.Bytes / 64 }
func (l *Limits) pipedZip() int64  { return l.Bytes / 4 }
func (l *Limits) yaml() int64      { return l.Object / 4 }
func (l *Limits) yamlNodes() int   { return int(l.Object / 128) }
func (l *Limits) kinds() int       { return max(l.Objects/50, 1) }
func (l *Limits) files() int       { return max(l.Objects/5, 1) }
func (l *Limits) allNodes() int64  { return 50 * int64(l.Objects) }
func (l *Limits) directory() int64 { return 256*int64(l.files()) + 1<<20 } // of a zip archive, which package zip holds in memory

const (
	// maxNesting of YAML is a little less than the 10,000 levels of JSON that jsontext and the API server accept, because an item can
	// become part of an object again.
	maxNesting = 9_900
	// maxListNesting is how deep Lists may be nested. kubectl nests none, `jq -s` nests one level.
	maxListNesting = 4
	// maxDamaged is how many damaged documents have a gap of their own.
	maxDamaged = 50
	// ratioFloor and totalRatioFloor are how much a stream, and all streams, may decompress to before the ratio counts: a small file
	// of zeros is no bomb.
	ratioFloor      = 16 << 20
	totalRatioFloor = 256 << 20
)

// Option changes how Open reads.
type Option func(*reader)

// WithLimits replaces the limits.
func WithLimits(l Limits) Option {
	return func(r *reader) { r.budget = budget{limits: l.withDefaults()} }
}

// budget counts what all paths together have cost. A limit for each file would be no limit for a snapshot of many files.
type budget struct {
	limits               Limits
	bytes                int64 // of documents
	objects              int
	nodes, aliases       int64 // of YAML: before aliases are expanded, and the bytes that aliases expanded to
	packed, decompressed int64 // bytes that went into and came out of decompression
	kinds                map[schema.GroupVersionKind]struct{}
}

// exceeded is the error of a limit for all paths together.
func exceeded(format string, args ...any) error {
	return &failure{text: "the snapshot holds more than " + fmt.Sprintf(format, args...) + "; capture fewer kinds", scope: endsPath}
}

// object counts a document or an item of a List.
func (b *budget) object() error {
	if b.objects++; b.objects > b.limits.Objects {
		return exceeded("%d documents and items of Lists", b.limits.Objects)
	}
	return nil
}

// kind counts the kind of an object, typed List or definition: an audit lists each kind by itself.
func (b *budget) kind(gvk schema.GroupVersionKind) error {
	if _, ok := b.kinds[gvk]; ok {
		return nil
	}
	if len(b.kinds) >= b.limits.kinds() {
		return exceeded("%d kinds", b.limits.kinds())
	}
	if b.kinds == nil {
		b.kinds = map[schema.GroupVersionKind]struct{}{}
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

// ratio checks what a stream, and all streams, have decompressed to.
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

// metered is a stream that asks before each Read how many bytes it may read, and counts them afterwards.
type metered struct {
	in    io.Reader
	allow func() (int64, error)
	count func(n int64)
}

func (m *metered) Read(p []byte) (int, error) {
	most, err := m.allow()
	if err != nil {
		return 0, err
	}
	n, err := m.in.Read(p[:min(int64(len(p)), most)])
	m.count(int64(n))
	return n, err
}

// documentStream is a stream of documents that ends with the context or at the limit.
func (r *reader) documentStream(in io.Reader) io.Reader {
	return &metered{in, func() (int64, error) {
		left := r.budget.limits.Bytes - r.budget.bytes
		if left <= 0 {
			return 0, r.budget.documents(1)
		}
		return left, r.ended()
	}, func(n int64) { r.budget.bytes += n }}
}

// decompressedStream is a decompressed stream that ends with the context or when it turns out to be a bomb. It is made of packed bytes.
func (r *reader) decompressedStream(in io.Reader, packed *int64) io.Reader {
	var n int64
	return &metered{in, func() (int64, error) {
		if err := r.ended(); err != nil {
			return 0, err
		}
		return math.MaxInt64, r.budget.ratio(*packed, n)
	}, func(read int64) {
		n += read
		r.budget.decompressed += read
	}}
}

// size writes a limit: "2 GiB".
func size(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if shift := 30 - 10*i; n >= 1<<shift && n%(1<<shift) == 0 {
			return fmt.Sprintf("%d %s", n>>shift, unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
