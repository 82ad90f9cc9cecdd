// SPDX-License-Identifier: Apache-2.0

// Package ports finds ports for servers that cannot be asked which one they got.
package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Free finds n ports of the loopback at which nobody listens. They lie below those that systems give to whoever asks for any: a server that
// starts a while later, or goes away and comes back, still finds its port free.
func Free(n int) ([]int, error) {
	var out []int
	var held []net.Listener // until all are found, so that none is found twice
	var last error
	for range 100 * n {
		if len(out) == n {
			break
		}
		port := 20000 + rand.IntN(10000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			last = err // taken
			continue
		}
		out, held = append(out, port), append(held, l)
	}
	var failed error
	for _, l := range held {
		failed = errors.Join(failed, l.Close())
	}
	if len(out) < n {
		failed = errors.Join(failed, last)
	}
	if failed != nil {
		return nil, fmt.Errorf("looking for %d free ports: %w", n, failed)
	}
	return out, nil
}
