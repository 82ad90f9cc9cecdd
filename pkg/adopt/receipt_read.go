// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// chain is the running digest of a receipt's header and lines of objects. Each of them ends with the sha256 of the digest on the line before
// and of its own text. So every prefix of the file can be verified, and a line that was changed, added, removed or moved is detected.
// It is not secret: whoever rewrites all lines can compute it again.
type chain struct{ last string }

// chainField begins the last field of a line, chainEnd ends the line.
const (
	chainField = `,"chain":"`
	chainEnd   = `"}`
)

// seal adds the digest to a line, which is a JSON object with at least one field, and a newline.
func (c *chain) seal(line []byte) []byte {
	text := bytes.TrimSuffix(bytes.TrimSpace(line), []byte("}"))
	c.add(text)
	return slices.Concat(text, []byte(chainField+c.last+chainEnd+"\n"))
}

// verify says whether a line is what seal made of it, after the same lines.
func (c *chain) verify(line []byte) bool {
	line = bytes.TrimSpace(line)
	i := bytes.LastIndex(line, []byte(chainField))
	if i < 0 {
		return false
	}
	c.add(line[:i])
	return string(line[i:]) == chainField+c.last+chainEnd
}

func (c *chain) add(text []byte) {
	sum := sha256.Sum256(slices.Concat([]byte(c.last), text))
	c.last = hex.EncodeToString(sum[:])
}

// maxLine bounds one line of a receipt, in bytes: five keys, of which annotations may be long.
const maxLine = 4 << 20

// ReceiptError says what is wrong with a receipt. It does not quote the receipt.
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

const useCopy = "Nothing was changed on the cluster. Name a copy of the receipt as adopt wrote it."

// ReadReceipt reads and verifies what CreateReceipt stored. Fewer entries than the header counts mean that the file was cut off: by a crash
// before the first write, or later by another program; the remaining entries can be undone. Its errors are ReceiptErrors, and those of in.
func ReadReceipt(in io.Reader) (Header, []Entry, error) {
	r := receiptReader{lines: bufio.NewScanner(in)}
	r.lines.Buffer(nil, maxLine)
	r.lines.Split(splitLines)
	h, err := r.header()
	if err != nil {
		return h, nil, err
	}
	entries, err := r.entries(h.Objects)
	if err == nil {
		err = r.outcomes(h.Objects)
	}
	if err != nil {
		return h, nil, err
	}
	return h, entries, nil
}

// receiptReader reads a receipt line by line.
type receiptReader struct {
	lines  *bufio.Scanner
	number int // of the present line, counted from 1
	chain  chain
}

// splitLines is bufio.ScanLines, but keeps the newline: a last line without one was cut off.
func splitLines(data []byte, atEOF bool) (int, []byte, error) {
	i := bytes.IndexByte(data, '\n')
	switch {
	case i >= 0:
		return i + 1, data[:i+1], nil
	case atEOF && len(data) > 0:
		return len(data), data, nil
	}
	return 0, nil, nil
}

// next goes to the next line. At the end of the file it returns false and no error.
func (r *receiptReader) next() (bool, error) {
	r.number++
	if r.lines.Scan() {
		return true, nil
	}
	if err := r.lines.Err(); err != nil {
		return false, fmt.Errorf("reading the receipt: line %d: %w", r.number, err)
	}
	return false, nil
}

// cut says whether the present line is the beginning of one: a crash can leave that at the end of a file.
func (r *receiptReader) cut() bool { return !bytes.HasSuffix(r.lines.Bytes(), []byte("\n")) }

func (r *receiptReader) wrong(problem, remedy string) error {
	return &ReceiptError{Line: r.number, Problem: problem, Remedy: remedy}
}

// changed is the error of a line whose digest is not that of the text.
func (r *receiptReader) changed() error {
	return r.wrong("is damaged: its digest does not match; it was changed, or a line before it was changed, added, removed or moved", useCopy)
}

// header reads the first line.
func (r *receiptReader) header() (Header, error) {
	var h Header
	ok, err := r.next()
	switch {
	case err != nil:
		return h, err
	case !ok:
		return h, errors.New("reading the receipt: it is empty")
	}
	if err := json.Unmarshal(r.lines.Bytes(), &h); err != nil || h.APIVersion != report.APIVersion || h.Kind != KindReceipt {
		return h, r.wrong(fmt.Sprintf("is not the header of an %s of %s", KindReceipt, report.APIVersion), "Name the file in which adopt recorded the previous values.")
	}
	remedy := fmt.Sprintf("Nothing was changed on the cluster. Undo it with version %q of this program, which wrote it.", h.Version)
	switch h.Format {
	case 0:
		return h, r.wrong("states no format: an earlier version of this program wrote the receipt, without digests that show changes", remedy)
	case receiptFormat:
	default:
		return h, r.wrong(fmt.Sprintf("states format %d: this version of the program reads only format %d", h.Format, receiptFormat), remedy)
	}
	if !r.chain.verify(r.lines.Bytes()) {
		return h, r.changed()
	}
	return h, nil
}

// entries reads the lines of n objects, or as many as there are.
func (r *receiptReader) entries(n int) ([]Entry, error) {
	var out []Entry
	for len(out) < n {
		ok, err := r.next()
		if !ok {
			return out, err
		}
		line := r.lines.Bytes()
		verified := r.chain.verify(line)
		var e Entry
		switch {
		case !verified && r.cut():
			return out, nil
		case !verified && isHeader(line):
			return nil, r.joined()
		case !verified:
			return nil, r.changed()
		case json.Unmarshal(line, &e) != nil || !e.complete():
			return nil, r.wrong("is damaged: it names no object with its five keys before and after", useCopy)
		}
		out = append(out, e)
	}
	return out, nil
}

// outcomes makes sure that no objects follow the n that the header counts. Outcomes are not used to undo, so a damaged one does not matter:
// they are written without waiting for the disk, and a loss of power may damage any of them.
func (r *receiptReader) outcomes(n int) error {
	for {
		ok, err := r.next()
		if !ok {
			return err
		}
		var other struct {
			UID string `json:"uid"`
		}
		switch line := r.lines.Bytes(); {
		case isHeader(line):
			return r.joined()
		case json.Unmarshal(line, &other) == nil && other.UID != "":
			return r.wrong(fmt.Sprintf("is one object more than the %d of the header", n), useCopy)
		}
	}
}

func isHeader(line []byte) bool {
	var h struct {
		Kind string `json:"kind"`
	}
	return json.Unmarshal(line, &h) == nil && h.Kind == KindReceipt
}

func (r *receiptReader) joined() error {
	return r.wrong("begins another receipt: the file is two receipts, one after the other",
		"Nothing was changed on the cluster. Put each receipt into a file of its own, and undo the newer one first.")
}
