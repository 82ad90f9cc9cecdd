// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"archive/tar"
	"archive/zip"
	"compress/flate"
	"compress/gzip"
	"context"
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

// A gap never has content of a document, because the document may be a Secret, and errors of parsers quote their input. A gap has file
// names, positions and fixed texts of this package.

// failure is an error with a fixed text, which is the reason of a gap.
type failure struct {
	text  string
	scope scope
}

func (f *failure) Error() string { return f.text }

// scope is the part that cannot be read after a failure.
type scope int

const (
	endsDocument scope = iota
	endsFile
	endsPath
)

var (
	errTooLarge  = &failure{text: "it is larger than the limit of one object"}
	errTooDeep   = &failure{text: fmt.Sprintf("it is nested deeper than %d levels", maxNesting)}
	errNoYAML    = &failure{text: "it is not valid YAML"}
	errYAMLOnly  = &failure{text: "it has YAML that JSON does not have: merge keys, tags, keys that are not scalars, or infinite numbers"}
	errDuplicate = &failure{text: "it has a key twice in one map"}
	errOverlap   = &failure{text: "its files overlap, or have more compressed data than the archive has bytes"}
)

// errTwoClusters ends Open, because an object that is missing in one cluster may exist in the other.
var errTwoClusters = errors.New("two clusters in one snapshot")

// stops reports whether an error ends the reading of more than a document.
func stops(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.scope > endsDocument || errors.Is(err, errTwoClusters) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// reason converts an error to a fixed text. It omits the messages of parsers and decompressors, but keeps those of the operating system.
func reason(err error) string {
	var f *failure
	var errno syscall.Errno
	var corrupt flate.CorruptInputError
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &f):
		return f.text
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "it ends in the middle"
	case errors.As(err, &syntax):
		return "it is not valid JSON"
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt), errors.Is(err, zip.ErrChecksum):
		return "its compressed data is damaged"
	case errors.Is(err, tar.ErrHeader), errors.Is(err, zip.ErrFormat):
		return "it is damaged"
	case errors.Is(err, zip.ErrAlgorithm):
		return "its compression or encryption is not supported"
	case errors.As(err, &errno):
		return errno.Error()
	}
	return "it cannot be read"
}

// The effects of gaps, with remedies.
const (
	effectDocument = "its objects are not used, and single objects in its folder do not prove that another object is missing; capture it again"
	effectItem     = "it is not used, and its List does not prove that an object is missing; capture it again"
	effectRest     = "the rest was not read; only whole Lists of it prove that an object is missing"
	effectOthers   = "these documents are not used"
)

// isOrAre begins a sentence about a number of things that were named before.
func isOrAre(n int) string {
	if n == 1 {
		return "it is"
	}
	return "they are"
}

// ignored is the effect of a gap about n files or documents.
func ignored(n int) string { return isOrAre(n) + " not used" }

// refused is the effect of a gap about n files that may have objects.
func refused(n int) string {
	return ignored(n) + "; only whole Lists prove that an object is missing"
}

// gaps has the gaps in the order of reading.
type gaps struct {
	damaged int // documents and items
	list    []source.Gap
}

func (g *gaps) add(what, reason, effect string) {
	g.list = append(g.list, source.Gap{What: what, Reason: reason, Effect: effect})
}

// addDamaged adds the gap of a damaged document or item.
func (g *gaps) addDamaged(gap source.Gap) {
	if g.damaged++; g.damaged <= maxDamaged {
		g.list = append(g.list, gap)
	}
}

// all returns the gaps. One gap counts the damaged documents that have no gap.
func (g *gaps) all() []source.Gap {
	if more := g.damaged - maxDamaged; more > 0 {
		g.add(fmt.Sprintf("%d more documents", more), "they are damaged", ignored(more))
	}
	return g.list
}

// tally counts files or objects, and has the names of the first three.
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

// of returns "2 files: a, b" or "9 files, the first being a, b, c".
func (t *tally) of(one, many string) string {
	names := strings.Join(t.names, ", ")
	switch {
	case t.count == 1:
		return "1 " + one + ": " + names
	case t.count <= len(t.names):
		return fmt.Sprintf("%d %s: %s", t.count, many, names)
	}
	return fmt.Sprintf("%d %s, the first being %s", t.count, many, names)
}

// shown makes a file name safe for a terminal. A file name in an archive can have any characters.
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
