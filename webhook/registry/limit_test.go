// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
)

// TestLimit holds that what is too much is not known, and that the registry says so.
func TestLimit(t *testing.T) {
	r := New()
	r.most = 100
	for i := range 5 {
		e, err := Read(record.Record{Bundle: fmt.Sprintf("b%d", i), Objects: record.ConfigMaps("web", 30)}.Value())
		if err != nil {
			t.Fatal(err)
		}
		r.Put(e)
		r.Put(e) // the same again takes no more
	}
	if objects, _, damaged := r.Size(); objects != 90 || damaged != 2 || r.Complete() {
		t.Errorf("%d objects, %d records given up; complete: %t", objects, damaged, r.Complete())
	}
}
