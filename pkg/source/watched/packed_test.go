// SPDX-License-Identifier: Apache-2.0

package watched_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/watched"
)

func packer(tb testing.TB) *watched.Packer {
	tb.Helper()
	p, err := watched.NewPacker()
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// FuzzPack checks that every object is the same after it was packed.
func FuzzPack(f *testing.F) {
	p := packer(f)
	f.Add([]byte(`{"kind":"ConfigMap"}`), []byte(`[{"manager":"helm"}]`))
	f.Add([]byte(""), []byte(""))
	f.Add(record(f, 1), []byte("[]"))
	f.Add(record(f, 2), []byte(""))
	f.Add(record(f, 3), []byte(""))
	f.Add(bytes.Replace(record(f, 1), []byte("="), []byte("\n"), 1), []byte(""))
	f.Fuzz(func(t *testing.T, raw, managed []byte) {
		got, _, err := p.Unpack(p.Pack(object.Item{Raw: raw, ManagedFields: managed}), nil)
		if err != nil || !bytes.Equal(got.Raw, raw) || !bytes.Equal(got.ManagedFields, managed) {
			t.Errorf("got %q and %q (%v), want %q and %q", got.Raw, got.ManagedFields, err, raw, managed)
		}
	})
}

// record returns a Secret with random data that is encoded in base64 several times.
func record(tb testing.TB, layers int) []byte {
	tb.Helper()
	data := make([]byte, 20<<10)
	_, _ = rand.Read(data)
	for range layers {
		data = base64.StdEncoding.AppendEncode(nil, data)
	}
	return slices.Concat([]byte(`{"kind":"Secret","data":{"release":"`), data,
		[]byte(`"},"type":"helm.sh/release.v1"}`))
}

// TestPackRecord checks that a release record, of which the data is compressed already, needs no more than its data.
func TestPackRecord(t *testing.T) {
	if n := len(packer(t).Pack(object.Item{Raw: record(t, 2)})); n > 21<<10 {
		t.Errorf("20 KiB of random data need %d bytes", n)
	}
}

// small is a usual small object, smallManaged its managedFields.
const (
	small = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"app-settings","namespace":"shop",` +
		`"uid":"0b0d7b5e-8a65-4c6c-9d27-6f1f4b4f7a54","resourceVersion":"48213","creationTimestamp":` +
		`"2026-11-02T10:11:12Z","labels":{"app.kubernetes.io/managed-by":"Helm","objectset.rio.cattle.io/hash":` +
		`"e5f9b3c1d2a4968775e1d2c3b4a5968778695a4b"},"annotations":{"meta.helm.sh/release-name":"shop",` +
		`"meta.helm.sh/release-namespace":"shop","objectset.rio.cattle.io/id":"default-shop"}},"data":{"key":"value"}}`
	smallManaged = `[{"manager":"fleetagent","operation":"Update","apiVersion":"v1","time":"2026-11-02T10:11:12Z",` +
		`"fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:key":{}},"f:metadata":{"f:annotations":{".":{},` +
		`"f:meta.helm.sh/release-name":{},"f:meta.helm.sh/release-namespace":{},"f:objectset.rio.cattle.io/id":{}},` +
		`"f:labels":{".":{},"f:app.kubernetes.io/managed-by":{},"f:objectset.rio.cattle.io/hash":{}}}}}]`
)

// TestPackSmall checks that a usual small object needs less than a third of its size.
func TestPackSmall(t *testing.T) {
	n := len(packer(t).Pack(object.Item{Raw: []byte(small), ManagedFields: []byte(smallManaged)}))
	if limit := (len(small) + len(smallManaged)) / 3; n > limit {
		t.Errorf("%d bytes need %d, want at most %d", len(small)+len(smallManaged), n, limit)
	}
}

// TestUnpackDamaged checks that damaged objects are errors, which do not quote them.
func TestUnpackDamaged(t *testing.T) {
	p := packer(t)
	good := p.Pack(object.Item{Raw: []byte(`{"data":{"password":"invented-value"}}`)})
	random := make([]byte, 64)
	_, _ = rand.Read(random)
	for name, damaged := range map[string]watched.PackedObject{"empty": {}, "random": random,
		"cut": good[:len(good)/2]} {
		got, _, err := p.Unpack(damaged, nil)
		if err == nil || strings.Contains(err.Error(), "invented-value") {
			t.Errorf("%s: error %v", name, err)
		}
		if diff := cmp.Diff(object.Item{}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
