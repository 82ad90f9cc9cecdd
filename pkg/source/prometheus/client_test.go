// SPDX-License-Identifier: Apache-2.0

package prometheus_test

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/prometheus"
)

const token = "token-that-is-invented"

// tokenFile has the token.
func tokenFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const answer = `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"a","b":"c"},` +
	`"value":[1700000000.5,"3"]}]}`

// TestQuery checks what is sent to a server with TLS, and what is read.
func TestQuery(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := []string{r.Method, r.URL.Path, r.FormValue("query"), r.FormValue("time"), r.Header.Get("Authorization"),
			r.Header.Get("X-Scope-Orgid")}
		want := []string{http.MethodPost, "/prometheus/api/v1/query", "up", "1700000000", "Bearer " + token, "team"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
		_, _ = io.WriteString(w, answer+`,"warnings":["a store\nis absent"]}`)
	}))
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(ca, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := prometheus.New(prometheus.Options{URL: s.URL + "/prometheus/", TokenFile: tokenFile(t), CAFile: ca,
		Header: http.Header{"X-Scope-Orgid": {"team"}}})
	if err != nil {
		t.Fatal(err)
	}
	series, warnings, err := c.Query(t.Context(), "up", time.Unix(1700000000, 0))
	if err != nil {
		t.Fatal(err)
	}
	if len(series) != 1 || series[0].Value != 3 || series[0].Timestamp != 1700000000500 {
		t.Errorf("series %v", series)
	}
	if diff := cmp.Diff([]string{"a store�is absent"}, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestWrongAnswers checks that an answer which is not that of the API is an error, which does not quote it, the token
// or the address.
func TestWrongAnswers(t *testing.T) {
	const noAPI = "the answer is not that of the HTTP API of Prometheus"
	for name, tc := range map[string]struct {
		status             int
		body, header, want string
	}{
		"a page":      {status: 200, body: "<html>hidden</html>", want: noAPI},
		"truncated":   {status: 200, body: answer, want: noAPI},
		"empty":       {status: 200, want: noAPI},
		"no data":     {status: 200, body: `{"status":"success"}`, want: noAPI},
		"a list":      {status: 200, body: `["hidden"]`, want: noAPI},
		"wrong value": {status: 200, body: strings.Replace(answer, `"3"`, `"hidden"`, 1) + "}", want: noAPI},
		"a scalar": {status: 200, body: `{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}`,
			want: "and not with series"},
		"no right":  {status: 401, body: "hidden", want: "the server answered: client error: 401"},
		"no tenant": {status: 500, body: "hidden", want: "the server answered: server error: 500"},
		"refused": {status: 422, body: `{"status":"error","errorType":"execution","error":"too many\u001b[31m series"}`,
			want: "the server answered: too many�[31m series"},
		"redirect": {status: 302, header: "https://other.example/?hidden",
			want: `redirects to "https://other.example:443"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tc.header != "" {
					w.Header().Set("Location", tc.header)
				}
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
			}))
			defer s.Close()
			c, err := prometheus.New(prometheus.Options{URL: s.URL, TokenFile: tokenFile(t)})
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = c.Query(t.Context(), "up", time.Time{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v, want %q", err, tc.want)
			}
			for _, quoted := range []string{"hidden", token, s.URL} {
				if strings.Contains(err.Error(), quoted) {
					t.Errorf("the error quotes %q: %v", quoted, err)
				}
			}
		})
	}
}

// TestFiles checks that a file that cannot be read is an error before the first request.
func TestFiles(t *testing.T) {
	for _, o := range []prometheus.Options{{TokenFile: "absent"}, {CAFile: "absent"}} {
		o.URL = "https://127.0.0.1:1"
		if _, err := prometheus.New(o); err == nil || !strings.Contains(err.Error(), "absent") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
