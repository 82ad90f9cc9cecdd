// SPDX-License-Identifier: Apache-2.0

package server

import (
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

// maxConnections is for admission requests. An API server keeps at most 25 idle connections to each of the three
// webhooks: five API servers keep 375.
const maxConnections = 512

// maxHeader is the size of the headers of a request. net/http adds 4 KiB. The API server sends less than 1 KiB, and a
// token if it is configured to authenticate. Each byte matters: 4 bytes of headers use more than 100 bytes of memory.
const maxHeader = 1 << 10

// readTimeout is for a whole request, and for the TLS handshake. The API server does not wait longer for an answer.
const readTimeout = 2 * time.Second

// writeTimeout is for the answer, from the start of the request. It leaves time to answer a request that arrived late,
// because the API server can be configured to wait longer.
const writeTimeout = 2 * readTimeout

// idleTimeout is the time for which the API server keeps an idle connection.
const idleTimeout = 90 * time.Second

// limitsOf returns the limits of an endpoint with a number of connections.
func limitsOf(connections int) transport.Limits {
	return transport.Limits{Connections: connections, Header: maxHeader, Read: readTimeout, Write: writeTimeout,
		Idle: idleTimeout}
}
