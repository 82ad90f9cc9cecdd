// SPDX-License-Identifier: Apache-2.0

package watched_test

import (
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// BenchmarkPack measures packing and unpacking of an object of 2 KiB.
func BenchmarkPack(b *testing.B) {
	p := packer(b)
	o := object.Item{Raw: []byte(small + strings.Repeat(" ", 700)), ManagedFields: []byte(smallManaged)}
	b.Run("Pack", func(b *testing.B) {
		for b.Loop() {
			p.Pack(o)
		}
	})
	packed := p.Pack(o)
	b.ReportMetric(float64(len(packed)), "bytes")
	var buffer []byte
	b.Run("Unpack", func(b *testing.B) {
		for b.Loop() {
			var err error
			if _, buffer, err = p.Unpack(packed, buffer); err != nil {
				b.Fatal(err)
			}
		}
	})
}
