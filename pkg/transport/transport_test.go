// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

func client(t *testing.T, config *rest.Config, b transport.Bounds) *http.Client {
	t.Helper()
	c, err := transport.Client(config, b)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// send sends one request and reads the whole answer.
func send(t *testing.T, c *http.Client, method, url, body string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// TestRedirects checks that no redirect to another server is followed, and no redirect of a write.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(other.Close)
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+r.Host+"/there?token=open-sesame", http.StatusFound)
	}))
	t.Cleanup(secure.Close)
	for name, test := range map[string]struct {
		method, to string
		status     int
		followed   bool
	}{
		"a read, on the same server": {method: http.MethodGet, to: "/there", status: http.StatusFound,
			followed: true},
		"a read, to another server": {method: http.MethodGet, to: other.URL + "/there?token=open-sesame",
			status: http.StatusFound},
		"a read, without a scheme": {method: http.MethodGet, to: strings.TrimPrefix(other.URL, "http:") +
			"/there", status: http.StatusMovedPermanently},
		"a read, to an invalid address": {method: http.MethodGet, to: "http://[::1", status: http.StatusFound},
		"a write, to another server": {method: http.MethodPatch, to: other.URL + "/there",
			status: http.StatusTemporaryRedirect},
		"a write, on the same server": {method: http.MethodPatch, to: "/there",
			status: http.StatusTemporaryRedirect},
		"a write that becomes a read": {method: http.MethodPatch, to: "/there", status: http.StatusFound},
		"a deletion, on the same server": {method: http.MethodDelete, to: "/there",
			status: http.StatusPermanentRedirect},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var there atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/there" {
					there.Add(1)
					return
				}
				w.Header().Set("Location", test.to)
				w.WriteHeader(test.status)
			}))
			t.Cleanup(s.Close)
			_, err := send(t, client(t, &rest.Config{Host: s.URL}, transport.Bounds{}), test.method, s.URL+"/here",
				"a Secret's manifest")
			var redirect *transport.RedirectError
			if refused := errors.As(err, &redirect); refused == test.followed || (there.Load() == 1) != test.followed {
				t.Fatalf("error %v, %d requests there", err, there.Load())
			}
			if test.followed {
				return
			}
			text := redirect.Error()
			if !strings.Contains(text, s.URL) || !strings.Contains(text, "check the server address") ||
				strings.Contains(text, "open-sesame") {
				t.Errorf("error %s", text)
			}
		})
	}
	t.Run("another scheme", func(t *testing.T) {
		config := &rest.Config{Host: secure.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
		_, err := send(t, client(t, config, transport.Bounds{}), http.MethodGet, secure.URL, "")
		if want := strings.Replace(secure.URL, "https", `"http`, 1); err == nil || !strings.Contains(err.Error(),
			want) || strings.Contains(err.Error(), "open-sesame") {
			t.Errorf("error %v, want one with %s", err, want)
		}
	})
	t.Cleanup(func() {
		if n := reached.Load(); n > 0 {
			t.Errorf("the other server received %d requests", n)
		}
	})
}

// TestSize checks the limit of the decompressed size, the limit of pages, and that a watch has no limit.
func TestSize(t *testing.T) {
	t.Parallel()
	const size = 3 << 20
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		_, _ = zip.Write(make([]byte, size)) // the client may close the connection
		_ = zip.Close()
	}))
	t.Cleanup(s.Close)
	c := client(t, &rest.Config{Host: s.URL}, transport.Bounds{Answer: 1 << 20, Page: 2 << 20})
	for query, want := range map[string]string{"": "larger than 1 MiB", "?limit=500": "larger than 2 MiB",
		"?watch=true": ""} {
		got, err := send(t, c, http.MethodGet, s.URL+query, "")
		switch {
		case want == "" && (err != nil || len(got) != size):
			t.Errorf("%q: %d bytes, %v", query, len(got), err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: error %v, want one with %q", query, err, want)
		}
	}
	if got, err := send(t, client(t, &rest.Config{Host: s.URL}, transport.Bounds{Answer: size}), http.MethodGet, s.URL,
		""); err != nil || len(got) != size {
		t.Errorf("an answer of the size of its limit: %d bytes, %v", len(got), err)
	}
}

// TestErrorSize checks the limit of the decompressed size of errors, also without other limits, for pages, and for
// watches.
func TestErrorSize(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusBadRequest, http.StatusForbidden, http.StatusInternalServerError} {
		for size, refused := range map[int]bool{transport.MaxError: false, transport.MaxError + 1: true} {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(status)
				zip := gzip.NewWriter(w)
				_, _ = zip.Write(make([]byte, size)) // the client may close the connection
				_ = zip.Close()
			}))
			t.Cleanup(s.Close)
			for _, query := range []string{"", "?limit=500", "?watch=true"} {
				got, err := send(t, client(t, &rest.Config{Host: s.URL}, transport.Bounds{Page: 1 << 30}),
					http.MethodGet, s.URL+query, "")
				_, large := errors.AsType[*transport.SizeError](err)
				if large != refused || !refused && len(got) != size {
					t.Errorf("status %d, %q: %d of %d bytes, error %v", status, query, len(got), size, err)
				}
			}
		}
	}
}

// TestCompression checks which requests accept compressed answers, and that answers are decompressed, also after a
// redirect.
func TestCompression(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/here" {
			http.Redirect(w, r, "/there", http.StatusFound)
			return
		}
		if r.Header.Get("Accept-Encoding") != "gzip" {
			_, _ = io.WriteString(w, "plain")
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		_, _ = io.WriteString(zip, "compressed")
		if r.URL.Path == "/damaged" {
			_ = zip.Flush() // without the end of the gzip
			return
		}
		_ = zip.Close()
	}))
	t.Cleanup(s.Close)
	for name, test := range map[string]struct {
		path, want         string
		disabled, unusable bool
	}{
		"list":                 {path: "/there", want: "compressed"},
		"list, disabled":       {path: "/there", disabled: true, want: "plain"},
		"list after redirect":  {path: "/here", want: "compressed"},
		"watch":                {path: "/there?watch=true", want: "compressed"},
		"watch, disabled":      {path: "/there?watch=true", disabled: true, want: "plain"},
		"list, answer damaged": {path: "/damaged", unusable: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := &rest.Config{Host: s.URL, DisableCompression: test.disabled,
				TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
			c := client(t, config, transport.Bounds{Answer: 1 << 10})
			got, err := send(t, c, http.MethodGet, s.URL+test.path, "")
			if (err != nil) != test.unusable || err == nil && got != test.want {
				t.Errorf("%q, error %v; want %q", got, err, test.want)
			}
		})
	}
}

// TestWait checks that client-go waits only for a short Retry-After.
func TestWait(t *testing.T) {
	t.Parallel()
	for after, want := range map[string]bool{"": false, "1": false, "60": false, "61": true, "315360000": true,
		"99999999999999999999":          false,
		"Wed, 21 Oct 2099 07:28:00 GMT": false} { // client-go does not wait for the last two
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		t.Cleanup(s.Close)
		_, err := send(t, client(t, &rest.Config{Host: s.URL}, transport.Bounds{}), http.MethodGet, s.URL, "")
		var wait *transport.WaitError
		if errors.As(err, &wait) != want {
			t.Errorf("Retry-After %q: error %v", after, err)
		}
		if want && !strings.Contains(err.Error(), "the longest wait is 60 s") {
			t.Errorf("Retry-After %q: %v", after, err)
		}
	}
}
