// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// maxLine is the maximum length of a line, in bytes. A line has the values of five keys, and an annotation may be long.
const maxLine = 4 << 20

// ReceiptError is an error in the text of a receipt. It does not quote the receipt.
type ReceiptError struct {
	Line    int
	Problem string
	// Remedy is what the user can do.
	Remedy string
}

// Error implements error.
func (e *ReceiptError) Error() string {
	return fmt.Sprintf("reading the receipt: line %d %s", e.Line, e.Problem)
}

const useCopy = "Nothing was changed on the cluster. Name a copy of the receipt as it was written."

// ReadReceipt reads and verifies what CreateReceipt stored. Fewer entries than the header counts mean that the file was
// truncated: by a crash before the first write, or later by another program. The remaining entries can be undone. Its
// errors are ReceiptErrors, and those of in.
func ReadReceipt(in io.Reader) (Header, []Entry, error) {
	limited := &io.LimitedReader{R: in}
	r := receiptReader{in: limited, lines: bufio.NewReader(limited)}
	h, err := r.header()
	if err != nil {
		return h, nil, err
	}
	entries, err := r.entries(h.Objects)
	return h, entries, err
}

// receiptReader reads a receipt line by line.
type receiptReader struct {
	in     *io.LimitedReader
	lines  *bufio.Reader // of in
	number int           // of the current line, from 1
	chain  chain
}

// next returns the next line with its line end. A last line without a line end is incomplete: a crash can cause that.
// At the end of the file, next returns an empty line.
func (r *receiptReader) next() ([]byte, error) {
	r.number++
	r.in.N = maxLine
	line, err := r.lines.ReadBytes('\n')
	switch {
	case len(line) >= maxLine:
		return nil, r.wrong(fmt.Sprintf("is longer than %d MiB", maxLine>>20), useCopy)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("reading the receipt: line %d: %w", r.number, err)
	}
	return line, nil
}

func (r *receiptReader) wrong(problem, remedy string) error {
	return &ReceiptError{Line: r.number, Problem: problem, Remedy: remedy}
}

// changed is the error of a line with a digest that does not match.
func (r *receiptReader) changed() error {
	return r.wrong("is damaged: its digest does not match; it was changed, or a line before it was changed, added, "+
		"removed or moved", useCopy)
}

// header reads the first line.
func (r *receiptReader) header() (Header, error) {
	var h Header
	line, err := r.next()
	switch {
	case err != nil:
		return h, err
	case len(line) == 0:
		return h, errors.New("reading the receipt: it is empty")
	case json.Unmarshal(line, &h) != nil || h.APIVersion != report.APIVersion || !isReceipt(h.Kind):
		return h, r.wrong(fmt.Sprintf("is not the header of a %s of %s", KindReceipt, report.APIVersion),
			"Name the file in which repair or adopt recorded the previous values.")
	}
	remedy := fmt.Sprintf("Nothing was changed on the cluster. Undo it with version %q of this program, which "+
		"wrote it.", h.Version)
	switch {
	case h.Format == 0:
		return h, r.wrong("states no format: an earlier version of this program wrote the receipt, without digests "+
			"that show changes", remedy)
	case h.Format != receiptFormat && h.Format != olderFormat:
		return h, r.wrong(fmt.Sprintf("states format %d: this version of the program reads only the formats %d and %d",
			h.Format, olderFormat, receiptFormat), remedy)
	case !r.chain.verify(line):
		return h, r.changed()
	}
	return h, nil
}

func isReceipt(kind string) bool { return kind == KindReceipt || kind == olderKind }

// entries reads the lines of n objects, or as many as there are, and makes sure that no objects follow. Of the outcomes
// an undo needs only which objects were created. They are written without waiting for the disk, and a power failure may
// damage them, so a damaged outcome is ignored.
func (r *receiptReader) entries(n int) ([]Entry, error) {
	var out []Entry
	for {
		line, err := r.next()
		switch {
		case err != nil:
			return nil, err
		case len(line) == 0:
			return out, nil
		}
		verified := len(out) < n && r.chain.verify(line)
		var e Entry
		err = json.Unmarshal(line, &e) // may set some fields of a line that is not an Entry
		switch {
		case verified && (err != nil || !e.complete()):
			return nil, r.wrong("is damaged: it names no object with its five keys before and after", useCopy)
		case verified:
			out = append(out, e)
		case len(out) < n && !bytes.HasSuffix(line, []byte("\n")):
			return out, nil
		case isReceipt(e.Kind):
			return nil, r.wrong("begins another receipt: the file is two receipts, one after the other",
				"Nothing was changed on the cluster. Put each receipt into a file of its own, and undo the newer one "+
					"first.")
		case len(out) < n:
			return nil, r.changed()
		case e.Name != "":
			return nil, r.wrong(fmt.Sprintf("is one object more than the %d of the header", n), useCopy)
		default:
			setCreated(out, line)
		}
	}
}

// setCreated sets the uid of the object that an entry created, from the line of its outcome.
func setCreated(entries []Entry, line []byte) {
	var o outcome
	if json.Unmarshal(line, &o) == nil && o.Entry > 0 && o.Entry <= len(entries) {
		entries[o.Entry-1].Created = o.Created
	}
}
