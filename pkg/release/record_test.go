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

// secretValue is in the records of tests. Errors must not quote it.
const secretValue = "invented-secret-value"

// minimal is the smallest valid record, decompressed.
const minimal = `{"name":"guestbook","namespace":"web","version":3,"info":{"status":"deployed"},` +
	`"manifest":"a: ` + secretValue + `"}`

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
		// It is split at the first "/" and then at the first ":", as in Fleet.
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
			t.Errorf("got %q, want %q", got, tc.in)
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
			t.Errorf("got %q, want %q", got.SecretName(), tc.in)
		}
	}
}

// TestHasValues checks the forms of a record without values. A damaged record has an error that does not quote it.
func TestHasValues(t *testing.T) {
	for config, want := range map[string]bool{`{}`: false, `null`: false, `"text"`: false, `[1]`: false,
		`{"a":{"b":[1,{}]},"c":null}`: true} {
		doc := `{"name":"a","namespace":"b","version":1,"config":` + config + `,"manifest":"x"}`
		got, err := Decode(base64Of([]byte(doc)))
		if err != nil || got.HasValues != want || got.Manifest != "x" {
			t.Errorf("%s: %+v, error %v", config, got, err)
		}
	}
	if _, err := Values(base64Of([]byte(`{"config":{"a":"` + secretValue))); err == nil ||
		strings.Contains(err.Error(), secretValue) {
		t.Errorf("a damaged record: %v", err)
	}
}

func TestDecode(t *testing.T) {
	const full = `{"name":"guestbook","namespace":"web","version":3,"apply_method":"ssa",
		"info":{"status":"pending-upgrade","description":"Preparing upgrade","first_deployed":"2026-01-02T03:04:05Z"},
		"chart":{"metadata":{"name":"guestbook","annotations":{"` + fleet.BundleIDAnnotation + `":"apps-guestbook",
			"` + fleet.AgentNamespaceAnnotation + `":"cattle-fleet-system",
			"` + fleet.KeepResourcesAnnotation + `":"true","` + fleet.CommitLabel + `":"0123abcd",
			"` + fleet.ServiceAccountAnnotation + `":"helm"}},
			"templates":[{"name":"a","data":"eA=="}],"values":{"a":{"b":[1,2]}},"files":null},
		"config":{"password":"` + secretValue + `"},
		"manifest":"---\napiVersion: v1\n",
		"hooks":[{"name":"migrate","kind":"Job","path":"x","manifest":"y","events":["pre-install"],
			"last_run":{"phase":"Succeeded"}}]}`
	want := &Record{
		Name: Name{"web", "guestbook", 3}, Status: "pending-upgrade", BundleID: "apps-guestbook",
		AgentNamespace: "cattle-fleet-system",
		ServiceAccount: "helm", KeepResources: true, Commit: "0123abcd", ApplyMethod: "ssa", HasValues: true,
		Manifest: "---\napiVersion: v1\n",
		Hooks:    []Hook{{Kind: "Job", Name: "migrate", Events: HookEvents{PreInstall: true}}},
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
		if values, err := Values(value); err != nil || string(values) != `{"password":"`+secretValue+`"}` {
			t.Errorf("%s: %d bytes of values, error %v", name, len(values), err)
		}
		if !got.Pending() {
			t.Errorf("%s: the record with status %s is not pending", name, got.Status)
		}
	}
	got, err := Decode(base64Of(packed(t, minimal)))
	if err != nil {
		t.Fatal(err)
	}
	if got.BundleID != "" || got.KeepResources || got.Pending() {
		t.Errorf("release without Fleet: %+v", got)
	}
}

func TestDecodeRefuses(t *testing.T) {
	doc := packed(t, minimal)
	badSum := bytes.Clone(doc)
	badSum[len(badSum)-5] ^= 0xff
	badHeader := bytes.Clone(doc)
	badHeader[3] = 0xff
	for name, value := range map[string][]byte{
		"empty":                      nil,
		"not base64":                 []byte("not a record: " + secretValue),
		"no base64 of Helm":          doc,
		"truncated base64":           base64Of(doc)[:len(doc)/2],
		"truncated gzip":             base64Of(doc[:len(doc)-12]),
		"gzip without checksum":      base64Of(doc[:len(doc)-8]),
		"gzip with a wrong checksum": base64Of(badSum),
		"damaged gzip header":        base64Of(badHeader),
		"gzip header alone":          base64Of([]byte{0x1f, 0x8b, 0x08}),
		"damaged deflate":            base64Of(append(bytes.Clone(doc[:20]), bytes.Repeat([]byte{0xff}, 20)...)),
		"not JSON":                   base64Of(packed(t, "password: "+secretValue)),
		"truncated JSON":             base64Of(packed(t, minimal[:len(minimal)-1])),
		"two records":                base64Of(packed(t, minimal+minimal)),
		"list":                       base64Of(packed(t, "["+minimal+"]")),
		"text as version":            base64Of(packed(t, strings.Replace(minimal, "3", `"`+secretValue+`"`, 1))),
		"number as status":           base64Of(packed(t, strings.Replace(minimal, `"deployed"`, "7", 1))),
		"no name":                    base64Of(packed(t, strings.Replace(minimal, "guestbook", "", 1))),
		"no version":                 base64Of(packed(t, strings.Replace(minimal, "3", "0", 1))),
		"negative version":           base64Of(packed(t, strings.Replace(minimal, "3", "-3", 1))),
		"version that overflows":     base64Of(packed(t, strings.Replace(minimal, "3", "1e400", 1))),
		"text as hooks": base64Of(packed(t,
			strings.Replace(minimal, `"version"`, `"hooks":"`+secretValue+`","version"`, 1))),
		"text as hook": base64Of(packed(t,
			strings.Replace(minimal, `"version"`, `"hooks":[{},"`+secretValue+`"],"version"`, 1))),
		"nested without end": base64Of(packed(t, strings.Repeat(`{"info":`, 200_000))),
	} {
		got, err := Decode(value)
		if err == nil {
			t.Errorf("%s: got %+v, want an error", name, got)
			continue
		}
		if errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
		quiet(t, name, err)
	}
}

// quiet fails the test if an error quotes the record.
func quiet(t *testing.T, name string, err error) {
	t.Helper()
	for _, s := range []string{secretValue, secretValue[:8], base64.StdEncoding.EncodeToString([]byte(secretValue))} {
		if err != nil && strings.Contains(err.Error(), s) {
			t.Errorf("%s: the error quotes the record", name)
		}
	}
}

// TestDecodeTooLarge checks that a record that is too large when decompressed is refused, and how much memory this
// needs.
func TestDecodeTooLarge(t *testing.T) {
	for name, parts := range map[string][2]string{
		"many values": {`{"ignored":[`, `"x",`},
		"long value":  {`{"ignored":"`, "x"},
		"blanks":      {`{`, " "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decodeBomb(t, bomb(t, parts[0], parts[1], "", MaxSize+1<<20))
			if !errors.Is(err, ErrTooLarge) {
				t.Errorf("error %v, want %v", err, ErrTooLarge)
			}
		})
	}
}

// TestDecodeLarge checks how much memory is needed for records just below the limit, with each of the fields that are
// kept.
func TestDecodeLarge(t *testing.T) {
	const ok = `{"name":"guestbook","namespace":"web","version":3,`
	var annotations strings.Builder // no more fit into a Secret
	for i := range 300_000 {
		fmt.Fprintf(&annotations, `"%05x":"",`, i)
	}
	for name, tc := range map[string]struct {
		head, unit, tail string
		want             error
	}{
		"hooks":             {ok + `"hooks":[`, `{},`, `{}]}`, errManyHooks},
		"null hooks":        {ok + `"hooks":[`, `null,`, `null]}`, errManyHooks},
		"duplicate hooks":   {ok, `"hooks":[{}],`, `"hooks":[]}`, nil},
		"long name":         {`{"version":3,"name":"`, `a`, `"}`, errLongFields},
		"long namespace":    {ok + `"namespace":"`, `a`, `"}`, errLongFields},
		"long status":       {ok + `"info":{"status":"`, `a`, `"}}`, errLongFields},
		"long apply method": {ok + `"apply_method":"`, `a`, `"}`, errLongFields},
		"long manifest":     {ok + `"manifest":"`, `\n`, `"}`, nil},
		"long annotation":   {ok + `"chart":{"metadata":{"annotations":{"a":"`, `a`, `"}}}}`, nil},
		"many annotations": {ok + `"chart":{"metadata":{"annotations":{` + annotations.String(), ` `, `"a":""}}}}`,
			nil},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := decodeBomb(t, bomb(t, tc.head, tc.unit, tc.tail, MaxSize-8<<20)); !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
		})
	}
}

// decodeBomb decodes a record, and fails the test if that needs too much memory.
func decodeBomb(t *testing.T, value []byte) (*Record, error) {
	t.Helper()
	if len(value) > 1<<20 {
		t.Fatalf("the record has %d bytes, more than fit into a Secret", len(value))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := Decode(value)
	runtime.ReadMemStats(&after)
	// The decoder has one value at a time in its buffer, which grows by doubling. A copy of the value may be kept.
	if n := after.TotalAlloc - before.TotalAlloc; n > 8*MaxSize {
		t.Errorf("%d MiB were allocated, more than eight times the limit", n>>20)
	}
	return r, err
}

// bomb returns a compressed record: about size bytes of repeated units between a head and a tail.
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

// FuzzDecode checks that decoding any bytes returns a record with a name or an error that does not quote them.
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
				t.Errorf("got a record and an error: %v", err)
			}
			if len(err.Error()) > 120 {
				t.Errorf("the error is so long that it may quote the record: %d bytes", len(err.Error()))
			}
			return
		}
		overflow := r.Revision > math.MaxInt32 && !json.Valid(doc)
		if r.Name.Name == "" || r.Revision < 1 || overflow {
			t.Errorf("record without name or revision: %+v", r.Name)
		}
		if _, err := r.Objects(); err != nil {
			return // FuzzObjects checks manifests
		}
	})
}
