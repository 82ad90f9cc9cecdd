// SPDX-License-Identifier: Apache-2.0

package files

import (
	"cmp"
	"fmt"
	"io"
)

// DefaultLimit is the default of the limit: 2 GiB.
const DefaultLimit = 2 << 30

// The bytes with which a file, an object and a kind count in addition, because each needs memory or time of its own.
// Each byte of YAML counts yamlCost times, because its parser needs more of both.
const (
	fileCost   = 8 << 10
	ObjectCost = 512
	KindCost   = 64 << 10
	yamlCost   = 4
	nodeCost   = 128 // a scalar, list or map of YAML, compared with the limit of one object
)

// Budget is the only limit: the bytes of all paths together, after decompression. A limit for each file would not limit
// a snapshot of many files.
type Budget struct {
	ended       func() error // the Err of the context
	limit, left int64
}

// Spend counts n bytes. The error ends the reading of all paths. It is returned once: what was read is still kept.
func (b *Budget) Spend(n int64) error {
	ended := b.left < 0
	if b.left -= n; b.left >= 0 || ended {
		return nil
	}
	const text = "the snapshot needs more than the limit of %s; capture fewer kinds, or JSON instead of YAML"
	return stop{failure(fmt.Sprintf(text, size(b.limit)))}
}

// object is the limit of one object in bytes, 64 MiB by default.
func (b *Budget) object() int64 { return b.limit / 32 }

// readFunc implements io.Reader.
type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// reader counts what is read from a stream, until the limit is reached or the context ends.
func (b *Budget) reader(in io.Reader) io.Reader {
	return readFunc(func(p []byte) (int, error) {
		if err := b.ended(); err != nil {
			return 0, err
		}
		if b.left <= 0 {
			b.left = 0
			return 0, b.Spend(1)
		}
		n, err := in.Read(p[:min(int64(len(p)), b.left)])
		b.left -= int64(n)
		if err != nil {
			err = cmp.Or(b.ended(), err)
		}
		return n, err
	})
}

// size formats a limit: "2 GiB".
func size(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if shift := 30 - 10*i; n >= 1<<shift && n%(1<<shift) == 0 {
			return fmt.Sprintf("%d %s", n>>shift, unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
