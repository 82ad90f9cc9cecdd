// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
)

// call sends a body to a handler, like the API server.
func call(handler http.Handler, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func serving(tb testing.TB, h admission.Handler) http.Handler {
	tb.Helper()
	// as in package server
	w := &admission.Webhook{Handler: h, LogConstructor: func(logr.Logger,
		*admission.Request) logr.Logger {
		return logr.Discard()
	}}
	handler, err := admission.StandaloneWebhook(w, admission.StandaloneOptions{Logger: logr.Discard()})
	if err != nil {
		tb.Fatal(err)
	}
	return handler
}

func review(tb testing.TB, req admission.Request) []byte {
	tb.Helper()
	body, err := json.Marshal(admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1",
		Kind: "AdmissionReview"},
		Request: &req.AdmissionRequest})
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// FuzzReview checks that no body leads to an answer that the API server reads as a denial: the guard only warns here.
// The API server ignores an answer without the uid of the request.
func FuzzReview(f *testing.F) {
	f.Add(review(f, request(admissionv1.Create, nil, configMap(helmOnlyJSON()))))
	f.Add(review(f, request(admissionv1.Update, configMap(metadataJSON(eleven)), configMap(""))))
	f.Add(review(f, request(admissionv1.Delete, configMap(metadataJSON(eleven)), nil)))
	f.Add([]byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`))
	f.Add([]byte(`{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"r",` +
		`"operation":"CREATE","object":[]}}`))
	f.Add([]byte(`{`))
	b := setUp(f)
	b.Observe = func(Outcome) {}
	handlers := []http.Handler{serving(f, Mutating(b.Options)), serving(f, MutatingExact(b.Options)),
		serving(f, Validating(b.Options))}
	f.Fuzz(func(t *testing.T, body []byte) {
		for i, h := range handlers {
			var got admissionv1.AdmissionReview
			if err := json.Unmarshal(call(h, body).Body.Bytes(), &got); err != nil || got.Response == nil {
				t.Fatalf("handler %d: no answer: %v", i, err)
			}
			if !got.Response.Allowed && got.Response.UID != "" {
				t.Errorf("handler %d denies the request: %+v", i, got.Response.Result)
			}
		}
	})
}

// FuzzObject checks for any object that the API server may send that the patch can be applied, that it writes only the
// five keys, and that a second call writes nothing.
func FuzzObject(f *testing.F) {
	f.Add(configMap(helmOnlyJSON()), configMap(metadataJSON(eleven)))
	f.Add(configMap(`,"labels":null,"annotations":{"a":null}`), configMap(""))
	f.Add(configMap(`,"labels":{"a":"1"},"labels":null`), []byte("null"))
	f.Add([]byte(`{"metadata":{}}`), []byte(`{}`))
	f.Add([]byte(`{"metadata":null}`), []byte(`[]`))
	b := setUp(f)
	b.Observe = func(Outcome) {}
	handler := MutatingExact(b.Options)
	f.Fuzz(func(t *testing.T, after, before []byte) {
		if !json.Valid(after) || duplicates(after) {
			return // the API server does not write such JSON
		}
		got := handler.Handle(t.Context(), request(admissionv1.Update, before, after))
		if !got.Allowed {
			t.Fatalf("denied: %v", got.Result)
		}
		if len(got.Patches) == 0 {
			return
		}
		out := patched(t, after, got)
		if again := handler.Handle(t.Context(), request(admissionv1.Update, before, out)); len(again.Patches) > 0 {
			t.Errorf("a second call writes %v", again.Patches)
		}
	})
}

// duplicates reports whether JSON has a duplicate name. Patch libraries differ in how they read it.
func duplicates(raw []byte) bool {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return true
	}
	once, err := json.Marshal(v)
	return err != nil || !jsonpatch.Equal(once, raw) ||
		strings.Count(string(once), `":`) != strings.Count(string(raw), `":`)
}

// BenchmarkHandler answers HTTP requests about objects of 8 and 100 KiB, with 100,000 objects in the index.
func BenchmarkHandler(b *testing.B) {
	log.SetLogger(logr.Discard()) // otherwise controller-runtime logs, after half a minute, in the middle of a line
	known := setUp(b)
	known.Observe = func(Outcome) {}
	for i := range 200 {
		e, err := desired.ReadRevision(record.Record{Bundle: "other", Namespace: fmt.Sprintf("web-%d", i),
			Objects: record.ConfigMaps("", 500)}.Value())
		if err != nil {
			b.Fatal(err)
		}
		known.index.Set(e)
	}
	for _, size := range []struct {
		name  string
		bytes int
	}{{"8KiB", 8 << 10}, {"100KiB", 100 << 10}} {
		object := func(metadata string) []byte {
			raw := configMap(metadata)
			return bytes.Replace(raw, []byte(`"a":"1"`), []byte(`"a":"`+strings.Repeat("x", size.bytes-len(raw))+`"`),
				1)
		}
		for _, tc := range []struct {
			name    string
			handler admission.Handler
			req     admission.Request
		}{
			{"no-op", admission.HandlerFunc(noOp), request(admissionv1.Create, nil, object(helmOnlyJSON()))},
			{"stamped", Mutating(known.Options), request(admissionv1.Create, nil, object(helmOnlyJSON()))},
			{"not-desired", Mutating(known.Options), func() admission.Request {
				r := request(admissionv1.Create, nil, object(helmOnlyJSON()))
				r.Name = "x"
				return r
			}()},
			{"guarded", Validating(known.Options), request(admissionv1.Delete, object(metadataJSON(eleven)), nil)},
		} {
			b.Run(size.name+"/"+tc.name, func(b *testing.B) {
				handler, body := serving(b, tc.handler), review(b, tc.req)
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					if w := call(handler, body); w.Code != http.StatusOK {
						b.Fatal(w.Body)
					}
				}
			})
		}
	}
}

// noOp allows every request.
func noOp(context.Context, admission.Request) admission.Response { return admission.Allowed("") }
