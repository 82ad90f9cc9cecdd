// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// recording has the answers of the API server to the requests of audits. A request that it does not have yet is sent to
// the API server. The answers are kept as they were sent, with their compression.
type recording struct {
	client *http.Client
	target *url.URL

	mu      sync.Mutex
	answers map[string]answer
}

// answer is one answer of the API server.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// newRecording returns a recording without answers.
func newRecording(config *rest.Config) (*recording, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("parsing the server's address: %w", err)
	}
	config = rest.CopyConfig(config)
	config.DisableCompression = true // the request of the audit decides
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to the server: %w", err)
	}
	return &recording{client: client, target: target, answers: map[string]answer{}}, nil
}

// keyOf identifies requests that have the same answer.
func keyOf(req *http.Request) string {
	return strings.Join([]string{req.Method, req.URL.RequestURI(), req.Header.Get("Accept"),
		req.Header.Get("Accept-Encoding")}, " ")
}

// of returns the answer to a request.
func (r *recording) of(req *http.Request) (answer, error) {
	key := keyOf(req)
	r.mu.Lock()
	known, ok := r.answers[key]
	r.mu.Unlock()
	if ok {
		return known, nil
	}
	asked, err := r.ask(req)
	switch {
	case err != nil:
		return asked, fmt.Errorf("forwarding %s: %w", key, err)
	case asked.status == http.StatusTooManyRequests: // the client asks again: the server prepares a new kind
		return asked, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[key] = asked
	return asked, nil
}

// ask sends a request to the API server.
func (r *recording) ask(req *http.Request) (answer, error) {
	out := req.Clone(req.Context())
	out.RequestURI, out.Host = "", ""
	out.URL.Scheme, out.URL.Host = r.target.Scheme, r.target.Host
	resp, err := r.client.Do(out)
	if err != nil {
		return answer{}, err
	}
	body, err := io.ReadAll(resp.Body)
	if closed := resp.Body.Close(); err == nil {
		err = closed
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: body}, err
}

// replay is the server of one cluster. It answers from a recording of the first cluster, with its own agent and its own
// content of every object: nothing that a program shares between equal objects makes it look smaller than it is.
type replay struct {
	recording *recording
	cluster   member

	mu      sync.Mutex
	answers map[string]answer
}

// newReplay returns the server of a cluster.
func newReplay(r *recording, c member) *replay {
	return &replay{recording: r, cluster: c, answers: map[string]answer{}}
}

// ServeHTTP implements http.Handler.
func (s *replay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	found, err := s.of(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	for _, name := range []string{"Content-Type", "Content-Encoding", "Retry-After"} {
		if value := found.header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	w.WriteHeader(found.status)
	_, _ = w.Write(found.body) // the client finds an answer that is not complete
}

// of returns the answer of this cluster to a request.
func (s *replay) of(req *http.Request) (answer, error) {
	found, err := s.recording.of(req)
	if err != nil || found.status != http.StatusOK || s.cluster == first {
		return found, err
	}
	key := keyOf(req)
	s.mu.Lock()
	own, known := s.answers[key]
	s.mu.Unlock()
	if known {
		return own, nil
	}
	if found.body, err = s.own(found); err != nil {
		return found, fmt.Errorf("rewriting the answer to %s: %w", key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[key] = found
	return found, nil
}

// recorded matches the value of a release record in its Secret.
var recorded = regexp.MustCompile(`"release":"[A-Za-z0-9+/=]{100,}"`)

// own returns the body of an answer of the first cluster as that of this cluster.
func (s *replay) own(a answer) ([]byte, error) {
	if a.header.Get("Content-Encoding") == "gzip" {
		return repacked(a.body, s.rewrite)
	}
	return s.rewrite(a.body)
}

// rewrite returns a text of the first cluster as that of this cluster.
func (s *replay) rewrite(text []byte) ([]byte, error) {
	var failed error
	text = recorded.ReplaceAllFunc(text, func(field []byte) []byte {
		value := bytes.TrimSuffix(bytes.TrimPrefix(field, []byte(`"release":"`)), []byte(`"`))
		out, err := inBase64(value, func(value []byte) ([]byte, error) {
			return inBase64(value, func(packed []byte) ([]byte, error) { return repacked(packed, s.rewrite) })
		})
		failed = errors.Join(failed, err)
		return fmt.Appendf(nil, `"release":"%s"`, out)
	})
	for _, of := range []func(member) string{member.namespace, member.mark} {
		was, is := []byte(of(first)), []byte(of(s.cluster))
		text = bytes.ReplaceAll(text, was, is)
		text = bytes.ReplaceAll(text, base64Of(was), base64Of(is))
	}
	return text, failed
}

// base64Of returns a value as the data of a Secret.
func base64Of(value []byte) []byte { return base64.StdEncoding.AppendEncode(nil, value) }

// inBase64 changes what a value in base64 stands for.
func inBase64(value []byte, change func([]byte) ([]byte, error)) ([]byte, error) {
	decoded, err := base64.StdEncoding.AppendDecode(nil, value)
	if err != nil {
		return nil, err
	}
	changed, err := change(decoded)
	return base64Of(changed), err
}

// repacked changes what a gzip stream contains.
func repacked(packed []byte, change func([]byte) ([]byte, error)) ([]byte, error) {
	unpack, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(unpack)
	if err != nil {
		return nil, err
	}
	if text, err = change(text); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	pack, err := gzip.NewWriterLevel(&out, gzip.BestSpeed) // as the API server does
	if err != nil {
		return nil, err
	}
	_, err = pack.Write(text)
	if closed := pack.Close(); err == nil {
		err = closed
	}
	return out.Bytes(), err
}

// servers are the servers of some clusters. Each has a connection and a certificate of its own, as clusters have.
type servers struct {
	running []*httptest.Server
	config  *clientcmdapi.Config
}

// start starts a server. context is the name of its context in the kubeconfig; the first one is the current context.
func (s *servers) start(context string, handler http.Handler) {
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	s.running = append(s.running, server)
	if s.config == nil {
		s.config = clientcmdapi.NewConfig()
		s.config.CurrentContext = context
	}
	s.config.Clusters[context] = &clientcmdapi.Cluster{Server: server.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	s.config.Contexts[context] = &clientcmdapi.Context{Cluster: context}
}

// stop ends all servers.
func (s *servers) stop() {
	for _, server := range s.running {
		server.Close()
	}
}

// write writes the kubeconfig of all servers.
func (s *servers) write(file string) error {
	content, err := clientcmd.Write(*s.config)
	if err != nil {
		return fmt.Errorf("encoding a kubeconfig: %w", err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return nil
}
