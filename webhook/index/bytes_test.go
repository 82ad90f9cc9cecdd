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

// TestBytes compares what entries take with what they say, whatever their objects are called. Tables of the registry grow in steps, which one
// name may pay for another: a single name is held to less than all together.
func TestBytes(t *testing.T) {
	const records, objects = 4, 1000
	r := index.New() // one for all, so that nothing is given back while it is measured
	all, allSaid := 0, 0
	long := strings.Repeat("a", 150)
	for name, objectOf := range map[string]func(record, i int) object.Ref{
		"as ever": func(_, i int) object.Ref {
			return object.Ref{APIVersion: "apps/v1", Kind: "Deployment", Name: fmt.Sprintf("some-name-%d", i)}
		},
		"short names": func(_, i int) object.Ref { return object.Ref{APIVersion: "v1", Kind: "A", Name: fmt.Sprint(i)} },
		"long names":  func(_, i int) object.Ref { return object.Ref{APIVersion: "v1", Kind: "A", Name: long + fmt.Sprint(i)} },
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
			said, before := 0, live()
			for i := range records {
				rec := record.Record{Bundle: fmt.Sprintf("b%d", i), Namespace: strings.ReplaceAll(name, " ", "-")}
				for j := range objects {
					rec.Objects = append(rec.Objects, objectOf(i, j))
				}
				e := read(t, rec)
				said += e.Bytes()
				r.Set(e)
			}
			got := live() - before
			if got > said*5/4 || got < said/5 {
				t.Errorf("an object takes %d bytes, and is said to take %d", got/records/objects, said/records/objects)
			}
			all, allSaid = all+got, allSaid+said
		})
	}
	if all > allSaid || all < allSaid/2 {
		t.Errorf("all objects take %d bytes, and are said to take %d", all, allSaid)
	}
	runtime.KeepAlive(r)
}

// live is how many bytes of the heap are in use. What pools hold goes with the second collection.
func live() int {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}
