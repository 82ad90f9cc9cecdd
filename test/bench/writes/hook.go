// SPDX-License-Identifier: Apache-2.0

package writes

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	jsonpatch "gomodules.xyz/jsonpatch/v2"
	corev1 "k8s.io/api/core/v1"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/ports"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
	webhookserver "github.com/fleetdoctor/kubectl-fleetdoctor/webhook/server"
)

// webhookServer is a webhook on loopback.
type webhookServer struct {
	variant   Variant
	server    webhook.Server
	port      int
	authority []byte // certificate authority, as PEM
	calls     map[string]*atomic.Int64
}

// newWebhookServer creates the server of a variant as package webhook/server does. Variants differ only in their
// handlers, by path.
func newWebhookServer(variant Variant, handlers map[string]ctrladmission.Handler) (*webhookServer, error) {
	free, err := ports.Free(1)
	if err != nil {
		return nil, err
	}
	chain, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	certificate, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, fmt.Errorf("reading a certificate: %w", err)
	}
	h := &webhookServer{variant: variant, port: free[0], authority: chain, calls: map[string]*atomic.Int64{}}
	h.server = webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: free[0],
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.MinVersion = tls.VersionTLS12
			c.NextProtos = []string{"http/1.1"}
			c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate, nil }
		}}})
	for path, handler := range handlers {
		calls := &atomic.Int64{}
		h.calls[path] = calls
		served := &ctrladmission.Webhook{Handler: handler,
			LogConstructor: func(logr.Logger, *ctrladmission.Request) logr.Logger { return logr.Discard() }}
		served.WithRecoverPanic(false)
		h.server.Register(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			served.ServeHTTP(w, r)
		}))
	}
	return h, nil
}

// called is the number of calls so far.
func (h *webhookServer) called() int {
	sum := 0
	for _, n := range h.calls {
		sum += int(n.Load())
	}
	return sum
}

// always are handlers that read nothing, allow everything, and respond with the same patch each time, or with
// none.
func always(patches ...jsonpatch.Operation) map[string]ctrladmission.Handler {
	answer := func(patches []jsonpatch.Operation) ctrladmission.HandlerFunc {
		return func(context.Context, ctrladmission.Request) ctrladmission.Response {
			a := ctrladmission.Allowed("")
			a.Patches = patches
			return a
		}
	}
	return map[string]ctrladmission.Handler{webhookserver.StampPath: answer(patches),
		webhookserver.GuardPath: answer(nil)}
}

// missing is the patch that adds the missing metadata to an object as Adopted writes it.
func missing() []jsonpatch.Operation {
	want, have := fullMetadata().Values(), Adopted.written().Values()
	var out []jsonpatch.Operation
	for _, k := range ownership.Keys() {
		if want[k.Name] == have[k.Name] {
			continue
		}
		field := "/metadata/annotations/"
		if k.Label {
			field = "/metadata/labels/"
		}
		out = append(out, jsonpatch.NewOperation("add", field+strings.ReplaceAll(k.Name, "/", "~1"), want[k.Name]))
	}
	return out
}

// ours are the product's handlers with a filled index.
func ours(memory *index.Index) map[string]ctrladmission.Handler {
	o := admission.Options{
		Index:        memory,
		Namespaces:   unlabelled{},
		Ready:        func() bool { return true },
		Live:         func(string) bool { return true },
		GuardDefault: admission.GuardWarn,
		RateLimiter:  admission.NewRateLimiter(time.Now),
		Events:       discardEvents{},
		Observe:      webhookserver.NewCollector(webhookserver.MetricSources{}).Observe, // the metrics are not read
		Log:          logr.Discard(),
	}
	return map[string]ctrladmission.Handler{webhookserver.StampPath: admission.Mutating(o),
		webhookserver.GuardPath: admission.Validating(o)}
}

// unlabelled are namespaces without labels for the webhook.
type unlabelled struct{}

func (unlabelled) Labels(string) map[string]string { return nil }

// discardEvents records no events.
type discardEvents struct{}

func (discardEvents) RateLimited(corev1.ObjectReference, string) {}
