// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
)

// BenchmarkMask masks ConfigMaps and Deployments of 2 KiB, and compares the time with that of a copy: the same objects
// are decoded and encoded. The other rows are those of an attacker.
func BenchmarkMask(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	text := func(size int) string {
		var out strings.Builder
		for out.Len() < size {
			fmt.Fprintf(&out, "%s-%d=%x\n", []string{"level", "retries", "properties", "endpoint"}[rng.IntN(4)],
				rng.IntN(100), rng.Uint32())
		}
		return out.String()
	}
	configMap := func(v string) []byte {
		return fmt.Appendf(nil,
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"apps","name":"x"},"data":{"file":%q}}`, v)
	}
	var usual [][]byte
	for range 100 {
		usual = append(usual, configMap(text(2000)))
	}
	binary := make([]byte, 512<<10)
	for i := range binary {
		binary[i] = byte(rng.Uint32())
	}
	same := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("planted-%s-%d", strings.Repeat("a", 70), i))
		}
		return out
	}
	lengths := func(n int) (out []string) {
		for i := range n {
			out = append(out, "planted-"+strings.Repeat("a", i))
		}
		return out
	}
	many := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("planted-%d-%d", i, rng.Uint64()))
		}
		return out
	}
	for _, row := range []struct {
		name    string
		values  []string
		objects [][]byte
	}{
		{"100 values", many(100), usual},
		{"10,000 values", many(10_000), usual},
		{"6,000 values with one prefix", same(6000), [][]byte{configMap(strings.Repeat("planted-"+strings.Repeat("a",
			69), 190))}},
		{"6,000 values of other lengths", lengths(6000),
			[][]byte{configMap(strings.Repeat("planted-"+strings.Repeat("a", 69), 190))}},
		{"Secret of 1 MiB", []string{text(1 << 20)}, usual},
		{"ConfigMap of 700 KiB, binary", many(1000), [][]byte{configMap(encoded(string(binary)))}},
		{"five gzip bombs", many(1000), [][]byte{configMap(bomb()), configMap(bomb()), configMap(bomb()),
			configMap(bomb()), configMap(bomb())}},
	} {
		b.Run(row.name, func(b *testing.B) {
			var copying, masking time.Duration
			for b.Loop() {
				start := time.Now()
				for _, raw := range row.objects {
					must(b, copyOf(raw))
				}
				between := time.Now()
				m := maskerOf(row.values...)
				for _, raw := range row.objects {
					content, _ := secret.DecodeJSON(raw)
					m.Object(keyOf("ConfigMap", "x")).Mask(content)
					_, err := secret.EncodeJSON(content)
					must(b, err)
				}
				copying, masking = copying+between.Sub(start), masking+time.Since(between)
			}
			b.ReportMetric(float64(masking)/float64(copying), "times-a-copy")
		})
	}
}

func copyOf(raw []byte) error {
	var o map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&o); err != nil {
		return err
	}
	_, err := json.Marshal(o)
	return err
}

// bomb returns 64 KiB of gzip that decompress to 64 MiB, in base64.
func bomb() string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.CopyN(w, zeros{}, 64<<20) // a buffer returns no error
	_ = w.Close()
	return encoded(out.String())
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
