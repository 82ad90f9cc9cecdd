// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"time"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// argument is one of the paths that Open reads.
type argument struct {
	index   int
	name    string // displayed name
	files   int
	tallies [len(tallied)]tally
}

// Files that are too frequent for a gap each. One gap counts all files of a kind.
const (
	noObjects    = iota
	otherObjects // documents that are not objects, in files with objects
	nested       // archives
	selectedOnly // files with a selector in their names
	links
	specialFiles
	outsideNames
	logs // files that are not meant to have objects: a note counts them
)

// The effect depends on the number of files. It is nil for those that are not a gap.
var tallied = [...]struct {
	noun, reason string
	effect       func(int) string
}{
	noObjects:    {"file", "no Kubernetes objects were found", ignored},
	otherObjects: {"file", someOthers, func(int) string { return effectOthers }},
	nested:       {"file", "archives in archives are not read", ignored},
	selectedOnly: {
		"file", "the name states a selector, so objects that do not match it were not captured",
		func(n int) string {
			return isOrAre(n) + " no evidence that an object is missing; capture without a selector"
		},
	},
	links:        {"link", "links are not followed", refused},
	specialFiles: {"special file", "only regular files are read", refused},
	outsideNames: {"file", "a name that leads outside the archive is not read", refused},
	logs:         {"file", "no Kubernetes objects were found", nil},
}

// someOthers is the reason of a gap for documents that are not objects, in a file with objects.
const someOthers = "some documents are not Kubernetes objects"

// finish adds the gaps and the note of the counted files.
func (a *argument) finish(r *reader) {
	for i, text := range tallied {
		t := &a.tallies[i]
		if t.count == 0 {
			continue
		}
		what := t.of(text.noun+" in "+a.name, text.noun+"s in "+a.name)
		if text.effect == nil {
			r.notes = append(r.notes, what+": "+text.reason)
			continue
		}
		r.gaps.add(what, text.reason, text.effect(t.count))
	}
}

// file is a file, or an entry of an archive, that is being read.
type file struct {
	r    *reader
	arg  *argument
	name string // displayed name, with the argument
	rel  string // displayed name within the argument
	file string // name without folders
	dir  folder

	explicit bool        // it is the argument itself
	packed   bool        // it is from a gzip stream
	archived bool        // it is from an archive
	counted  bool        // its compressed data was counted already
	depth    int         // number of buffers of the readers below it
	whole    io.ReaderAt // its content, if it is on a disk
	size     int64       // of whole

	before     gaps      // that preceded the file
	open       *document // that is being read
	sure       bool      // it should have objects. If another file cannot be read, it is ignored and not damaged.
	partial    bool      // its name states a selector
	known      bool      // it has no objects, but other data that is used
	found      int       // objects and Lists
	others     int       // documents that are not objects
	firstOther string    // the place of the first of them
	harmed     bool      // objects in it may not have been read
	blank      bool      // it is empty
	partly     bool      // it is one of the files of a kind that may not have all objects
}

// at formats a position in the file. A line or column of 0 is not known.
func (f *file) at(line, column, document int) string {
	s := f.name
	if line > 0 {
		s += fmt.Sprintf(", line %d", line)
	}
	if column > 0 {
		s += fmt.Sprintf(", column %d", column)
	}
	if document > 1 {
		s += fmt.Sprintf(" (document %d)", document)
	}
	return s
}

// damaged records that documents of the file could not be read.
func (f *file) damaged(where, reason string) {
	f.harmed = true
	f.gap(where, reason, effectDocument)
}

// unreadable records that the whole file could not be read.
func (f *file) unreadable(err error) {
	f.sure = true
	f.damaged(f.name, reason(err))
	f.done()
}

func (f *file) gap(where, reason, effect string) {
	f.r.gaps.addDamaged(source.Gap{What: where, Reason: reason, Effect: effect})
}

// other counts a document that is not an object.
func (f *file) other(line int) {
	if f.others++; f.others == 1 {
		f.firstOther = fmt.Sprintf("%s line %d", f.rel, line)
	}
}

// done completes the gaps and the evidence when the file has been read.
func (f *file) done() {
	doubtful := f.harmed && !f.sure && f.found == 0
	if doubtful {
		f.harmed, f.r.gaps = false, f.before
	}
	if f.harmed {
		f.r.evidence.harmed[f.dir] = true
	}
	if f.partial && f.found > 0 {
		f.arg.tallies[selectedOnly].add(f.rel)
	}
	switch {
	case f.found > 0 && f.others > 0 && f.explicit:
		f.r.gaps.add(f.name+strings.TrimPrefix(f.firstOther, f.rel), someOthers, effectOthers)
	case f.found > 0 && f.others > 0:
		f.arg.tallies[otherObjects].add(f.firstOther)
	case f.found > 0 || f.known || f.harmed || f.r.gaps.damaged > f.before.damaged:
	case f.explicit:
		f.r.gaps.add(f.name, "no Kubernetes objects were found", ignored(1))
	case doubtful || f.blank || documentNames.MatchString(f.file) || dumpedSecret.MatchString(f.file):
		f.arg.tallies[noObjects].add(f.rel)
	default:
		f.arg.tallies[logs].add(f.rel)
	}
}

// sniffed is the number of bytes at the beginning of a file that are examined to find its format.
const sniffed = 64 << 10

// read reads a file of any format. The error ends the reading of the argument.
func (r *reader) read(f *file, in io.Reader) error {
	br := r.buffer(f.depth, in)
	head, err := br.Peek(sniffed)
	switch {
	case r.ended() != nil:
		return r.ended()
	case len(head) == 0 && stops(err):
		return err
	case len(head) == 0 && err != io.EOF:
		f.unreadable(err)
		return nil
	}
	isZip := bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06"))
	isTar := len(head) > 262 && string(head[257:262]) == "ustar" || strings.HasSuffix(strings.ToLower(f.file), ".tar") && len(head) >= 512
	switch {
	case (isZip || isTar) && f.archived:
		f.arg.tallies[nested].add(f.rel)
		r.evidence.harmed[f.dir] = true
		return nil
	case isZip:
		return r.zip(f, br)
	case isTar:
		return r.tar(f, br)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}) && !f.packed:
		return r.gzip(f, br)
	}
	f.before = r.gaps
	defer f.done()
	return r.documents(f, br, head)
}

// documents reads a file that is not an archive.
func (r *reader) documents(f *file, br *bufio.Reader, head []byte) error {
	if f.file == "collected.timestamp" {
		f.known = r.collectedAt(string(bytes.Trim(head, "\" \r\n")))
		return nil
	}
	if hasByteOrderMark(head) {
		f.depth++
		br = r.buffer(f.depth, transform.NewReader(br, unicode.BOMOverride(transform.Nop)))
		var err error
		if head, err = br.Peek(sniffed); stops(err) {
			return err
		}
	}
	f.blank = len(bytes.TrimSpace(head)) == 0
	f.ofCollector(head)
	f.partial = selected.MatchString(f.file)
	format, sure := sniff(f.file, head)
	f.sure = sure || f.explicit
	in := r.documentStream(br)
	switch format {
	case formatJSON:
		return f.keepOpen(r.json(f, in))
	case formatYAML:
		return f.keepOpen(r.yaml(f, r.buffer(f.depth+1, in)))
	}
	return nil
}

// keepOpen keeps the items of the document in which err ended the reading of the path. It returns err.
func (f *file) keepOpen(err error) error {
	if d := f.open; err != nil && d != nil && d.listed && f.r.ended() == nil {
		d.damaged = true
		return cmp.Or(f.r.take(f, d, head{}), err)
	}
	return err
}

// hasByteOrderMark reports whether a text begins with a byte order mark. PowerShell writes the output of kubectl in UTF-16.
func hasByteOrderMark(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) || bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff"))
}

type format int

const (
	formatUnknown format = iota
	formatJSON
	formatYAML
)

var (
	objectJSON = regexp.MustCompile(`^[\[\s]*\{\s*"(apiVersion|kind|items|metadata)"`)
	objectYAML = regexp.MustCompile(`^(apiVersion|kind|items|metadata):`)
	// selected matches names of files that state a label or field selector: "pods-app=web.yaml", "pods_labelSelector.json".
	selected = regexp.MustCompile(`[A-Za-z0-9]!?==?[A-Za-z0-9]|(?i)(?:label|field)-?selector`)
	// documentNames matches names of files that are meant to have documents. An empty one may have lost them.
	documentNames = regexp.MustCompile(`(?i)\.(json|jsonl|ndjson|yaml|yml)(\.gz)?$`)
	// skipped matches names of logs, and of the files that macOS adds to an archive.
	skipped = regexp.MustCompile(`^\._|(?i)\.log(\.[0-9]+)?$`)
)

// keyVersion is the key apiVersion on a line of its own.
var keyVersion = []byte("\napiVersion:")

// withoutPreamble removes the blank lines, comments and lines "---" before the first document. A regular expression would be slow for an
// archive of 200,000 files.
func withoutPreamble(head []byte) []byte {
	for {
		head = bytes.TrimLeft(head, " \t\r\n")
		line, rest, ended := bytes.Cut(head, []byte("\n"))
		if !ended || !bytes.HasPrefix(line, []byte("#")) && !bytes.Equal(bytes.TrimRight(line, " \t\r"), []byte("---")) {
			return head
		}
		head = rest
	}
}

// sniff finds the format of a file by its name or its beginning, and reports whether the file should have objects. `fleet dump` writes
// names without an extension: bundles_fleet-local_guestbook.
func sniff(name string, head []byte) (format, bool) {
	byName := formatUnknown
	switch strings.ToLower(path.Ext(name)) {
	case ".json", ".jsonl", ".ndjson":
		byName = formatJSON
	case ".yaml", ".yml":
		byName = formatYAML
	}
	named := byName != formatUnknown
	start := withoutPreamble(head)
	switch {
	case dumpedSecret.MatchString(name):
		return formatYAML, true
	case len(start) == 0 && len(head) == sniffed: // the documents are after head
		return byName, named
	case len(start) == 0:
		return formatUnknown, false
	case byName == formatJSON && (start[0] == '}' || start[0] == ']'): // YAML cannot begin like this
		return formatJSON, true
	case start[0] == '{' || start[0] == '[':
		return formatJSON, named || objectJSON.Match(start)
	case named || objectYAML.Match(start):
		return formatYAML, true
	case (bytes.HasPrefix(start, keyVersion[1:]) || bytes.Contains(start, keyVersion)) && bytes.IndexByte(head, 0) < 0:
		return formatYAML, false
	}
	return formatUnknown, false
}

// collectedAt reads the time that crust-gather writes.
func (r *reader) collectedAt(s string) bool {
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05 MST"} {
		if t, err := time.Parse(layout, s); err == nil {
			r.taken = later(r.taken, t)
			return true
		}
	}
	return false
}

// buffer is the buffered reader of a depth. Files of one depth are read one after the other.
func (r *reader) buffer(depth int, in io.Reader) *bufio.Reader {
	for len(r.buffers) <= depth {
		r.buffers = append(r.buffers, bufio.NewReaderSize(nil, sniffed))
	}
	r.buffers[depth].Reset(in)
	return r.buffers[depth]
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b.UTC()
	}
	return a
}
