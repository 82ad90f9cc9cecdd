// SPDX-License-Identifier: Apache-2.0

package mask_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/snapshot/mask"
)

// BenchmarkMask masks ConfigMaps and Deployments of 2 KiB, and compares the time with that of a copy: the same objects are decoded and encoded.
func BenchmarkMask(b *testing.B) {
	for _, values := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("values=%d", values), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			m := mask.New([]byte("key"))
			for i := range values {
				secret := fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"apps","name":"s%d"},"data":{"a":%q}}`, i, b64(fmt.Sprintf("planted-%d-%d", i, rng.Uint64())))
				if err := m.Learn([]byte(secret)); err != nil {
					b.Fatal(err)
				}
			}
			if err := m.Ready(); err != nil {
				b.Fatal(err)
			}
			objects := plainObjects(rng)
			var copying, masking time.Duration
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				for _, raw := range objects {
					if err := copyOf(raw); err != nil {
						b.Fatal(err)
					}
				}
				between := time.Now()
				for _, raw := range objects {
					if _, err := m.Mask(raw); err != nil {
						b.Fatal(err)
					}
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

// plainObjects returns objects without values of Secrets.
func plainObjects(rng *rand.Rand) [][]byte {
	text := func(size int) string {
		var out strings.Builder
		for out.Len() < size {
			fmt.Fprintf(&out, "%s-%d=%x\n", []string{"level", "retries", "properties", "endpoint"}[rng.IntN(4)], rng.IntN(100), rng.Uint32())
		}
		return out.String()
	}
	var out [][]byte
	for i := range 50 {
		out = append(out,
			fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"apps","name":"c%d"},"data":{"level":"info","file":%q}}`, i, text(1600)),
			fmt.Appendf(nil, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"apps","name":"d%d","annotations":{"description":%q}},"spec":{"replicas":2,"template":{"metadata":{"labels":{"app":"d"}},`+
				`"spec":{"containers":[{"name":"web","image":"registry.example.com/bench/web:1.2.3","env":[{"name":"LEVEL","value":"info"},{"name":"OTHER","value":"%d"}]}]}}}}`, i, text(1200), rng.Uint64()))
	}
	return out
}
