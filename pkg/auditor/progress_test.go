// SPDX-License-Identifier: Apache-2.0

package auditor_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/callers"
)

// silent runs an auditor of an API server that answers no request.
func silent(t *testing.T, publish func(context.Context, auditor.Result)) *auditor.Auditor {
	t.Helper()
	l := make(callers.Listener)
	l.Serve(t, &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	})}, l)
	c, err := cluster.New(&rest.Config{Host: "http://server",
		Dial: func(context.Context, string, string) (net.Conn, error) { return l.Connect(t, "192.0.2.1"), nil }},
		cluster.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	a := auditor.New(c, auditor.Options{Audit: audit.Options{Version: "test"}, Publish: publish, Now: time.Now})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return a
}

// TestSilent checks that evaluations end and are repeated while the API server answers nothing. A restart would not
// help, so the auditor is not stuck.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failures := 0
		a := silent(t, func(_ context.Context, r auditor.Result) {
			if r.Audit != nil || r.Err == nil {
				t.Errorf("there is a result, with the error %v", r.Err)
			}
			failures++
		})
		for range 60 {
			<-time.After(time.Minute)
			if err := a.Stuck(); err != nil {
				t.Fatal(err)
			}
		}
		if failures < 10 {
			t.Errorf("%d evaluations ended within an hour", failures)
		}
	})
}

// TestStuck checks that an auditor is stuck whose evaluation does not end.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := make(chan struct{})
		defer close(blocked)
		a := silent(t, func(context.Context, auditor.Result) { <-blocked })
		<-time.After(15 * time.Minute)
		if err := a.Stuck(); err != nil {
			t.Errorf("too early: %v", err)
		}
		<-time.After(time.Second)
		if err := a.Stuck(); !errors.As(err, new(*auditor.StuckError)) {
			t.Errorf("the error is %v", err)
		}
	})
}
