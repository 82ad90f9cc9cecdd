// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

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
		lines = append(lines, item.entry(clusters[item.On]))
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
