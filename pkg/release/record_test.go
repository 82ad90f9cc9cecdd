// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// secretValue stands in records of tests; no error may quote it.
const secretValue = "invented-secret-value"

// minimal is the smallest record that is one, in readable form.
const minimal = `{"name":"guestbook","namespace":"web","version":3,"info":{"status":"deployed"},"manifest":"a: ` + secretValue + `"}`

func packed(t *testing.T, doc string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(doc)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func base64Of(b []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(b)) }

func TestParseName(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want Name
		ok   bool
	}{
		{"web/guestbook:1", Name{"web", "guestbook", 1}, true},
		{"web/bundle-name-example-com-645ef821:12", Name{"web", "bundle-name-example-com-645ef821", 12}, true},
		{"web/a.b:1", Name{"web", "a.b", 1}, true},
		// Split at the first "/" and then at the first ":", as Fleet does.
		{"web/a/b:1", Name{"web", "a/b", 1}, true},
		{"web/a:1:2", Name{}, false},
		{"", Name{}, false},
		{"web", Name{}, false},
		{"web/guestbook", Name{}, false},
		{"web/guestbook:", Name{}, false},
		{"web/guestbook:one", Name{}, false},
		{"/guestbook:1", Name{}, false},
		{"web/:1", Name{}, false},
	} {
		got, err := ParseName(tc.in)
		if got != tc.want || (err == nil) != tc.ok {
			t.Errorf("%q: %+v, error %v, want %+v", tc.in, got, err, tc.want)
		}
		if tc.ok && got.String() != tc.in {
			t.Errorf("%q comes back as %q", tc.in, got)
		}
	}
	n := Name{"web", "guestbook", 2}
	if n.Release() != "web/guestbook" {
		t.Errorf("release %q", n.Release())
	}
}

func TestParseSecretName(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want Name
		ok   bool
	}{
		{"sh.helm.release.v1.guestbook.v1", Name{"web", "guestbook", 1}, true},
		{"sh.helm.release.v1.a.vb.v10", Name{"web", "a.vb", 10}, true},
		{"sh.helm.release.v1.v2.v3", Name{"web", "v2", 3}, true},
		{"sh.helm.release.v1..v3", Name{}, false},
		{"sh.helm.release.v1.guestbook", Name{}, false},
		{"sh.helm.release.v1.guestbook.vx", Name{}, false},
		{"sh.helm.release.v1.guestbook.v01", Name{}, false},
		{"sh.helm.release.v1.guestbook.v+1", Name{}, false},
		{"sh.helm.release.v1.guestbook.v0", Name{}, false},
		{"sh.helm.release.v1.guestbook.v-1", Name{}, false},
		{"sh.helm.release.v2.guestbook.v1", Name{}, false},
		{"guestbook.v1", Name{}, false},
		{"", Name{}, false},
	} {
		got, err := ParseSecretName("web", tc.in)
		if got != tc.want || (err == nil) != tc.ok {
			t.Errorf("%q: %+v, error %v, want %+v", tc.in, got, err, tc.want)
		}
		if tc.ok && got.SecretName() != tc.in {
			t.Errorf("%q comes back as %q", tc.in, got.SecretName())
		}
	}
}

func TestDecode(t *testing.T) {
	const full = `{"name":"guestbook","namespace":"web","version":3,"apply_method":"ssa",
		"info":{"status":"pending-upgrade","description":"Preparing upgrade","first_deployed":"2026-01-02T03:04:05Z"},
		"chart":{"metadata":{"name":"guestbook","annotations":{"` + fleet.BundleIDAnnotation + `":"apps-guestbook","` + fleet.AgentNamespaceAnnotation + `":"cattle-fleet-system",
			"` + fleet.KeepResourcesAnnotation + `":"true","` + fleet.CommitLabel + `":"0123abcd","` + fleet.ServiceAccountAnnotation + `":"helm"}},
			"templates":[{"name":"a","data":"eA=="}],"values":{"a":{"b":[1,2]}},"files":null},
		"config":{"password":"` + secretValue + `"},
		"manifest":"---\napiVersion: v1\n",
		"hooks":[{"name":"migrate","kind":"Job","path":"x","manifest":"y","events":["pre-install"],"last_run":{"phase":"Succeeded"}}]}`
	want := &Record{
		Name: Name{"web", "guestbook", 3}, Status: "pending-upgrade", BundleID: "apps-guestbook", AgentNamespace: "cattle-fleet-system",
		ServiceAccount: "helm", KeepResources: true, Commit: "0123abcd", ApplyMethod: "ssa", Manifest: "---\napiVersion: v1\n", Hooks: []Hook{{Kind: "Job", Name: "migrate"}},
	}
	for name, value := range map[string][]byte{
		"gzip":                 base64Of(packed(t, full)),
		"plain":                base64Of([]byte(full)),
		"wrapped lines":        []byte(strings.ReplaceAll(string(base64Of(packed(t, full))), "a", "a\n")),
		"several gzip members": base64Of(append(packed(t, full[:100]), packed(t, full[100:])...)),
	} {
		got, err := Decode(value)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if !got.Pending() {
			t.Errorf("%s: a record in %s is not pending", name, got.Status)
		}
	}
	got, err := Decode(base64Of(packed(t, minimal)))
	if err != nil || got.BundleID != "" || got.KeepResources || got.Pending() {
		t.Errorf("a release of somebody who does not use Fleet: %+v, error %v", got, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	doc := packed(t, minimal)
	badSum := bytes.Clone(doc)
	badSum[len(badSum)-5] ^= 0xff
	badHeader := bytes.Clone(doc)
	badHeader[3] = 0xff
	for name, value := range map[string][]byte{
		"nothing":               nil,
		"no base64":             []byte("this is no record: " + secretValue),
		"base64 of one layer":   doc,
		"cut base64":            base64Of(doc)[:len(doc)/2],
		"cut gzip":              base64Of(doc[:len(doc)-12]),
		"gzip without its sum":  base64Of(doc[:len(doc)-8]),
		"gzip of another sum":   base64Of(badSum),
		"damaged gzip header":   base64Of(badHeader),
		"only a gzip header":    base64Of([]byte{0x1f, 0x8b, 0x08}),
		"damaged deflate":       base64Of(append(bytes.Clone(doc[:20]), bytes.Repeat([]byte{0xff}, 20)...)),
		"no JSON":               base64Of(packed(t, "password: "+secretValue)),
		"cut JSON":              base64Of(packed(t, minimal[:len(minimal)-1])),
		"more than one":         base64Of(packed(t, minimal+minimal)),
		"a list":                base64Of(packed(t, "["+minimal+"]")),
		"text for a number":     base64Of(packed(t, strings.Replace(minimal, "3", `"`+secretValue+`"`, 1))),
		"a number for text":     base64Of(packed(t, strings.Replace(minimal, `"deployed"`, "7", 1))),
		"no name":               base64Of(packed(t, strings.Replace(minimal, "guestbook", "", 1))),
		"no version":            base64Of(packed(t, strings.Replace(minimal, "3", "0", 1))),
		"a version below zero":  base64Of(packed(t, strings.Replace(minimal, "3", "-3", 1))),
		"a version beyond int":  base64Of(packed(t, strings.Replace(minimal, "3", "1e400", 1))),
		"hooks that are text":   base64Of(packed(t, strings.Replace(minimal, `"version"`, `"hooks":"`+secretValue+`","version"`, 1))),
		"a hook that is text":   base64Of(packed(t, strings.Replace(minimal, `"version"`, `"hooks":[{},"`+secretValue+`"],"version"`, 1))),
		"nested without an end": base64Of(packed(t, strings.Repeat(`{"info":`, 200_000))),
	} {
		got, err := Decode(value)
		if err == nil {
			t.Errorf("%s: no error but %+v", name, got)
			continue
		}
		if errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
		quiet(t, name, err)
	}
}

// quiet fails the test if an error quotes what it is about.
func quiet(t *testing.T, name string, err error) {
	t.Helper()
	for _, s := range []string{secretValue, secretValue[:8], base64.StdEncoding.EncodeToString([]byte(secretValue))} {
		if err != nil && strings.Contains(err.Error(), s) {
			t.Errorf("%s: the error quotes the record", name)
		}
	}
}

// TestDecodeTooLarge holds that a record that unpacks to more than the bound is refused, whatever it is full of, and what that may cost.
func TestDecodeTooLarge(t *testing.T) {
	for name, parts := range map[string][2]string{
		"many values":    {`{"ignored":[`, `"x",`},
		"one long value": {`{"ignored":"`, "x"},
		"blanks":         {`{`, " "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decodeBomb(t, bomb(t, parts[0], parts[1], "", maxRecord+1<<20))
			if !errors.Is(err, ErrTooLarge) {
				t.Errorf("error %v, want %v", err, ErrTooLarge)
			}
		})
	}
}

// TestDecodeLarge holds what a record just below the bound may cost, whichever of the fields that are kept it is full of.
func TestDecodeLarge(t *testing.T) {
	const ok = `{"name":"guestbook","namespace":"web","version":3,`
	var annotations strings.Builder // no more of them fit into a Secret
	for i := range 300_000 {
		fmt.Fprintf(&annotations, `"%05x":"",`, i)
	}
	for name, tc := range map[string]struct {
		head, unit, tail string
		want             error
	}{
		"hooks":               {ok + `"hooks":[`, `{},`, `{}]}`, errManyHooks},
		"hooks of nothing":    {ok + `"hooks":[`, `null,`, `null]}`, errManyHooks},
		"hooks again":         {ok, `"hooks":[{}],`, `"hooks":[]}`, nil},
		"a long name":         {`{"version":3,"name":"`, `a`, `"}`, errLongFields},
		"a long namespace":    {ok + `"namespace":"`, `a`, `"}`, errLongFields},
		"a long status":       {ok + `"info":{"status":"`, `a`, `"}}`, errLongFields},
		"a long apply method": {ok + `"apply_method":"`, `a`, `"}`, errLongFields},
		"a long manifest":     {ok + `"manifest":"`, `\n`, `"}`, nil},
		"a long annotation":   {ok + `"chart":{"metadata":{"annotations":{"a":"`, `a`, `"}}}}`, nil},
		"many annotations":    {ok + `"chart":{"metadata":{"annotations":{` + annotations.String(), ` `, `"a":""}}}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := decodeBomb(t, bomb(t, tc.head, tc.unit, tc.tail, maxRecord-8<<20)); !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
		})
	}
}

// decodeBomb decodes a record, and fails the test if that takes too much.
func decodeBomb(t *testing.T, value []byte) (*Record, error) {
	t.Helper()
	if len(value) > 1<<20 {
		t.Fatalf("the bomb has %d bytes, more than a Secret holds", len(value))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := Decode(value)
	runtime.ReadMemStats(&after)
	// The decoder holds one value at a time, and doubles its buffer to do so; a copy of it may be kept.
	if n := after.TotalAlloc - before.TotalAlloc; n > 8*maxRecord {
		t.Errorf("%d MiB were allocated, more than eight times the bound", n>>20)
	}
	return r, err
}

// bomb is a record of some size bytes of JSON between a head and a tail, packed.
func bomb(t *testing.T, head, unit, tail string, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	e := base64.NewEncoder(base64.StdEncoding, &b)
	z, err := gzip.NewWriterLevel(e, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(z, head)
	for chunk := strings.Repeat(unit, 1<<16); err == nil && size > 0; size -= len(chunk) {
		_, err = io.WriteString(z, chunk)
	}
	if err == nil {
		_, err = io.WriteString(z, tail)
	}
	if err = errors.Join(err, z.Close(), e.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// FuzzDecode holds that whatever bytes are in a record, decoding ends, names what it returns, and quotes nothing of it in an error.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(minimal), true, true)
	f.Add([]byte(minimal), false, true)
	f.Add([]byte(minimal), true, false)
	f.Add([]byte(`{"name":"\ud800","version":1e3,"hooks":[null],"chart":{"metadata":null}}`), true, true)
	f.Add([]byte(`{"name":"a","name":"b","version":1}`), false, true)
	f.Add([]byte("\x1f\x8b\x08"), false, true)
	f.Fuzz(func(t *testing.T, doc []byte, zip, encode bool) {
		value := doc
		if zip {
			value = packed(t, string(value))
		}
		if encode {
			value = base64Of(value)
		}
		r, err := Decode(value)
		if err != nil {
			if r != nil {
				t.Errorf("a record and an error: %v", err)
			}
			if len(err.Error()) > 120 {
				t.Errorf("the error is so long that it may quote the record: %d bytes", len(err.Error()))
			}
			return
		}
		if r.Name.Name == "" || r.Revision < 1 || r.Revision > math.MaxInt32 && !json.Valid(doc) {
			t.Errorf("a record without name or revision: %+v", r.Name)
		}
		if _, err := r.Objects(); err != nil {
			return // what a manifest can hold is held by FuzzObjects
		}
	})
}
