// SPDX-License-Identifier: Apache-2.0

package watched

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// dictionary is text that most objects contain. With it, a small object is compressed well too. Other text gives the
// same objects in more memory.
//
//go:embed dictionary.txt
var dictionary string

// maxUnpacked is the size in bytes of the largest object that is unpacked, as for an object of a list.
const maxUnpacked = 16 << 20

// windowSize limits the distance of repeated text in a large object, and so the memory that compressing needs.
const windowSize = 256 << 10

// concurrency is how many objects are compressed, or decompressed, at the same time. Each needs memory.
const concurrency = 2

// Packer compresses objects. It is safe for concurrent use.
type Packer struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// NewPacker makes a Packer.
func NewPacker() (*Packer, error) {
	const id = 1
	text := []byte(strings.TrimSpace(dictionary))
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(concurrency), zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(windowSize), zstd.WithEncoderCRC(false), zstd.WithEncoderDictRaw(id, text))
	if err != nil {
		return nil, fmt.Errorf("preparing compression: %w", err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(concurrency), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxUnpacked), zstd.WithDecoderDictRaw(id, text))
	if err != nil {
		return nil, fmt.Errorf("preparing decompression: %w", err)
	}
	return &Packer{encoder, decoder}, nil
}

// PackedObject is a compressed object.
type PackedObject []byte

// Pack compresses an object. Its metadata are not kept: they are in the JSON.
func (p *Packer) Pack(o object.Item) PackedObject {
	d := decode(o.Raw)
	all := make([]byte, 0, headerSize+len(o.Raw)+len(o.ManagedFields))
	for _, n := range []int{d.layers, len(d.before), len(d.data), len(d.after)} {
		all = binary.AppendUvarint(all, uint64(n))
	}
	all = append(append(append(append(all, d.before...), d.data...), d.after...), o.ManagedFields...)
	out := p.encoder.EncodeAll(all, make([]byte, 0, len(all)/4))
	return append(make(PackedObject, 0, len(out)), out...) // without spare room
}

// headerSize is the largest size of the header: the four numbers of decoded.
const headerSize = 4 * binary.MaxVarintLen64

var errDamaged = errors.New("an object in memory is damaged")

// Unpack returns an object without its metadata. Its slices share the buffer, which Unpack returns for the next object.
func (p *Packer) Unpack(from PackedObject, buffer []byte) (object.Item, []byte, error) {
	all, err := p.decoder.DecodeAll(from, buffer[:0])
	if err != nil {
		return object.Item{}, buffer, fmt.Errorf("decompressing an object in memory: %w", err)
	}
	d, managed, ok := split(all)
	if !ok {
		return object.Item{}, all, errDamaged
	}
	if d.layers == 0 {
		length := len(d.before) + len(d.data) + len(d.after)
		start := len(all) - len(managed) - length
		return object.Item{Raw: all[start : start+length : start+length], ManagedFields: managed}, all, nil
	}
	return object.Item{Raw: d.appendTo(nil), ManagedFields: managed}, all, nil
}

// split returns the parts of a decompressed object.
func split(all []byte) (d decoded, managed []byte, ok bool) {
	var sizes [4]int
	for i := range sizes {
		v, n := binary.Uvarint(all)
		if n <= 0 || v > maxUnpacked {
			return d, nil, false
		}
		sizes[i], all = int(v), all[n:]
	}
	d.layers = sizes[0]
	for i, part := range []*[]byte{&d.before, &d.data, &d.after} {
		size := sizes[i+1]
		if size > len(all) {
			return d, nil, false
		}
		*part, all = all[:size], all[size:]
	}
	return d, all, d.layers <= maxLayers
}
