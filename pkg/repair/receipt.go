// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// KindReceipt is the kind of a receipt's first line; adopt wrote receipts of the older kind. A receipt is a file of JSON lines: a header, one line for each
// object to write with what its undo needs, all of them stored before the first write, and then one
// line for each outcome. The header and the lines of objects end with a digest of all lines so far; see chain.
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

// Entry is one object of a receipt.
type Entry struct {
	object.Ref
	// Step is what was done; empty in a receipt of adoptions.
	Step remedy.StepKind `json:"step,omitempty"`
	// ClusterUID is the cluster of the object, if it is not that of the header.
	ClusterUID       string `json:"clusterUID,omitempty"`
	UID              string `json:"uid,omitempty"` // before the step; empty if the object did not exist
	BundleDeployment string `json:"bundleDeployment,omitempty"`
	Release          string `json:"release,omitempty"`
	// Before and After are the values of ownership metadata, by key, of an adoption.
	Before map[string]string `json:"before,omitzero"`
	After  map[string]string `json:"after,omitzero"`
	// Forward is the JSON merge patch of a change, and Undo the one that undoes it. Previous is an object that was
	// deleted. A Secret has none of them.
	Forward  json.RawMessage `json:"forward,omitempty"`
	Undo     json.RawMessage `json:"undo,omitempty"`
	Previous object.Content  `json:"previous,omitempty"`

	// Created is the uid of the object that the step created, from the line of its outcome; empty if that is not known.
	Created string `json:"-"`
}

// adopts reports whether the step wrote only ownership metadata.
func (e Entry) adopts() bool { return e.Step == "" || e.Step == remedy.StepAdopt }

// complete says whether an entry has all data that an undo needs, and no key that this version would ignore.
func (e Entry) complete() bool {
	known := func(values map[string]string) bool {
		return values != nil && maps.Equal(values, ownership.FromValues(values).Values())
	}
	if e.Name == "" || e.Kind == "" {
		return false
	}
	return !e.adopts() || e.UID != "" && known(e.Before) && known(e.After)
}

// outcome is a later line of a receipt: the outcome of the object on line Entry, counted from 1. An undo needs only the
// uid of an object that was created. It excludes the reason of a failure: a policy of the cluster may quote the value of
// a Secret, and only a report can hide that.
type outcome struct {
	Entry      int            `json:"entry"`
	Outcome    report.Outcome `json:"outcome"`
	Unanswered bool           `json:"unanswered,omitempty"` // the server may have stored the write
	Created    string         `json:"created,omitempty"`    // the uid of the object that was created
}

// Receipt is a receipt being written.
type Receipt struct {
	file    *os.File
	entries map[int]int // by index of the item
}

// encodeReceipt returns the text of a receipt before its first outcome. entries number the items to write in it, from
// 1, by their index.
func encodeReceipt(h Header, items []Item, clusters map[object.ClusterID]string) (text []byte, entries map[int]int, err error) {
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
	if i.do == nil {
		out.Before, out.After = i.Before.Values(), i.After.Values()
	} else {
		i.do.record(&out)
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
