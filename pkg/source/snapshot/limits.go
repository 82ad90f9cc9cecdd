// SPDX-License-Identifier: Apache-2.0

package snapshot

// Limits bound what one Open may cost, whatever the files hold. A zero field means its default.
type Limits struct {
	// Bytes of documents, after decompression and with what YAML's aliases expand to, in all paths together. Reading stops there.
	// Default 2 GiB.
	Bytes int64
	// Passed is how many bytes may come out of all compressed streams together, those of logs and other files that are skipped
	// included: a limit of time, not of memory. Default 16 GiB.
	Passed int64
	// Document is the size of one JSON object, be it a document or an item of a List. Default 64 MiB.
	Document int64
	// YAML is the size of one YAML document without its items, or of one item. Default 16 MiB.
	YAML int64
	// Nodes is how many scalars, lists and maps one YAML document or item may have; the parser takes some 300 bytes for each, before
	// aliases. What they expand to is bounded by Document. Default 524,288: an object of etcd's size limit has a tenth of that.
	Nodes int
	// AllNodes is how many scalars, lists and maps the YAML of all paths may have together. Default 50,000,000: some 600 MB of what
	// kubectl writes.
	AllNodes int64
	// Aliases is how many bytes YAML's aliases may expand to in all paths together. Default 32 MiB: what writes captures uses none, or
	// few and small ones.
	Aliases int64
	// Documents is how many documents there may be in all paths together, empty ones and those that are no objects included.
	// Default 500,000.
	Documents int
	// Kinds is how many kinds, each version counted, the objects, typed Lists and definitions of all paths may have together.
	// Default 20,000; a cluster with many operators has 2,000.
	Kinds int
	// Entries is how many files a path may have. Default 200,000.
	Entries int
	// Objects is how many objects and Lists there may be in all paths together. Default 1,000,000.
	Objects int
	// Ratio is how many times its compressed size a stream may be, once it has given 16 MiB, and how many times theirs all streams
	// together may be, once they have given 256 MiB. Default 250; what clusters write has 5 to 100.
	Ratio int64
	// Archive is the size of a zip archive that is read from standard input, which has to be held in memory. Default 512 MiB.
	Archive int64
	// Damaged is how many damaged documents get a gap of their own. Default 50.
	Damaged int
}

// maxNesting is how deep YAML may be nested: a little less than the 10,000 levels that jsontext and the API server take of JSON, as an
// item may come back into an object.
const maxNesting = 9_900

// maxListNesting is how deep Lists may hold Lists. kubectl makes none at all, `jq -s` one.
const maxListNesting = 4

// ratioFloor is how many bytes a stream may give before its ratio is looked at: small files of zeros are no bombs.
const ratioFloor = 16 << 20

// totalRatioFloor is the same for all streams together.
const totalRatioFloor = 256 << 20

func (l Limits) withDefaults() Limits {
	def := func(v *int64, d int64) {
		if *v <= 0 {
			*v = d
		}
	}
	count := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&l.Bytes, 2<<30)
	def(&l.Passed, 16<<30)
	def(&l.Document, 64<<20)
	def(&l.YAML, 16<<20)
	def(&l.Ratio, 250)
	def(&l.Archive, 512<<20)
	def(&l.AllNodes, 50_000_000)
	def(&l.Aliases, 32<<20)
	count(&l.Nodes, 1<<19)
	count(&l.Entries, 200_000)
	count(&l.Documents, 500_000)
	count(&l.Kinds, 20_000)
	count(&l.Objects, 1_000_000)
	count(&l.Damaged, 50)
	return l
}

// Option changes how Open reads.
type Option func(*reader)

// WithLimits replaces the limits.
func WithLimits(l Limits) Option {
	return func(r *reader) { r.limits = l.withDefaults() }
}
