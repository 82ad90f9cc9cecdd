// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	restwatch "k8s.io/client-go/rest/watch"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/proxy"
)

const (
	protobuf = "application/vnd.kubernetes.protobuf"
	// packedHead is the approximate compressed size of the head of an object, in bytes.
	packedHead = 280
)

// recordServer serves records in protobuf, like an API server. It makes a record when it sends it. Most parts of all
// records are equal, and a gzip stream may consist of parts.
type recordServer struct {
	tb      testing.TB
	records int
	paged   bool // cannot stream lists
	info    runtime.SerializerInfo
	parts   [][]byte // the compressed bodies of the objects; each follows the head of its object
	last    []byte

	mu  sync.Mutex // guards zip, which is expensive to make
	zip *gzip.Writer
}

func serveRecords(tb testing.TB, records, objects, size int, paged bool) string {
	tb.Helper()
	s := &recordServer{tb: tb, records: records, paged: paged, zip: gzip.NewWriter(nil)}
	s.prepare(objects, size)
	server := httptest.NewServer(s)
	tb.Cleanup(func() { proxy.CloseServer(server) })
	return server.URL
}

// prepare makes the parts that are equal in all records.
func (s *recordServer) prepare(objects, size int) {
	tb := s.tb
	tb.Helper()
	var ok bool
	if s.info, ok = runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), protobuf); !ok {
		tb.Fatal("no serializer for protobuf")
	}
	random := rand.NewChaCha8([32]byte{})
	free := base64.StdEncoding.DecodedLen(size)
	for range objects {
		s.parts = append(s.parts, s.squeeze(objectBody(random, size/4/objects)))
		free -= len(s.parts[len(s.parts)-1]) + packedHead
	}
	// The files of a chart are base64 in JSON. Compression removes this overhead.
	file := make([]byte, max(free, 0))
	_, _ = random.Read(file)
	data, err := json.Marshal(file)
	if err != nil {
		tb.Fatal(err)
	}
	s.last = s.squeeze(`","chart":{"metadata":{"name":"a","annotations":{"fleet.cattle.io/bundle-id":"a",` +
		`"fleet.cattle.io/agent-namespace":"cattle-fleet-system"}},` +
		`"files":[{"name":"logo","data":` + string(data) + `}]},"apply_method":"ssa"}`)
	if n := len(s.value(0)); n < size*9/10 || n > size*11/10 {
		tb.Fatalf("a record has %d bytes, want about %d", n, size)
	}
}

// objectBody returns the part of a manifest after an object's name: the rest of a Deployment, as text in a JSON string.
func objectBody(random *rand.ChaCha8, packedSize int) string {
	r := rand.New(random)
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+`\n`, args...) }
	line("spec:")
	line("  replicas: %d", r.IntN(9))
	line("  template:")
	line("    spec:")
	line("      containers:")
	for i := 0; out.Len() < packedSize*2; i++ {
		line("      - name: c%d", i)
		line("        image: registry.example.com/team/app-%d@sha256:%016x%016x%016x%016x", i, r.Uint64(), r.Uint64(),
			r.Uint64(), r.Uint64())
		line("        args:")
		line("        - --level=%d", r.IntN(9))
		line("        env:")
		for j := range 8 {
			line("        - name: VARIABLE_%d", j)
			line("          value: %q", fmt.Sprintf("v%x", r.Uint64()))
		}
		line("        command:")
		line("        - |")
		line("          if test %d; then echo {%x}; fi", r.IntN(99), r.Uint64())
	}
	return strings.ReplaceAll(out.String(), `"`, `\"`)
}

// namespaceCount is the number of namespaces among which the records are divided: one namespace may use only a part of
// the memory of an index.
const namespaceCount = 10

func namespaceOf(record int) string { return fmt.Sprintf("web-%d", record%namespaceCount) }

// objectHead is the part of a manifest before the body of an object, as text in a JSON string.
var objectHead = template.Must(template.New("").Parse(strings.ReplaceAll(`---
apiVersion: apps/v1
kind: Deployment
metadata:
  annotations:
    meta.helm.sh/release-name: release-{{.Record}}
    meta.helm.sh/release-namespace: {{.Namespace}}
    objectset.rio.cattle.io/id: default-release-{{.Record}}
  labels:
    app.kubernetes.io/managed-by: Helm
    app.kubernetes.io/name: deployment-{{.Object}}
    objectset.rio.cattle.io/hash: {{printf "%040x" .Record}}
  name: deployment-{{.Object}}-of-release-{{.Record}}
  namespace: {{.Namespace}}
`, "\n", `\n`)))

// value returns a record in the encoding of its Secret.
func (s *recordServer) value(i int) []byte {
	var out bytes.Buffer
	text := &strings.Builder{}
	fmt.Fprintf(text, `{"name":"release-%d","namespace":"%s","version":1,`, i, namespaceOf(i))
	text.WriteString(`"info":{"status":"deployed"},"manifest":"`)
	for j, part := range s.parts {
		head := struct {
			Record, Object int
			Namespace      string
		}{i, j, namespaceOf(i)}
		if err := objectHead.Execute(text, head); err != nil {
			s.tb.Error(err)
		}
		out.Write(s.squeeze(text.String()))
		out.Write(part)
		text.Reset()
	}
	out.Write(s.last)
	return base64.StdEncoding.AppendEncode(nil, out.Bytes())
}

func (s *recordServer) secret(i int) *corev1.Secret {
	meta := metav1.ObjectMeta{
		Namespace:       namespaceOf(i),
		Name:            fmt.Sprintf("sh.helm.release.v1.release-%d.v1", i),
		UID:             types.UID(strconv.Itoa(i)),
		ResourceVersion: strconv.Itoa(i + 1),
	}
	return &corev1.Secret{
		ObjectMeta: meta,
		Type:       "helm.sh/release.v1",
		Data:       map[string][]byte{"release": s.value(i)},
	}
}

func (s *recordServer) squeeze(text string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out bytes.Buffer
	s.zip.Reset(&out)
	_, err := s.zip.Write([]byte(text))
	if err := errors.Join(err, s.zip.Close()); err != nil {
		s.tb.Error(err)
	}
	return out.Bytes()
}

// ServeHTTP implements http.Handler.
func (s *recordServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case q.Get("fieldSelector") != "type=helm.sh/release.v1":
		http.Error(w, "missing field selector", http.StatusForbidden)
	case q.Get("watch") == "":
		s.page(w, q.Get("limit"), q.Get("continue"))
	case q.Get("sendInitialEvents") == "true" && s.paged:
		http.Error(w, "lists cannot be streamed", http.StatusBadRequest)
	default:
		s.stream(w, r, q.Get("sendInitialEvents") == "true")
	}
}

func (s *recordServer) page(w http.ResponseWriter, limit, token string) {
	n, _ := strconv.Atoi(limit)
	from, _ := strconv.Atoi(token)
	if n == 0 {
		n = s.records
	}
	list := &corev1.SecretList{ListMeta: metav1.ListMeta{ResourceVersion: "5000"}}
	for i := from; i < min(from+n, s.records); i++ {
		list.Items = append(list.Items, *s.secret(i))
	}
	if from+n < s.records {
		list.Continue = strconv.Itoa(from + n)
	}
	w.Header().Set("Content-Type", protobuf)
	encoder := scheme.Codecs.EncoderForVersion(s.info.Serializer, corev1.SchemeGroupVersion)
	if err := encoder.Encode(list, w); err != nil {
		s.tb.Error(err)
	}
}

func (s *recordServer) stream(w http.ResponseWriter, r *http.Request, all bool) {
	w.Header().Set("Content-Type", protobuf+";stream=watch")
	frames := streaming.NewEncoder(s.info.StreamSerializer.NewFrameWriter(w),
		scheme.Codecs.EncoderForVersion(s.info.StreamSerializer.Serializer, corev1.SchemeGroupVersion))
	encoder := restwatch.NewEncoder(frames, scheme.Codecs.EncoderForVersion(s.info.Serializer,
		corev1.SchemeGroupVersion))
	for i := range s.records {
		if !all {
			break
		}
		if err := encoder.Encode(&watch.Event{Type: watch.Added, Object: s.secret(i)}); err != nil {
			return
		}
	}
	bookmark := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "5000",
		Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	if err := encoder.Encode(&watch.Event{Type: watch.Bookmark, Object: bookmark}); err != nil {
		return
	}
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}
