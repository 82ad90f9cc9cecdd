// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/callers"
)

// TestDeadline checks that a request ends in time that is not answered, or not to the end, and that a watch ends only
// if its answer does not begin.
func TestDeadline(t *testing.T) {
	const limit = 90 * time.Second
	for name, test := range map[string]struct {
		path    string
		answers bool // at once, with one byte
		timeout time.Duration
		late    time.Duration // when the request fails
	}{
		"no answer":                   {path: "/api", late: limit},
		"the beginning of an answer":  {path: "/api", answers: true, late: limit},
		"a watch without an answer":   {path: "/api/v1/pods?watch=true", late: limit},
		"a watch":                     {path: "/api/v1/pods?watch=true", answers: true, late: time.Hour},
		"a log that is followed":      {path: "/api/v1/log?follow=true", answers: true, late: time.Hour},
		"another limit is configured": {path: "/api", answers: true, timeout: 5 * time.Minute, late: 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := make(callers.Listener)
				s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if test.answers {
						_, _ = io.WriteString(w, "{")
						_ = http.NewResponseController(w).Flush()
					}
					select {
					case <-r.Context().Done():
					case <-time.After(time.Hour):
					}
				})}
				l.Serve(t, s, l)
				config := &rest.Config{Host: "http://server", Timeout: test.timeout,
					Dial: func(context.Context, string, string) (net.Conn, error) {
						return l.Connect(t, "192.0.2.1"), nil
					}}
				c := client(t, config, transport.Bounds{})
				c.Timeout = 0 // as for a watch
				start := time.Now()
				_, err := send(t, c, http.MethodGet, "http://server"+test.path, "")
				_, late := errors.AsType[*transport.TimeoutError](err)
				if took := time.Since(start); took != test.late || late != (test.late < time.Hour) {
					t.Errorf("after %s, the error is %v; want it after %s", took, err, test.late)
				}
			})
		})
	}
}
