// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestManyAnnotations checks that annotations of a chart that are not read are not kept.
func TestManyAnnotations(t *testing.T) {
	const many, most = 300_000, 8 << 20
	var text strings.Builder
	text.WriteString(`{"name":"a","namespace":"web","version":1,` +
		`"chart":{"metadata":{"annotations":{"fleet.cattle.io/bundle-id":"guestbook"`)
	for i := range many {
		fmt.Fprintf(&text, `,"%d":"x"`, i)
	}
	text.WriteString(`,"fleet.cattle.io/keep-resources":"true","other":null}}}}`)
	value := []byte(base64.StdEncoding.EncodeToString([]byte(text.String())))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := Decode(value)
	if err != nil || r.BundleID != "guestbook" || !r.KeepResources {
		t.Fatalf("%+v, error %v", r, err)
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > most {
		t.Errorf("%d MiB were allocated, want at most %d", (after.TotalAlloc-before.TotalAlloc)>>20, most>>20)
	}
}
