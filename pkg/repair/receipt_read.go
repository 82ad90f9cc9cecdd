// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
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

// KindReceipt is the kind of a receipt's first line; adopt wrote receipts of the older kind. A receipt is a file of
// JSON lines: a header, one line for each object to write with what its undo needs, all of them stored before the first
// write, and then one line for each outcome. The header and the lines of objects end with a digest of all lines so far;
// see chain.
const (
	KindReceipt = "RepairReceipt"
	olderKind   = "AdoptionReceipt"
)

// receiptFormat is the format that is written. Receipts of olderFormat, of adoptions alone, are read too. Those of
// format 1 had neither digests nor this number.
const (
	receiptFormat = 3
	olderFormat   = 2
)

// Header is the first line of a receipt.
type Header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Format     int    `json:"format"`  // of the receipt
	TakenAt    string `json:"takenAt"` // RFC 3339
	Version    string `json:"version"` // of the program
	Server     string `json:"server,omitempty"`
	// ClusterUID is the uid of the namespace kube-system, which identifies a cluster.
	ClusterUID string `json:"clusterUID"`
	Digest     string `json:"digest"`  // of the plan
	Objects    int    `json:"objects"` // how many lines of objects follow
}

// Receipt is a receipt being written.
type Receipt struct {
	file    *os.File
	entries map[int]int // by index of the item
}

// encodeReceipt returns the text of a receipt before its first outcome. entries number the items to write in it, from
// 1, by their index.
func encodeReceipt(h Header, items []Item, clusters map[object.ClusterID]string) (text []byte, entries map[int]int,
	err error) {
	h.APIVersion, h.Kind, h.Format, h.Objects = report.APIVersion, KindReceipt, receiptFormat, 0
	entries = map[int]int{}
	var lines []any
	for i, item := range items {
		if !item.Writes() {
			continue
		}
		h.Objects++
		entries[i] = h.Objects
		lines = append(lines, item.entry(clusters[item.ClusterID]))
	}
	var b bytes.Buffer
	var digests chain
	for _, v := range append([]any{h}, lines...) {
		var line bytes.Buffer
		// without unprintable characters: people read receipts in terminals
		if err := escape.EncodeJSON(&line, v, ""); err != nil {
			return nil, nil, err
		}
		b.Write(append(digests.seal(bytes.TrimSuffix(line.Bytes(), []byte("}\n"))), '\n'))
	}
	return b.Bytes(), entries, nil
}

// entry returns what an undo of the item needs.
func (i *Item) entry(clusterUID string) Entry {
	out := Entry{Ref: i.Ref, Step: i.Step, ClusterUID: clusterUID, UID: i.UID, BundleDeployment: i.BundleDeployment,
		Release: i.Release}
	if r, ok := i.maker().(recorder); ok {
		r.record(i, &out)
	}
	return out
}

// CreateReceipt stores the header and all items to write, and syncs them to disk before it returns. The file must not
// exist: a receipt may be the only way to undo a repair. clusters are the uids of the clusters that are not that of the
// header.
func CreateReceipt(path string, h Header, items []Item, clusters map[object.ClusterID]string) (*Receipt, error) {
	text, entries, err := encodeReceipt(h, items, clusters)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("writing the receipt: %w", err)
	}
	err = file.Chmod(0o600) // the umask may have removed bits
	if err == nil {
		_, err = file.Write(text)
	}
	if err := errors.Join(err, file.Sync(), syncFolder(filepath.Dir(path))); err != nil {
		return nil, errors.Join(fmt.Errorf("writing the receipt %s: %w", path, err), file.Close())
	}
	return &Receipt{file, entries}, nil
}

// syncFolder syncs the directory entry of a new file. Windows cannot sync directories.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	_ = d.Sync()
	return d.Close()
}

// Settled appends the outcome of an item.
func (r *Receipt) Settled(index int, item Item) error {
	var b bytes.Buffer
	line := outcome{Entry: r.entries[index], Outcome: item.Outcome, Unanswered: item.Unanswered}
	if c, ok := item.do.(interface{ created() string }); ok {
		line.Created = c.created()
	}
	err := escape.EncodeJSON(&b, line, "")
	if err == nil {
		_, err = r.file.Write(b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("writing the receipt: %w", err)
	}
	return nil
}

// Close ends the receipt.
func (r *Receipt) Close() error { return errors.Join(r.file.Sync(), r.file.Close()) }

// chain is the running digest of the header and the lines of objects of a receipt. Each of these lines ends with the
// sha256 of the previous digest and of its own text. So every prefix of the file can be verified, and a line that was
// changed, added, removed or moved is detected. The digest is not signed: a person who rewrites all lines can compute
// it again.
type chain struct{ last string }

const chainField = `,"chain":"`

// seal adds the digest as the last field of a line, which is a JSON object without its closing brace.
func (c *chain) seal(text []byte) []byte {
	sum := sha256.Sum256(slices.Concat([]byte(c.last), text))
	c.last = hex.EncodeToString(sum[:])
	return slices.Concat(text, []byte(chainField+c.last+`"}`))
}

// verify says whether seal wrote the line, after the same lines.
func (c *chain) verify(line []byte) bool {
	line = bytes.TrimSpace(line)
	i := bytes.LastIndex(line, []byte(chainField))
	return i >= 0 && bytes.Equal(c.seal(line[:i]), line)
}
