// SPDX-License-Identifier: Apache-2.0

// Package ports finds ports for servers that do not report the port that they use.
package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Free returns n free ports of the loopback interface. They are below the range from which systems choose ports,
// so that a server that starts later, or restarts, still finds its port free.
func Free(n int) ([]int, error) {
	var out []int
	var listeners []net.Listener // open until all ports are found, so that none is found twice
	var last error
	for range 100 * n {
		if len(out) == n {
			break
		}
		port := 20000 + rand.IntN(10000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			last = err // in use
			continue
		}
		out, listeners = append(out, port), append(listeners, l)
	}
	var failed error
	for _, l := range listeners {
		failed = errors.Join(failed, l.Close())
	}
	if len(out) < n {
		failed = errors.Join(failed, last)
	}
	if failed != nil {
		return nil, fmt.Errorf("finding %d free ports: %w", n, failed)
	}
	return out, nil
}
