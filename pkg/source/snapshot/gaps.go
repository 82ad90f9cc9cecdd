// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"archive/tar"
	"archive/zip"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Nothing of a document's content may come into a gap: it may be a Secret, and what parsers say of a damaged one quotes it.
// Gaps are made of file names, positions and the fixed texts of this package.

// tally counts what is too common for a gap of its own, and names the first three.
type tally struct {
	count int
	names []string
}

func (t *tally) add(name string) {
	t.count++
	if len(t.names) < 3 {
		t.names = append(t.names, name)
	}
}

// of reads "2 files: a, b" or "9 files, the first being a, b, c".
func (t *tally) of(one, many string) string {
	names := strings.Join(t.names, ", ")
	switch {
	case t.count == 1:
		return "1 " + one + ": " + names
	case t.count <= len(t.names):
		return fmt.Sprintf("%d %s: %s", t.count, many, names)
	default:
		return fmt.Sprintf("%d %s, the first being %s", t.count, many, names)
	}
}

// gaps collects what could not be read, in the order of reading.
type gaps struct {
	limit   int // of damaged documents with a gap of their own
	damaged int
	list    []source.Gap
}

func (g *gaps) add(what, reason, effect string) {
	g.list = append(g.list, source.Gap{What: what, Reason: reason, Effect: effect})
}

const (
	effectDocument = "its objects are not counted; what lies in the same folder proves no absence"
	effectItem     = "it is not counted, and its List proves no absence"
	effectCut      = "the rest was not read; what was read of it proves no absence, whole Lists apart"
	effectIgnored  = "they are not counted"
)

// document adds the gap of a damaged document or item.
func (g *gaps) document(gap source.Gap) {
	if g.damaged++; g.damaged <= g.limit {
		g.list = append(g.list, gap)
	}
}

// finish adds what is too much for gaps of its own.
func (g *gaps) finish() []source.Gap {
	if more := g.damaged - g.limit; more > 0 {
		g.add(fmt.Sprintf("%d more documents", more), "they are damaged", effectIgnored)
	}
	return g.list
}

// Errors of this package, and what they mean for the reading: the first group ends one document, the second one file, the third the path.
var (
	errTooLarge  = errors.New("document larger than the limit")
	errTooMany   = errors.New("document of more parts than the limit")
	errTooDeep   = errors.New("document nested deeper than the limit")
	errDamaged   = errors.New("damaged document")
	errForeign   = errors.New("document with what JSON does not have")
	errDuplicate = errors.New("document with a key twice in one map")
	errAliases   = errors.New("document with aliases beyond the limit")

	errRatio   = errors.New("compressed beyond the limit")
	errOverlap = errors.New("archive with files that overlap")

	errBytes      = errors.New("more bytes of documents than the limit")
	errPassed     = errors.New("more decompressed bytes than the limit")
	errTotalRatio = errors.New("compressed beyond the limit in all")
	errObjects    = errors.New("more objects than the limit")
	errDocuments  = errors.New("more documents than the limit")
	errNodes      = errors.New("more parts of YAML than the limit")
	errKinds      = errors.New("more kinds than the limit")
)

// reason puts an error of reading into fixed words. What parsers and decompressors say is not repeated; what the system says is.
func (r *reader) reason(err error) string {
	var errno syscall.Errno
	var corrupt flate.CorruptInputError
	var syntax *jsontext.SyntacticError
	if total := r.total(err); total != "" {
		return total
	}
	switch {
	case errors.Is(err, errTooLarge):
		return "it is larger than the limit"
	case errors.Is(err, errTooDeep):
		return fmt.Sprintf("it is nested deeper than %d levels", maxNesting)
	case errors.Is(err, errTooMany):
		return fmt.Sprintf("it has more than %d scalars, lists and maps", r.limits.Nodes)
	case errors.Is(err, errDamaged):
		return "it is no valid YAML"
	case errors.Is(err, errForeign):
		return "it has YAML that JSON has not: merge keys, tags, keys that are no scalars, or infinite numbers"
	case errors.Is(err, errRatio):
		return fmt.Sprintf("it decompresses to more than %d times its size", r.limits.Ratio)
	case errors.Is(err, errOverlap):
		return "its files overlap, or have more compressed data than the archive has bytes"
	case errors.Is(err, errDuplicate):
		return "it has a key twice in one map"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "it ends in the middle"
	case errors.As(err, &syntax):
		return "it is no valid JSON"
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt), errors.Is(err, zip.ErrChecksum):
		return "its compressed data is damaged"
	case errors.Is(err, tar.ErrHeader), errors.Is(err, zip.ErrFormat):
		return "it is damaged"
	case errors.Is(err, zip.ErrAlgorithm):
		return "it is compressed or encrypted in a way that is not supported"
	case errors.As(err, &errno):
		return errno.Error()
	default:
		return "it cannot be read"
	}
}

// size writes a limit: "2 GiB".
func size(n int64) string {
	for _, u := range []struct {
		shift uint
		name  string
	}{{30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if n >= 1<<u.shift && n%(1<<u.shift) == 0 {
			return fmt.Sprintf("%d %s", n>>u.shift, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// shown makes a file name fit for a terminal: archives can name their entries as they like.
func shown(name string) string {
	const longest = 200
	if len(name) > longest {
		name = strings.ToValidUTF8(name[:longest], "") + "…"
	}
	if strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) < 0 {
		return name
	}
	return strconv.Quote(name)
}
