// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
)

// TestBytes compares the memory of revisions with the result of Bytes, for different names of objects. The maps of the
// index grow in steps, so the bounds for a single kind of names are wider than those for all together.
func TestBytes(t *testing.T) {
	const records, objects = 4, 1000
	r := index.New() // one for all, so that no memory is freed during the measurement
	all, allEstimated := 0, 0
	long := strings.Repeat("a", 150)
	for name, objectOf := range map[string]func(record, i int) object.Ref{
		"usual names": func(_, i int) object.Ref {
			return object.Ref{APIVersion: "apps/v1", Kind: "Deployment", Name: fmt.Sprintf("some-name-%d", i)}
		},
		"short names": func(_, i int) object.Ref {
			return object.Ref{APIVersion: "v1", Kind: "A",
				Name: fmt.Sprint(i)}
		},
		"long names": func(_, i int) object.Ref {
			return object.Ref{APIVersion: "v1", Kind: "A",
				Name: long + fmt.Sprint(i)}
		},
		"many namespaces": func(r, i int) object.Ref {
			return object.Ref{APIVersion: "v1", Kind: "A", Namespace: fmt.Sprintf("n%d-%d", r, i), Name: "n"}
		},
		"many kinds": func(r, i int) object.Ref {
			return object.Ref{APIVersion: "v1", Kind: fmt.Sprintf("K%dx%d", r, i), Name: "n"}
		},
		"many groups": func(r, i int) object.Ref {
			return object.Ref{APIVersion: fmt.Sprintf("%s%dx%d/v1", long, r, i), Kind: "A", Name: "n"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			estimated, before := 0, live()
			for i := range records {
				rec := record.Record{Bundle: fmt.Sprintf("b%d", i), Namespace: strings.ReplaceAll(name, " ", "-")}
				for j := range objects {
					rec.Objects = append(rec.Objects, objectOf(i, j))
				}
				e := read(t, rec)
				estimated += e.Bytes()
				r.Set(e)
			}
			got := live() - before
			if got > estimated*5/4 || got < estimated/5 {
				t.Errorf("an object uses %d bytes, estimated %d", got/records/objects, estimated/records/objects)
			}
			all, allEstimated = all+got, allEstimated+estimated
		})
	}
	if all > allEstimated || all < allEstimated/2 {
		t.Errorf("all objects use %d bytes, estimated %d", all, allEstimated)
	}
	runtime.KeepAlive(r)
}

// live returns the used bytes of the heap. The second collection frees the content of pools.
func live() int {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}
