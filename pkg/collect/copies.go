// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Copies reads the originals on the management cluster and the copies of downstreamResources on their clusters, and
// compares their data by hash. readerOf returns the reader of a deployment's cluster.
func (r *Reader) Copies(ctx context.Context, copies []evaluate.Copy,
	readerOf func(*evaluate.Copy) *Reader) ([]source.Gap, error) {
	if len(copies) == 0 {
		return nil, nil
	}
	r.progress.Start("reading copies of downstreamResources")
	originals, live := newDigests(r), map[*Reader]*digests{}
	for i := range copies {
		reader := readerOf(&copies[i])
		if live[reader] == nil {
			live[reader] = newDigests(reader)
		}
		originals.want(copies[i].Original)
		live[reader].want(copies[i].Copied)
	}
	g, reading := errgroup.WithContext(ctx)
	g.Go(func() error { return originals.readByName(reading) })
	for _, d := range live {
		g.Go(func() error {
			if err := d.readByLabel(reading); err != nil {
				return err
			}
			return d.readByName(reading)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return copyGaps(copies, func(c *evaluate.Copy) (from, to *digest) {
		return originals.of[c.Original], live[readerOf(c)].of[c.Copied]
	}), nil
}

// copyGaps completes the copies with what was read, and returns the gap of those that were not read.
func copyGaps(copies []evaluate.Copy, of func(*evaluate.Copy) (from, to *digest)) []source.Gap {
	unread := 0
	var why source.Failure
	for i := range copies {
		c := &copies[i]
		from, to := of(c)
		for _, d := range []*digest{from, to} {
			if d.failure != (source.Failure{}) {
				why = d.failure
			}
		}
		if !from.read || from.exists && !to.read {
			unread++
			continue
		}
		c.Read, c.Exists, c.Changed = from.exists, to.exists, from.changed
		c.Equal = from.exists && to.exists && from.sum == to.sum
	}
	if unread == 0 {
		return nil
	}
	return []source.Gap{source.NewGap("reading copies of downstreamResources", why,
		fmt.Sprintf("it is not known whether %d of them exist and are current", unread))}
}

// digest is what is known of a Secret or ConfigMap: the hash of its data, and none of them.
type digest struct {
	read, exists bool
	sum          [sha256.Size]byte
	changed      time.Time
	failure      source.Failure // if it was not read
}

// digests reads Secrets and ConfigMaps.
type digests struct {
	reader *Reader
	mu     sync.Mutex // guards of
	of     map[object.Ref]*digest
}

func newDigests(r *Reader) *digests { return &digests{reader: r, of: map[object.Ref]*digest{}} }

func (d *digests) want(ref object.Ref) { d.of[ref] = &digest{} }

// readByLabel lists the copies by the label that Fleet gives them.
func (d *digests) readByLabel(ctx context.Context) error {
	kinds := map[string]bool{}
	for ref := range d.of {
		kinds[ref.Kind] = true
	}
	g, ctx := errgroup.WithContext(ctx)
	for kind := range kinds {
		g.Go(func() error {
			_, err := d.reader.list(ctx, source.Query{Kind: secretKind.GroupVersion().WithKind(kind),
				LabelSelector: fleet.CopyLabel}, d.add)
			return err
		})
	}
	return g.Wait()
}

// readByName reads those that were not found yet.
func (d *digests) readByName(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxRequests)
	for ref, digest := range d.of {
		if digest.exists {
			continue
		}
		g.Go(func() error {
			q := source.Query{Kind: ref.GroupVersionKind(), Namespaces: []string{ref.Namespace},
				FieldSelector: "metadata.name=" + ref.Name}
			cover, err := d.reader.list(ctx, q, d.add)
			d.mu.Lock()
			defer d.mu.Unlock()
			if f, covered := cover.Of(ref.Namespace); !digest.exists {
				digest.read, digest.failure = covered, f
			}
			return err
		})
	}
	return g.Wait()
}

// add adds an object if it is wanted. It counts as not read if its data may be masked.
func (d *digests) add(o source.Object) error {
	m, err := o.ReadMeta()
	if err != nil {
		return err
	}
	found, wanted := d.of[m.Ref()]
	if !wanted {
		return nil
	}
	data, ok := dataOf(o.Raw, m.Kind == secretKind.Kind, d.reader.Description.Partial())
	ok = ok && (d.reader.Description.Unmasked == nil || !masks(data)) // two snapshots mask a value differently
	if before, known := d.reader.Description.Unmasked.Copy(m.Ref()); known {
		data, ok = []byte(before), true
	} else if o.Partial {
		ok = false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	*found = digest{read: ok, exists: true, sum: sha256.Sum256(data), changed: state.LastChange(managedFields(o))}
	if !ok {
		found.failure = source.Failure{Reason: source.ReadFailed, Detail: "its data are masked or damaged"}
	}
	return nil
}

// masks reports whether data, as dataOf returns them, have a mask of a snapshot.
func masks(data []byte) bool {
	inBase64 := base64.StdEncoding.EncodeToString([]byte(secret.MaskPrefix + "0"))
	// the bytes of the prefix alone
	return bytes.Contains(data, []byte(secret.MaskPrefix)) || bytes.Contains(data, []byte(inBase64[:6]))
}

// dataOf returns the data of a Secret or ConfigMap as JSON with keys in order; ok is false if they may not be the data
// on the cluster.
func dataOf(raw []byte, ofSecret, captured bool) (data []byte, ok bool) {
	var o struct {
		Data       map[string]string `json:"data"`
		BinaryData map[string][]byte `json:"binaryData"`
	}
	var s struct {
		Data map[string][]byte `json:"data"`
	}
	if ofSecret {
		if object.Into(raw, &s) != nil {
			return nil, false
		}
		for _, v := range s.Data {
			if captured && secret.Masked(v) {
				return nil, false
			}
		}
		data, err := json.Marshal(s)
		return data, err == nil && (len(s.Data) > 0 || !captured)
	}
	if object.Into(raw, &o) != nil {
		return nil, false
	}
	data, err := json.Marshal(o)
	return data, err == nil
}
