// SPDX-License-Identifier: Apache-2.0

package state

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// recordOf returns the value of the record of revision 1 of release web/a of Fleet with a status and a manifest.
func recordOf(t *testing.T, status, manifest string) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := fmt.Fprintf(w, `{"name":"a","namespace":"web","version":1,"info":{"status":%q},`+
		`"chart":{"metadata":{"annotations":{"fleet.cattle.io/bundle-id":"a"}}},"manifest":%q}`,
		status, manifest); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.AppendEncode(nil, packed.Bytes())
}

const oneObject = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

// TestDense checks which records are dense: those that unpack to much more than their size, and those with many objects
// for their size, however their kinds are written. The manifests of others are read.
func TestDense(t *testing.T) {
	const many = 500
	name := release.Name{Namespace: "web", Name: "a", Revision: 1}
	var distinct, inList, merged, wide strings.Builder
	inList.WriteString(`{"apiVersion":"v1","kind":"ConfigMapList","items":[`)
	merged.WriteString("apiVersion: v1\nkind: ConfigMapList\nitems:\n" +
		"- &a {apiVersion: v1, \"k\\u0069nd\": ConfigMap}\n")
	for i := range many {
		fmt.Fprintf(&distinct, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%d}\n", i)
		fmt.Fprintf(&inList, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a%d"}},`, i)
		fmt.Fprintf(&merged, "- {<<: *a, metadata: {name: a%d}}\n", i)
		fmt.Fprintf(&wide, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%d}\ndata: {key: %x}\n", i,
			sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
	}
	for what, tc := range map[string]struct {
		manifest string
		unpacked int
		dense    bool
		objects  int
	}{
		"one object":               {oneObject, 1 << 10, false, 1},
		"a high compression ratio": {oneObject, 100 << 10, true, 0},
		"similar objects":          {distinct.String(), distinct.Len(), true, 0},
		"a list as JSON":           {strings.TrimSuffix(inList.String(), ",") + "]}", inList.Len(), true, 0},
		"a kind that is merged":    {merged.String(), merged.Len(), true, 0},
		"objects with content":     {wide.String(), wide.Len(), false, many},
	} {
		value := recordOf(t, release.StatusDeployed, tc.manifest)
		var w Work
		unpacked := max(tc.unpacked, release.UnpackedSize(value))
		r := w.ReadRecord(name, value, unpacked)
		if (r.Dense > 0) != tc.dense || len(r.Objects) != tc.objects || r.Damaged != "" || r.ManifestError != nil {
			t.Errorf("%s: dense %t with %d objects, want %t with %d; stored in %d bytes; %s, %v", what, r.Dense > 0,
				len(r.Objects), tc.dense, tc.objects, len(value), r.Damaged, r.ManifestError)
		}
		cost := w.costs["web"]
		if (cost > 0) != tc.dense {
			t.Errorf("%s: it costs %d", what, cost)
		}
		named, superseded := Work{Named: map[release.Name]bool{name: true}}, Work{}
		named.ReadRecord(name, value, unpacked)
		before := recordOf(t, release.StatusSuperseded, tc.manifest)
		superseded.ReadRecord(name, before, max(tc.unpacked, release.UnpackedSize(before)))
		ofNamed, ofSuperseded := named.costs["web"], superseded.costs["web"]
		if ofNamed != cost/namedShare || ofSuperseded != cost/supersededShare {
			t.Errorf("%s: it costs %d, %d if Fleet names it, and %d if it is superseded", what, cost, ofNamed,
				ofSuperseded)
		}
		var none *Work
		if r := none.ReadRecord(name, value, release.UnpackedSize(value)); r.Dense > 0 || len(r.Objects) == 0 {
			t.Errorf("%s: without limits, it has %d objects", what, len(r.Objects))
		}
	}
	value := recordOf(t, release.StatusDeployed, oneObject)
	d := new(Work).ReadRecord(name, value, release.MostUnpacked(len(value))+1)
	if d.OverBound != release.ErrUnpacked.Error() || d.Damaged == "" || len(d.Objects) > 0 {
		t.Errorf("a record over the maximum size: over bound %q, damaged %q", d.OverBound, d.Damaged)
	}
}

// TestExceeded checks which namespaces exceed a limit: one that has too much alone, and of the others those with most,
// until the rest is within the limit of all.
func TestExceeded(t *testing.T) {
	for what, tc := range map[string]struct {
		costs map[string]int
		want  map[string]error
	}{
		"nothing":           {nil, map[string]error{}},
		"within the limits": {map[string]int{"a": 10, "b": 10, "c": 10}, map[string]error{}},
		"one namespace alone": {map[string]int{"a": 11, "b": 10, "c": 10},
			map[string]error{"a": errDenseNamespace}},
		"all namespaces": {map[string]int{"a": 8, "b": 9, "c": 7, "d": 10}, map[string]error{"d": errDense}},
		"equal ones":     {map[string]int{"a": 8, "b": 8, "c": 8, "d": 8}, map[string]error{"a": errDense}},
		"one alone does not count": {map[string]int{"a": 99, "b": 9, "c": 7, "d": 10},
			map[string]error{"a": errDenseNamespace}},
		"several of the largest": {map[string]int{"a": 9, "b": 9, "c": 9, "d": 9, "e": 9},
			map[string]error{"a": errDense, "b": errDense}},
		"a small one stays": {map[string]int{"a": 10, "b": 10, "c": 10, "d": 1}, map[string]error{"a": errDense}},
	} {
		w := Work{all: 30, namespace: 10, costs: tc.costs}
		if diff := cmp.Diff(tc.want, w.Exceeded(), cmp.Comparer(errors.Is)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		for namespace, cost := range tc.costs {
			if w.Full(namespace) != (cost > 10) {
				t.Errorf("%s: namespace %s with %d is full: %t", what, namespace, cost, w.Full(namespace))
			}
		}
	}
}
